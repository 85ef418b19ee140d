# One case: both sides started, both judged.
# shellcheck shell=bash

# The families' addresses: ours (or the stand-in's) and the peer's, and the GID index.
addresses() {
  local family=$1
  if [[ $family == 4 ]]; then
    gid=1 ours_address=$OUR_IPV4 peer_address=10.99.0.$PEER
    [[ -n $self_test ]] && ours_address=10.99.0.$STAND_IN
  else
    gid=2 ours_address=$OUR_IPV6 peer_address=fd99::$PEER
    [[ -n $self_test ]] && ours_address=fd99::$STAND_IN
  fi
  return 0
}

# stock TOOL FAMILY OPTIONS [HOST]: the command line of the stock tool.
stock() {
  local tool=$1 family=$2 options=$3 host=${4:-}
  echo "timeout -s KILL $limit ib_$tool -F -d rxe0 -x $gid $options -p $port $host"
}

# Runs our side, or the stand-in, and returns its status. $1 is the host to call, or nothing.
run_ours() {
  local host=${1:-}
  if [[ -n $self_test ]]; then
    guest "$STAND_IN" "$(stock "$tool" "$family" "$options" "$host")"
    return
  fi
  # shellcheck disable=SC2086 # options are several words
  timeout -k 2 "$limit" "$XOFF" perf "${tool/_/-}" $host --bind "$ours_address" -x "$gid" \
    $options -p "$port" 2>&1
}

run_peer() { guest "$PEER" "$(stock "$tool" "$family" "$options" "${1:-}")"; }

# Waits for a server to listen, on the side that is the server: `ours` or `peer`.
wait_listening() {
  local how=tcp
  [[ " $options " == *" -R "* ]] && how=cm
  case $1$self_test in
    ours) "$here/guest/listening" "$port" "$how" ;;
    oursyes) guest "$STAND_IN" "listening $port $how" ;;
    *) guest "$PEER" "listening $port $how" ;;
  esac
}

# run_case: with name, tool, family, role, options, expect set. Leaves verdict and story.
run_case() {
  local name=${id//\//-} server
  local ours_log=$out/$name.ours peer_log=$out/$name.peer
  addresses "$family"
  [[ $netem == *loss* ]] && lost_before=$(guest "$PEER" lost)
  if [[ $role == client ]]; then
    run_peer >"$peer_log" & server=$!
    wait_listening peer || true
    run_ours "$(handshake_address peer)" >"$ours_log"; ours_status=$?
    wait "$server"; peer_status=$?
  else
    run_ours >"$ours_log" & server=$!
    wait_listening ours || true
    run_peer "$(handshake_address ours)" >"$peer_log"; peer_status=$?
    wait "$server"; ours_status=$?
  fi
  judge "$ours_log" "$peer_log"
}

# The address a client calls. The stock tool of Debian 12 exchanges its parameters over IPv4
# only; the GID index decides what the packets travel over.
handshake_address() {
  if [[ " $options " == *" -R "* ]]; then
    [[ $1 == peer ]] && echo "$peer_address" || echo "$ours_address"
  elif [[ $1 == peer ]]; then
    echo "10.99.0.$PEER"
  elif [[ -n $self_test ]]; then
    echo "10.99.0.$STAND_IN"
  else
    echo "$OUR_IPV4"
  fi
}

# The regex for this role, if the case has one. Only xoff can be held to it, not a stand-in.
expected_output() {
  [[ -n $self_test ]] && return
  case $expect in
    client:* | server:*) [[ $expect == "$role:"* ]] && echo "${expect#*:}" ;;
    *) echo "$expect" ;;
  esac
}

judge() {
  local ours_log=$1 peer_log=$2 regex
  verdict=FAIL
  regex=$(expected_output)
  if ((ours_status == 124 || ours_status == 137)); then
    story="our side did not end in $limit s"
  elif ((peer_status == 124 || peer_status == 137)); then
    story="the peer did not end in $limit s"
  elif ((ours_status != 0)); then
    story="ours exits $ours_status: $(last_words "$ours_log")"
  elif ((peer_status != 0)); then
    story="peer exits $peer_status: $(last_words "$peer_log")"
  elif [[ -n $regex ]] && ! grep -qE -- "$regex" "$ours_log"; then
    story="our output has no line matching $regex"
  else
    verdict=pass
    story=$(result_line "$ours_log" "$peer_log")
  fi
  judge_loss
}

# A lossy case says how much was lost, and one that lost nothing has shown nothing.
judge_loss() {
  local lost
  [[ $netem == *loss* ]] || return 0
  lost=$(($(guest "$PEER" lost) - lost_before))
  story+=", $lost packets lost"
  ((lost > 0)) || verdict=FAIL
}

# The last line that says something: rules and empty lines do not.
last_words() { grep -vE '^[-[:space:]]*$' "$1" | tail -1 | cut -c1-90; }

# The figure of perftest's result row: bandwidth in its fourth column, mean latency in its sixth.
# The client's row is the one that counts, and a server may have none.
result_line() {
  local client=$1
  [[ $role == client ]] || client=$2
  awk -v tool="$tool" '
    match($0, /BW average\[[^]]*/) { unit = substr($0, RSTART + 11, RLENGTH - 11) }
    /^ *[0-9]+[ \t]+[0-9]+[ \t]+[0-9.]+[ \t]+[0-9.]+[ \t]+[0-9.]+/ { row = $0 }
    END {
      n = split(row, f)
      if (tool ~ /lat/ && n >= 6) print f[6] " us on average"
      else if (n >= 5) print f[4] " " unit
    }' "$client"
}
