# The guest's kernel and initramfs, made from Debian packages and kept in the cache.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# Modules by name; what they need is found with them.
GUEST_MODULES='virtio_pci virtio_net crc32_generic ib_uverbs rdma_ucm rdma_rxe
sch_prio sch_netem sch_ingress cls_flower cls_matchall act_mirred ifb'

GUEST_COMMANDS='/bin/dash /sbin/ip /sbin/tc /usr/bin/rdma
ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat
ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong rping ucmatose udaddy'

# The newest full kernel: the meta package names it. The cloud kernel has no rdma_rxe.
find_kernel_package() {
  local name
  name=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image/ {print $2; exit}')
  if [[ -z $name ]]; then
    apt-get -qq update >"$cache/apt.log" 2>&1 || true
    name=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image/ {print $2; exit}')
  fi
  echo "$name"
}

# Downloads the kernel package and unpacks it beside the cache: it is never installed.
unpack_kernel() {
  local package=$1 work=$2
  chmod 755 "$work"
  (cd "$work" && apt_quietly download "$package") || return 1
  mkdir "$work/kernel"
  dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel" || return 1
  # Since Debian 13 modules live in /usr/lib.
  [[ -d $work/kernel/lib/modules ]] || ln -s usr/lib "$work/kernel/lib"
}

# Copies the modules, numbered in the order in which they load.
add_modules() {
  local kernel=$1 root=$2 release module path name
  release=$(ls "$kernel/lib/modules")
  depmod -b "$kernel" "$release" 2>/dev/null || return 1
  mkdir -p "$root/modules"
  for module in $GUEST_MODULES; do
    modprobe -d "$kernel" -S "$release" --show-depends "$module" 2>/dev/null || return 1
  done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >"$root/modules/paths"
  while read -r path; do
    name=$(basename "$path")
    case $name in
      *.xz) name=${name%.xz}; xz -dc "$path" >"$root/modules/$name" ;;
      *.zst) name=${name%.zst}; zstd -qdc "$path" >"$root/modules/$name" ;;
      *) cp "$path" "$root/modules/$name" ;;
    esac
    echo "$name"
  done <"$root/modules/paths" >"$root/modules/order"
  rm "$root/modules/paths"
}

# A file and every shared library it loads, at the paths where they are found here.
add_with_libraries() {
  local root=$1 file=$2 library
  ldd "$file" 2>/dev/null | awk '{for (i = 1; i <= NF; i++) if ($i ~ /^\//) {print $i; break}}' \
    | while read -r library; do install -D "$library" "$root$library"; done
}

add_commands() {
  local root=$1 command path provider
  mkdir -p "$root/bin" "$root/sbin" "$root/etc/libibverbs.d"
  cp "$(command -v busybox)" "$root/bin/busybox"
  for command in $GUEST_COMMANDS; do
    path=$(command -v "$command") || return 1
    cp -L "$path" "$root/bin/"
    add_with_libraries "$root" "$path"
  done
  # dash, because busybox's shell prefers its own small `ip` and `tc` to the real ones.
  ln -s dash "$root/bin/sh"
  for provider in /usr/lib/*/libibverbs/librxe-rdmav*.so; do
    install -D "$provider" "$root$provider"
    add_with_libraries "$root" "$provider"
  done
  echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"
  echo "root:x:0:0:root:/:/bin/sh" >"$root/etc/passwd"
}

# Names what the image is made of: another kernel, tool or script means another image.
image_key() {
  {
    echo "$1"
    cat "$here"/guest/* "$here/lib/image.sh"
    sha256sum "$(command -v ib_write_bw)" "$(command -v rdma)" "$(command -v busybox)"
    sha256sum /usr/lib/*/libibverbs/librxe-rdmav*.so
  } | sha256sum | cut -c1-16
}

# Leaves $kernel_image and $initramfs pointing at what to boot.
build_image() {
  local package work root key
  package=${XOFF_INTEROP_KERNEL:-$(find_kernel_package)}
  [[ -n $package ]] || skip "no package linux-image-amd64 here (the bench boots Debian's kernel)"
  key=$(image_key "$package")
  image=$cache/image-$key
  kernel_image=$image/kernel initramfs=$image/initramfs
  [[ -s $kernel_image && -s $initramfs ]] && return
  echo "building the guest from $package"
  rm -rf "$cache"/image-*
  work=$(mktemp -d "$cache/work.XXXXXX")
  unpack_kernel "$package" "$work" || { rm -rf "$work"; skip "cannot download $package"; }
  root=$work/root
  mkdir "$root"
  add_modules "$work/kernel" "$root" || fail_build "$work" "a module is missing in $package"
  add_commands "$root" || fail_build "$work" "a command for the guest is missing"
  install -m 755 "$here/guest/init" "$root/init"
  install -m 755 "$here"/guest/{command-port,impair,listening,lost} "$root/bin/"
  # Not compressed: unpacking would cost the emulated processor more than reading.
  (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initramfs"
  mkdir "$image"
  unwrap_kernel "$work"/kernel/boot/vmlinuz-* "$kernel_image"
  mv "$work/initramfs" "$initramfs"
  rm -rf "$work"
}

# A compressed kernel unpacks itself on the emulated processor for half of the boot. QEMU also
# starts the bare ELF file inside (PVH); where that is not found, the packed one does.
unwrap_kernel() {
  local packed=$1 bare=$2 offset
  offset=$(LC_ALL=C grep -obUaP '\xfd7zXZ\x00' "$packed" | head -1 | cut -d: -f1)
  [[ -n $offset ]] && tail -c "+$((offset + 1))" "$packed" | xz -dc >"$bare" 2>/dev/null
  [[ -s $bare && $(head -c 4 "$bare") == $'\x7fELF' ]] || cp "$packed" "$bare"
}

fail_build() {
  rm -rf "$1"
  echo "cannot build the guest: $2" >&2
  exit 1
}
