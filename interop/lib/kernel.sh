# The guest's kernel and the modules it loads.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# Modules by name; what they need is found with them. rdma_rxe asks for crc32 at run time only.
GUEST_MODULES='virtio_pci virtio_net crc32_generic ib_uverbs rdma_ucm rdma_rxe nvmet_rdma
sch_prio sch_netem sch_ingress cls_flower cls_matchall act_mirred ifb'

# The newest full kernel: the meta package names it. The cloud kernel has no rdma_rxe.
kernel_package() {
  local try
  for try in first second; do
    apt-cache "${guest_apt[@]}" depends linux-image-amd64 2>/dev/null \
      | awk '/Depends: linux-image/ {print $2; exit}' | grep . && return
    [[ $try == second ]] || apt-get "${guest_apt[@]}" update >"$cache/apt.log" 2>&1 || return 1
  done
  return 1
}

# add_kernel PACKAGE WORK ROOT KERNEL: the bare kernel into the file KERNEL, its modules into ROOT.
add_kernel() {
  local package=$1 work=$2 root=$3 bare=$4
  (cd "$work" && apt_quietly "${guest_apt[@]}" download "$package") || return 1
  mkdir -p "$work/kernel/usr/lib"
  # Since Debian 13 modules live below /usr.
  ln -s usr/lib "$work/kernel/lib"
  unpack_package "$work"/linux-image-*.deb "$work/kernel" || return 1
  add_modules "$work/kernel" "$root" || return 1
  unwrap_kernel "$work"/kernel/boot/vmlinuz-* "$bare"
}

# Copies the modules and writes down the order in which they load.
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
      *) cp "$path" "$root/modules/$name" ;;
    esac
    echo "$name"
  done <"$root/modules/paths" >"$root/modules/order"
  rm "$root/modules/paths"
}

# A compressed kernel unpacks itself on the emulated processor for half of the boot. QEMU also
# starts the bare ELF file inside (PVH); where that is not found, the packed one does.
unwrap_kernel() {
  local packed=$1 bare=$2
  unwrap_with 'xz -dc' '\xfd7zXZ\x00' "$packed" "$bare" \
    || unwrap_with 'zstd -dcq' '\x28\xb5\x2f\xfd' "$packed" "$bare" \
    || cp "$packed" "$bare"
}

# unwrap_with COMMAND MAGIC PACKED BARE: tries every place where the magic bytes are. What follows
# the compressed kernel makes the command complain, so that its status means nothing.
unwrap_with() {
  local command=$1 magic=$2 packed=$3 bare=$4 offset
  for offset in $(LC_ALL=C grep -obUaP "$magic" "$packed" | cut -d: -f1); do
    tail -c "+$((offset + 1))" "$packed" | $command >"$bare" 2>/dev/null
    [[ $(head -c 4 "$bare") == $'\x7fELF' ]] && return 0
  done
  return 1
}
