# Peers that are killed or frozen in the middle of a test, and machines that stop: ours ends in the time of --patience, with the
# reason.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# What happens to the peer: its process is killed (`KILL`) or frozen (`STOP`), or its machine stops (`machine`); our role; the
# stock tool and options; what ours says.
GONE='
killed            client KILL    write_bw -D 30        the peer has gone
killed            server KILL    write_bw -D 30        the peer has gone
killed-cm         client KILL    write_bw -D 30 -R     the peer has gone
killed-cm         server KILL    send_bw -D 30 -R      the peer has gone
killed-ud         client KILL    send_bw -D 30 -c UD   the peer has gone
frozen            client STOP    send_bw -D 30         posted no receive|nothing from the peer
frozen            server STOP    write_bw -D 30        nothing from the peer
frozen-lat        client STOP    send_lat -n 1000000   posted no receive|nothing from the peer
frozen-lat        server STOP    write_lat -n 1000000  nothing from the peer
machine           client machine write_bw -D 30        retry exceeded
machine           server machine write_bw -D 30        nothing from the peer
machine-read      client machine read_bw -D 30         retry exceeded
machine-cm        client machine send_bw -D 30 -R      retry exceeded
'

# The cases that are to be run, as lines of the table above.
gone_cases() {
  [[ -z $self_test && -n $all ]] || return 0
  local name role rest
  while read -r name role rest; do
    [[ -n $name ]] || continue
    [[ -n $only && ! $name/$role/v4 =~ $only ]] || echo "$name $role $rest"
  done <<<"$GONE"
}

list_gone() { gone_cases | while read -r name role rest; do printf '%-32s %s\n' "$name/$role/v4" "$rest"; done; }

# run_gone NAME ROLE WHAT TOOL OPTIONS... two spaces, then what ours says.
run_gone() {
  local what=$1 line=$2 words says log began took peer_process status
  says=${line##*  } words=${line%%  *}
  read -r tool options <<<"$words"
  says=${says## } verdict=FAIL story="" family=4 netem=- limit=40 log=$out/${id//\//-}
  set_link_mtu 4500 && set_impairment - || { story="the guest refuses"; return; }
  choose_addresses
  options+=" -s 4096" limit=60
  # Nothing slows datagrams down: no more of them than let an emulated processor do what it is told.
  [[ $options != *"-c UD"* ]] \
    || tc qdisc replace dev "data$PEER" root tbf rate 400mbit burst 64kb latency 20ms || { story="no tc"; return; }
  if [[ $role == client ]]; then
    run_peer >"$log.peer" & server=$!
    wait_listening "$server"
    run_ours "$peer_address" --patience 3 >"$log.ours" & ours=$!
  else
    run_ours "" --patience 3 >"$log.ours" & ours=$! server=$!
    wait_listening "$server"
    run_peer "$ours_address" >"$log.peer" &
  fi
  sleep 4
  if [[ $what == machine ]]; then kill -STOP "$qemu_pid"; else guest "$PEER" "killall -$what $(program)" >/dev/null; fi
  # From when it is done, which takes an emulated processor a while.
  began=$(date +%s%N)
  wait "$ours"; status=$?
  took=$((($(date +%s%N) - began) / 1000000))
  [[ $what != machine ]] || kill -CONT "$qemu_pid"
  tc qdisc delete dev "data$PEER" root 2>/dev/null
  guest "$PEER" "killall -KILL $(program)" >/dev/null 2>&1
  # What is given, a quarter of it, and what a busy machine adds.
  if ((status != 1)); then
    story="ours $(ending "$status"): $(last_words "$log.ours")"
  elif ! grep -qE -- "$says" "$log.ours"; then
    story="ours says: $(last_words "$log.ours")"
  elif ((took > 3 * 1250 + 2500)); then
    story="ours ends after $took ms: $(last_words "$log.ours")"
  else
    verdict=pass story="after $took ms: $(last_words "$log.ours")"
  fi
}
