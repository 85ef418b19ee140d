# What the guest boots: a kernel and an initramfs made from Debian packages, kept in the cache.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

GUEST_COMMANDS='dash ip tc rdma busybox
ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat
ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong rping ucmatose udaddy rstream qperf'

# Leaves $kernel_image and $initramfs pointing at what to boot. An image is good for as long as
# the scripts that made it stay the same; newer packages come in with an empty cache.
build_image() {
  local image work
  suite=${XOFF_INTEROP_SUITE:-host}
  image=$cache/image-$suite-$(image_key)
  kernel_image=$image/kernel initramfs=$image/initramfs
  [[ -s $kernel_image && -s $initramfs ]] && return
  echo "building the guest"
  rm -rf "$cache"/image-"$suite"-* "$cache"/work.*
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  make_image "$work"
  mv "$work/image" "$image"
  rm -rf "$work"
  trap - EXIT
}

image_key() {
  {
    echo "${XOFF_INTEROP_KERNEL:-}"
    cat "$here"/guest/* "$here"/lib/{packages,kernel,image}.sh
  } | sha256sum | cut -c1-12
}

make_image() {
  local work=$1 root=$1/root tree=$1/tree package
  mkdir -p "$root" "$tree" "$work/image"
  prepare_apt "$work/apt"
  package=${XOFF_INTEROP_KERNEL:-$(kernel_package)}
  [[ -n $package ]] || skip "no package linux-image-amd64 here (the bench boots Debian's kernel)"
  make_tree "$tree" "$work/apt" || skip "cannot fetch the guest's packages (see $cache/apt.log)"
  add_kernel "$package" "$work" "$root" "$work/image/kernel" \
    || skip "cannot fetch $package, or it lacks a module (see $cache/apt.log)"
  add_commands "$tree" "$root" || { echo "cannot build the guest: a file is missing" >&2; exit 1; }
  install -m 755 "$here/guest/init" "$root/init"
  install -m 755 "$here"/guest/{command-port,impair,listening,lost} "$root/bin/"
  # Not compressed: unpacking would cost the emulated processor more than reading.
  (cd "$root" && find . | "$tree/bin/busybox" cpio -o -H newc 2>/dev/null) >"$work/image/initramfs"
}

# From the tree of unpacked packages only the commands and what they load.
add_commands() {
  local tree=$1 root=$2 command path provider library
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root/etc/libibverbs.d"
  ln -s usr/bin usr/sbin usr/lib usr/lib64 "$root"
  for command in $GUEST_COMMANDS; do
    path=$(cd "$tree" && ls -d bin/"$command" sbin/"$command" 2>/dev/null | head -1)
    [[ -n $path ]] || { echo "no $command" >&2; return 1; }
    cp -L "$tree/$path" "$root/bin/"
    add_libraries "$tree" "$root" "/$path"
  done
  # dash, because busybox's shell prefers its own small `ip` and `tc` to the real ones.
  ln -s dash "$root/bin/sh"
  for provider in "$tree"/usr/lib/*/libibverbs/librxe-rdmav*.so; do
    provider=${provider#"$tree"}
    install -D "$tree$provider" "$root$provider"
    add_libraries "$tree" "$root" "$provider"
  done
  # The C library loads it when a thread ends itself, as those of rping do.
  for library in "$tree"/lib/*/libgcc_s.so.1 "$tree"/usr/lib/*/libgcc_s.so.1; do
    [[ -e $library ]] && install -D "$library" "$root${library#"$tree"}"
  done
  echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"
  echo "root:x:0:0:root:/:/bin/sh" >"$root/etc/passwd"
}

# add_libraries TREE ROOT FILE: every shared library that FILE loads, as the loader of that tree
# finds them.
add_libraries() {
  local tree=$1 root=$2 file=$3 library
  chroot "$tree" /lib64/ld-linux-x86-64.so.2 --list "$file" 2>/dev/null \
    | grep -oE '(^|[[:space:]])/[^ ]+' | tr -d '[:blank:]' \
    | while read -r library; do
      [[ -e $root$library ]] || install -D "$tree$library" "$root$library"
    done
  [[ -e $root/lib64/ld-linux-x86-64.so.2 ]] \
    || install -D "$tree/lib64/ld-linux-x86-64.so.2" "$root/lib64/ld-linux-x86-64.so.2"
}
