# What the bench needs from the machine, and the visible way out when it is not there.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# Says by name that nothing was tested, and why. Not a failure: the machine is the reason.
skip() {
  echo "SKIPPED kernel interop: $*"
  exit 0
}

# Command and the package that brings it. What runs in the guest is fetched, not installed.
NEEDED_COMMANDS='
qemu-system-x86_64 qemu-system-x86
modprobe           kmod
depmod             kmod
ip                 iproute2
unshare            util-linux
setpriv            util-linux
nsenter            util-linux
sysctl             procps
xz                 xz-utils
'

# Prints the packages whose commands are missing, one per line.
missing_packages() {
  local command package
  while read -r command package; do
    [[ -z $command ]] || command -v "$command" >/dev/null || echo "$package"
  done <<<"$NEEDED_COMMANDS"
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
  command -v apt-get >/dev/null || skip "no apt-get (the guest is made of Debian packages)"
  [[ -c /dev/net/tun ]] || skip "no /dev/net/tun"
  unshare --net true 2>/dev/null || skip "no right to make a network namespace"
}

install_prerequisites() {
  local packages
  mapfile -t packages < <(missing_packages | sort -u)
  [[ ${#packages[@]} == 0 ]] && return
  echo "installing ${packages[*]}"
  apt_quietly install -y --no-install-recommends "${packages[@]}" \
    || skip "cannot install ${packages[*]} (see $cache/apt.log)"
  [[ -z $(missing_packages) ]] || skip "installed, but still missing: $(missing_packages | xargs)"
}
