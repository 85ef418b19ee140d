# Programs of others that are no perftest: the kernel's NVMe target, and ucmatose, udaddy and rstream of librdmacm, qperf. Examples of the endpoint crate
# speak with them.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

STRANGERS='nvmet/client/v4 nvmet/client/v6 ucmatose/client/v4 ucmatose/server/v4 ucmatose/client/v6 ucmatose/server/v6
udaddy/client/v4 udaddy/server/v4 udaddy/client/v6 udaddy/server/v6
rstream/client/v4 rstream/server/v4 rstream/client/v6 rstream/server/v6
qperf/client/v4 qperf/server/v4'

# The cases that are to be run: only our examples can be, and not a stand-in.
strangers() {
  local id
  [[ -z $self_test ]] || return 0
  for id in $STRANGERS; do
    [[ -n $only && ! $id =~ $only ]] || echo "$id"
  done
}

# example NAME: where it is: beside the program, or as tests build it.
example() {
  local folder
  for folder in "$(dirname "$XOFF")/examples" "$target"/{release,debug}/examples; do
    [[ -x $folder/$1 ]] && echo "$folder/$1" && return
  done
  return 1
}

# The kernel's target with one subsystem and no disk, at an address: enough for discovery.
NVMET='c=/sys/kernel/config/nvmet; p=$c/ports/NUMBER; mkdir -p $c/subsystems/nqn.xoff:bench $p;
echo 1 >$c/subsystems/nqn.xoff:bench/attr_allow_any_host;
echo FAMILY >$p/addr_adrfam; echo rdma >$p/addr_trtype; echo 4420 >$p/addr_trsvcid; echo ADDRESS >$p/addr_traddr;
ln -s $c/subsystems/nqn.xoff:bench $p/subsystems/'

