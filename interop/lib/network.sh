# Bridges and taps inside the network namespace that the bench lives in: nothing to clean up,
# it vanishes with the last process.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# Bridge `data` carries what is tested and nothing else, `command` the command port. Ours is
# address 1 on both.
make_network() {
  ip link set lo up
  local bridge
  for bridge in data command; do
    ip link add "$bridge" type bridge mcast_snooping 0
  done
  sysctl -qw net.ipv6.conf.data.accept_dad=0 net.ipv6.conf.data.accept_ra=0
  ip link set data mtu 4500 up
  ip link set command up
  ip address add 10.99.0.1/24 dev data
  ip -6 address add fd99::1/64 dev data nodad
  ip address add 10.98.0.1/24 dev command
}

# The two taps of one guest. A second start of the same guest finds them there already.
make_taps() {
  local id=$1 bridge
  for bridge in data command; do
    ip link show "$bridge$id" >/dev/null 2>&1 && continue
    ip tuntap add "$bridge$id" mode tap
    ip link set "$bridge$id" master "$bridge" up
  done
  ip link set "data$id" mtu 4500
}

# The MTU of the link as every device on it sees it. 4500 gives an IB MTU of 4096, 1500 of 1024.
set_link_mtu() {
  local mtu=$1 id
  [[ $mtu == "${link_mtu:-}" ]] && return
  for id in "${guests[@]}"; do
    ip link set "data$id" mtu "$mtu"
    guest "$id" "ip link set eth0 mtu $mtu" || return 1
  done
  ip link set data mtu "$mtu"
  link_mtu=$mtu
}

# Loss and the like, made in the peer guest. `-` is a clean link.
set_impairment() {
  local netem=$1
  [[ $netem == "${impairment:--}" ]] && return
  guest "$PEER" "impair ${netem/#-/off}" || return 1
  impairment=$netem
}
