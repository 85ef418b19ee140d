# Prints the RoCE settings of a host for `xoff audit`, and changes none of them.
LC_ALL=C
PATH="$PATH:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin"
export LC_ALL PATH
limit=
command -v timeout >/dev/null 2>&1 && limit="timeout 20"

# Runs a program if it is there. The script comes by standard input, which no program may read.
run() {
  command -v "$1" >/dev/null 2>&1 || return 0
  echo "\$ $*"
  $limit "$@" 2>/dev/null </dev/null || echo "# $* ended with code $?"
}

echo "hostname $(hostname)"
echo "# read from mlnx_qos, cma_roce_tos, /sys/class/infiniband/ and the like"
run uname -sr
run ibdev2netdev
run rdma link show
run ip -d link show
run show_gids
grep -h "^[[:space:]]*NCCL_" /etc/nccl.conf /etc/environment 2>/dev/null
echo "\$ env"
env | grep "^NCCL_"

for path in /sys/class/infiniband/*; do
  [ -e "$path" ] || continue
  DEV=${path##*/}
  NET=
  for net in "$path"/device/net/*; do
    [ -e "$net" ] && NET=${net##*/} && break
  done
  [ -n "$NET" ] || continue
  echo "nic $DEV $NET"
  run mlnx_qos -i "$NET"
  grep -H . "/sys/class/net/$NET/mtu" "/sys/class/infiniband/$DEV/tc/1/traffic_class" 2>/dev/null
  for file in "/sys/class/net/$NET"/ecn/roce_[nr]p/* "/sys/class/net/$NET"/ecn/roce_[nr]p/enable/*; do
    [ -f "$file" ] && grep -H . "$file" 2>/dev/null
  done
  command -v cma_roce_tos >/dev/null 2>&1 && echo "cma_roce_tos $DEV $(cma_roce_tos -d "$DEV" 2>/dev/null </dev/null)"
  run dcb pfc show dev "$NET"
  run dcb ets show dev "$NET"
  run dcb app show dev "$NET"
  run dcb buffer show dev "$NET"
  run lldptool -t -i "$NET"
  run ethtool -i "$NET"
  run ethtool -m "$NET"
  case $DEV in
  bnxt*) run niccli --dev "$(basename "$(readlink "$path/device")")" qos --ets --show ;;
  esac
done

run nicctl show card
run nicctl show port
run nicctl show qos
run nicctl show dcqcn
run lldpctl -f json
echo "# end"
