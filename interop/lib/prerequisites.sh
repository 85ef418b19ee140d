# What the bench needs from the machine, and the visible way out when it is not there.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# Says by name that nothing was tested, and why. Not a failure: the machine is the reason.
skip() {
  echo "SKIPPED kernel interop: $*"
  exit 0
}

# Command and the package that brings it. The first column is what is really looked for.
NEEDED_COMMANDS='
qemu-system-x86_64 qemu-system-x86
busybox            busybox-static
modprobe           kmod
depmod             kmod
rdma               iproute2
tc                 iproute2
ip                 iproute2
ibv_devinfo        ibverbs-utils
rping              rdmacm-utils
ib_write_bw        perftest
unshare            util-linux
xz                 xz-utils
'

# Prints the packages whose commands are missing, one per line.
missing_packages() {
  local command package
  while read -r command package; do
    [[ -z $command ]] || command -v "$command" >/dev/null || echo "$package"
  done <<<"$NEEDED_COMMANDS"
  compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' >/dev/null || echo ibverbs-providers
}

# apt-get, with one try at fresh package lists when the first try fails.
apt_quietly() {
  local log=$cache/apt.log
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq "$@" >"$log" 2>&1 && return 0
  apt-get -qq update >"$log" 2>&1 || return 1
  apt-get -qq "$@" >"$log" 2>&1
}

check_machine() {
  [[ $(uname -m) == x86_64 ]] || skip "the guest is x86-64, this machine is $(uname -m)"
  [[ $(id -u) == 0 ]] || skip "not root (a network namespace and a tap device are needed)"
  [[ -c /dev/net/tun ]] || skip "no /dev/net/tun"
  unshare --net true 2>/dev/null || skip "no right to make a network namespace"
}

install_prerequisites() {
  local packages
  mapfile -t packages < <(missing_packages | sort -u)
  [[ ${#packages[@]} == 0 ]] && return
  command -v apt-get >/dev/null || skip "missing ${packages[*]}, and no apt-get to install them"
  echo "installing ${packages[*]}"
  apt_quietly install -y --no-install-recommends "${packages[@]}" \
    || skip "cannot install ${packages[*]} (see $cache/apt.log)"
  [[ -z $(missing_packages) ]] || skip "installed, but still missing: $(missing_packages | xargs)"
}