run_nvmet() {
  local program own=10.99.0.1 peer=10.99.0.$PEER words=${NVMET//$'\n'/ } log=$out/${id//\//-}
  program=$(example nvme_discover) || { verdict=skip story="no example nvme_discover: cargo build -p xoff-endpoint --examples"; return; }
  words=${words//NUMBER/${id: -1}}
  [[ $id == */v6 ]] && own=fd99::1 peer=fd99::$PEER
  words=${words/FAMILY/ipv${id: -1}}
  guest "$PEER" "${words/ADDRESS/$peer}" >"$log.peer" 2>&1
  timeout 30 "$program" "$peer" -a "$own" >"$log.ours" 2>&1
  ours_status=$?
  if ((ours_status == 0)) && grep -q "^subsystem: nqn.xoff:bench at $peer port 4420, rdma" "$log.ours"; then
    verdict=pass story=$(grep -c . "$log.ours")" lines; $(sed -n 2p "$log.ours")"
  else
    story="ours $(ending "$ours_status"): $(last_words "$log.ours")"
  fi
}

run_ucmatose() { run_messages ucmatose cmatose 3000; }
run_udaddy() { run_messages udaddy udaddy 1000; }

# run_messages TOOL EXAMPLE BYTES: both have the same letters, but for the addresses.
run_messages() {
  local stock=$1 program port=$port own=10.99.0.1 peer=10.99.0.$PEER log=$out/${id//\//-} server
  program=$(example "$2") || { verdict=skip story="no example $2: cargo build -p xoff-endpoint --examples"; return; }
  [[ $id == */v6 ]] && own=fd99::1 peer=fd99::$PEER
  local options="-C 40 -S $3 -p $port" theirs="-C 40 -S $3 -p $port"
  # It has its own port, and -p means something else there.
  [[ $stock == udaddy ]] && port=7174 options="-C 40 -S $3 -p 7174" theirs="-C 40 -S $3"
  if [[ $role == client ]]; then
    guest "$PEER" "timeout 30 $stock -b $peer $theirs" >"$log.peer" & server=$!
    wait_for_port "$server" cm && sleep 0.5
    # shellcheck disable=SC2086
    timeout 30 "$program" "$peer" -a "$own" $options >"$log.ours" 2>&1; ours_status=$?
    wait "$server"; peer_status=$?
  else
    # shellcheck disable=SC2086
    timeout 30 "$program" serve -a "$own" $options >"$log.ours" 2>&1 & server=$!
    wait_for_port "$server" cm && sleep 0.5
    guest "$PEER" "timeout 30 $stock -s $own -b $peer $theirs" >"$log.peer"; peer_status=$?
    wait "$server"; ours_status=$?
  fi
  if ((ours_status != 0)); then
    story="ours $(ending "$ours_status"): $(last_words "$log.ours")"
  elif ((peer_status != 0)) || ! grep -q 'data transfers complete' "$log.peer"; then
    story="peer $(ending "$peer_status"): $(last_words "$log.peer")"
  else
    verdict=pass story=$(last_words "$log.ours")
  fi
}

# Bytes are compared at both sides: 1.5 MB each way, so that every half of a buffer is used several times.
run_rstream() {
  local program port=$port own=10.99.0.1 peer=10.99.0.$PEER log=$out/${id//\//-} server
  local -r options="-p $port -S 25000 -C 30 -I 2"
  program=$(example rstream) || { verdict=skip story="no example rstream: cargo build -p xoff-endpoint --examples"; return; }
  [[ $id == */v6 ]] && own=fd99::1 peer=fd99::$PEER
  if [[ $role == client ]]; then
    guest "$PEER" "timeout 60 rstream -b $peer $options -T v" >"$log.peer" 2>&1 & server=$!
    wait_for_port "$server" cm && sleep 0.5
    # shellcheck disable=SC2086
    timeout 60 "$program" "$peer" -a "$own" $options --verify yes >"$log.ours" 2>&1; ours_status=$?
    wait "$server"; peer_status=$?
  else
    # shellcheck disable=SC2086
    timeout 60 "$program" serve -a "$own" $options --verify yes >"$log.ours" 2>&1 & server=$!
    wait_for_port "$server" cm && sleep 0.5
    guest "$PEER" "timeout 60 rstream -s $own -b $peer $options -T v" >"$log.peer" 2>&1; peer_status=$?
    wait "$server"; ours_status=$?
  fi
  if ((ours_status != 0)); then
    story="ours $(ending "$ours_status"): $(last_words "$log.ours")"
  elif ((peer_status != 0)) || grep -q failed "$log.peer" || ! grep -q '^custom' "$log.peer"; then
    story="peer $(ending "$peer_status"): $(last_words "$log.peer")"
  else
    verdict=pass story=$(last_words "$log.ours")
  fi
}

# Four tests, one after the other. The stock server serves all of them, ours one each.
run_qperf() {
  local program test server log=$out/${id//\//-}
  local port=19765
  program=$(example qperf) || { verdict=skip story="no example qperf: cargo build -p xoff-endpoint --examples"; return; }
  : >"$log.ours" >"$log.peer"
  if [[ $role == client ]]; then
    guest "$PEER" "timeout 40 qperf" >"$log.peer" 2>&1 & server=$!
    wait_for_port "$server" tcp
  fi
  for test in rc_bw rc_lat rc_rdma_read_bw rc_rdma_write_bw; do
    if [[ $role == client ]]; then
      timeout 20 "$program" 10.99.0.$PEER "$test" -a 10.99.0.1 -t 1 >>"$log.ours" 2>&1; ours_status=$? peer_status=0
    else
      timeout 20 "$program" serve -a 10.99.0.1 >>"$log.ours" 2>&1 & server=$!
      wait_for_port "$server" tcp
      guest "$PEER" "timeout 20 qperf 10.99.0.1 -cm1 -t 1 $test" >>"$log.peer" 2>&1; peer_status=$?
      wait "$server"; ours_status=$?
    fi
    if ((ours_status != 0)); then
      story="$test: ours $(ending "$ours_status"): $(last_words "$log.ours")"
      return
    elif ((peer_status != 0)); then
      story="$test: peer $(ending "$peer_status"): $(last_words "$log.peer")"
      return
    fi
  done
  # Without a message it says nothing.
  if [[ $role == server ]] && (($(grep -cE '(bw|latency) +=' "$log.peer") != 4)); then
    story="peer: $(last_words "$log.peer")"
    return
  fi
  verdict=pass story=$(last_words "$log.ours")
}

# run_stranger ID: one of them, on a clean link.
run_stranger() {
  id=$1 verdict=FAIL story="" tool=ping options=""
  set_link_mtu 4500 && set_impairment - || { story="the guest refuses"; return; }
  role=${id#*/} role=${role%/*}
  start_capture
  "run_${id%%/*}"
  stop_capture
}
