# Booting guests and talking to them.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# The guest under which the stock peer runs, and the one that stands in for us in a self-test.
PEER=2 STAND_IN=3

# guest ID COMMAND: runs it there, prints what it prints, returns its status (255: no answer).
guest() {
  local id=$1 port line previous="" started="" status=255
  exec {port}<>"/dev/tcp/10.98.0.$id/7000" || return 255
  printf '%s\n' "$2" >&"$port"
  while IFS= read -r line <&"$port"; do
    # Always one line behind, because the status is preceded by an empty line to be dropped.
    if [[ $line == '#exit '* ]]; then
      status=${line#'#exit '}
      [[ -n $previous ]] && printf '%s\n' "$previous"
      break
    fi
    [[ -n $started ]] && printf '%s\n' "$previous"
    previous=$line started=yes
  done
  exec {port}>&-
  return "$status"
}

# start_qemu ID ACCELERATOR: in the background; its process in qemu_pid.
start_qemu() {
  local id=$1 accelerator=$2 cpu=max
  [[ $accelerator == kvm ]] && cpu=host || accelerator=tcg,thread=multi
  qemu-system-x86_64 -accel "$accelerator" -cpu "$cpu" -m 512 -smp "${XOFF_INTEROP_CPUS:-1}" \
    -nographic -nodefaults -no-user-config -no-reboot -serial "file:$out/console-$id.log" \
    -kernel "$kernel_image" -initrd "$initramfs" \
    -append "console=ttyS0 panic=-1 random.trust_cpu=on mitigations=off bench.id=$id" \
    -netdev "tap,id=data,ifname=data$id,script=no,downscript=no" \
    -device "virtio-net-pci,netdev=data,mac=52:54:00:99:00:0$id,romfile=" \
    -netdev "tap,id=command,ifname=command$id,script=no,downscript=no" \
    -device "virtio-net-pci,netdev=command,mac=52:54:00:98:00:0$id,romfile=" \
    </dev/null >"$out/qemu-$id.log" 2>&1 &
  qemu_pid=$!
}

# wait_for_guest ID SECONDS: until the command port answers. A processor that does not reach the
# kernel's first line in eight seconds never will, and there is no use in waiting longer for it.
wait_for_guest() {
  local id=$1 limit=$((SECONDS + $2)) hopeless=$((SECONDS + 8))
  while ((SECONDS < limit)); do
    kill -0 "$qemu_pid" 2>/dev/null || return 1
    if timeout 1 bash -c ". '$here/lib/guest.sh'; guest $id true" 2>/dev/null; then return 0; fi
    if ((SECONDS >= hopeless)) && ! grep -q 'Linux version' "$out/console-$id.log"; then return 1; fi
    sleep 0.2
  done
  return 1
}

# boot ID: with KVM where it works, else with software emulation. Some machines have a /dev/kvm
# that cannot run a stock kernel (nested paravirtual ones): found out once, then remembered.
boot() {
  local id=$1 accelerator
  local -r deaf=$cache/kvm-unusable-$(uname -r)
  make_taps "$id"
  for accelerator in $(accelerators "$deaf"); do
    start_qemu "$id" "$accelerator"
    if wait_for_guest "$id" 90; then
      guests+=("$id")
      used_accelerator=$accelerator
      return 0
    fi
    kill -KILL "$qemu_pid" 2>/dev/null
    wait "$qemu_pid" 2>/dev/null
    [[ $accelerator == kvm ]] && touch "$deaf"
  done
  echo "the guest does not boot: see $out/console-$id.log and $out/qemu-$id.log" >&2
  return 1
}

# The accelerators worth trying, best first.
accelerators() {
  local deaf=$1
  case ${accelerator_wanted:-auto} in
    kvm | tcg) echo "$accelerator_wanted" ;;
    *) [[ -r /dev/kvm && -w /dev/kvm && ! -e $deaf ]] && echo kvm; echo tcg ;;
  esac
}
