# One case: both sides started, both judged. The case is in $id, $tool, $family, $role, $netem,
# $options and $expect, its port in $port and its time limit in $limit; the judgement goes to
# $verdict and $story.
# shellcheck shell=bash disable=SC2154,SC2034 # set and read in `run`

run_case() {
  local name=${id//\//-} server stopped=""
  local ours_log=$out/$name.ours peer_log=$out/$name.peer
  if [[ $family == 6 ]] && has -R && [[ -z $ipv6_handshake ]]; then
    verdict=skip story="this perftest cannot call an IPv6 address"
    return
  fi
  choose_addresses
  [[ $netem == *loss* ]] && lost_before=$(guest "$PEER" lost)
  if [[ $role == client ]]; then
    run_peer >"$peer_log" & server=$!
    wait_listening "$server"
    run_ours "$peer_address" >"$ours_log"; ours_status=$?
    end_server "$ours_status"; peer_status=$?
  else
    run_ours >"$ours_log" & server=$!
    wait_listening "$server"
    run_peer "$ours_address" >"$peer_log"; peer_status=$?
    end_server "$peer_status"; ours_status=$?
  fi
  judge "$ours_log" "$peer_log"
}

# has OPTION: whether the case has it among its options.
has() { [[ " $options " == *" $1 "* ]]; }

# What the packets travel over ($bind, $gid, and for ours $index) and what a client calls ($ours_address,
# $peer_address). They differ for IPv6 where the stock tool exchanges its parameters over IPv4
# only: the GID index alone decides about the packets.
choose_addresses() {
  local ours=1
  [[ -z $self_test ]] || ours=$STAND_IN
  gid=1 bind=10.99.0.$ours ours_address=10.99.0.$ours peer_address=10.99.0.$PEER family_option=""
  index=$gid
  [[ $family == 4 ]] && return 0
  gid=2 bind=fd99::$ours index=2
  if [[ $family == l ]]; then
    gid=0 bind=$(link_local data)%data
    return 0
  fi
  # Newer servers of ibv_*_pingpong listen at IPv4 alone.
  [[ $tool == *_pingpong ]] && return 0
  [[ -n $ipv6_handshake || $tool == ping ]] || return 0
  ours_address=fd99::$ours peer_address=fd99::$PEER family_option=--ipv6-addr
}

# link_local DEVICE: its link-local address.
link_local() {
  ip -6 -o address show dev "$1" scope link | grep -oE 'fe80:[0-9a-f:]+' | head -1
}

# program: the stock tool of the case.
program() {
  case $tool in
    ping) echo rping ;;
    *_pingpong) echo "ibv_$tool" ;;
    *) echo "ib_$tool" ;;
  esac
}

# stock [HOST]: the command line of the stock tool. rping has other letters, and a server of it
# wants its own address.
stock() {
  local words own=10.99.0.$PEER options=${options//peer:/}
  [[ $family == 6 ]] && own=fd99::$PEER
  case $tool in
    ping)
      words=$(sed -E 's/-s /-S /; s/-n /-C /' <<<"$options")
      words="-V $words -a ${1:-$own} -p $port"
      [[ -n ${1:-} ]] && words="-c $words" || words="-s $words"
      ;;
    *_pingpong) words="-d rxe0 -g $gid $options -p $port ${1:-}" ;;
    *) words="-F -d rxe0 -x $gid $family_option $options -p $port ${1:-}" ;;
  esac
  echo "timeout -s KILL $limit $(program) $words"
}

# ours_test: what xoff calls it.
ours_test() {
  case $tool in
    *_pingpong) echo "pingpong -c ${tool%%_*}" ;;
    *) echo "${tool/_/-}" ;;
  esac
}

run_peer() { guest "$PEER" "$(stock "${1:-}")"; }

# Our side, or the stock tool that stands in for it. In a subshell of its own that becomes the
# program, so that its process can be stopped.
# run_ours [HOST [OPTION...]].
run_ours() (
  local host=${1:-}
  if [[ -n $self_test ]]; then
    guest "$STAND_IN" "$(stock "$host")"
    exit
  fi
  (($#)) && shift
  # What is for the stock tool alone.
  options=$(sed -E 's/peer:[^ ]+//g' <<<"$options")
  # shellcheck disable=SC2086,SC2046 # options are several words, the host may be none
  exec timeout -k 2 "$limit" "$XOFF" perf $(ours_test) $host --bind "$bind" -x "$index" \
    $options -p "$port" "$@" 2>&1
)

# end_server CLIENT-STATUS: the server's status, once it has ended. It has five seconds after its
# client, or one if the client failed: nobody will call it any more.
end_server() {
  local tries=50
  (($1 == 0)) || tries=10
  while kill -0 "$server" 2>/dev/null && ((tries-- > 0)); do sleep 0.1; done
  if kill -0 "$server" 2>/dev/null; then
    stopped=yes
    if [[ $role == client ]]; then
      guest "$PEER" "killall $(program)" >/dev/null
    elif [[ -n $self_test ]]; then
      guest "$STAND_IN" "killall $(program)" >/dev/null
    else
      kill "$server" 2>/dev/null
    fi
  fi
  wait "$server"
}

# Waits until the server listens, or is no more. If it never does, its client will say so. The
# kernel shows an rdma_cm listener a moment before it is open: a client that calls at once is
# rejected now and then, and the stock client does not try again.
wait_listening() {
  local how=tcp
  { has -R || [[ $tool == ping ]]; } && how=cm
  wait_for_port "$1" "$how"
  [[ $how == tcp ]] || sleep 0.5
}

wait_for_port() {
  local server=$1 how=$2 try
  for try in {1..40}; do
    kill -0 "$server" 2>/dev/null || return
    if [[ $role == client ]]; then
      guest "$PEER" "listening $port $how" && return
    elif [[ -n $self_test ]]; then
      guest "$STAND_IN" "listening $port $how" && return
    else
      "$here/guest/listening" "$port" "$how" && return
    fi
    sleep 0.1
  done
}

# With -R the stock tools connect twice, and the stock client of perftest 25 may call the second
# time before the stock server listens again: rejected, reason 8 (invalid service ID), and no
# second try. That is between the two of them: only a self-test may try again.
stock_race() {
  [[ -n $self_test && $verdict == FAIL ]] && has -R \
    && grep -qs 'REJECTED; error: 8' "$out/${id//\//-}".{ours,peer}
}

judge() {
  local ours_log=$1 peer_log=$2 regex
  verdict=FAIL
  regex=$(expected_output)
  if [[ -n $stopped ]]; then
    story=$(blame_client "$ours_log" "$peer_log")
  elif ((ours_status != 0)); then
    story="ours $(ending "$ours_status"): $(last_words "$ours_log")"
  elif ((peer_status != 0)); then
    story="peer $(ending "$peer_status"): $(last_words "$peer_log")"
  elif [[ -n $regex ]] && ! grep -qE -- "$regex" "$ours_log"; then
    story="no line of ours matches $regex"
  else
    verdict=pass
    story=$(result_line "$ours_log" "$peer_log")
  fi
  judge_loss
}

# What to say where the server only ended because it was stopped: its status means nothing.
blame_client() {
  if [[ $role == client ]]; then
    ((ours_status == 0)) && echo "the peer, as server, does not end after its client" && return
    echo "ours $(ending "$ours_status"): $(last_words "$1")"
  else
    ((peer_status == 0)) && echo "ours, as server, does not end after its client" && return
    echo "peer $(ending "$peer_status"): $(last_words "$2")"
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

# A lossy case says how much was lost, and one that lost nothing has shown nothing.
judge_loss() {
  local lost
  [[ $netem == *loss* ]] || return 0
  lost=$(($(guest "$PEER" lost) - lost_before))
  story+=", $lost packets lost"
  ((lost > 0)) || verdict=FAIL
}

# ending STATUS: what it means. 124 and 137 come from `timeout`.
ending() {
  case $1 in
    124 | 137) echo "not done after $limit s" ;;
    255) echo "gives no answer" ;;
    *) echo "exits with $1" ;;
  esac
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
    /usec\/iter/ { rounds = $0 }
    END {
      n = split(row, f)
      if (rounds != "") print rounds
      else if (tool ~ /lat/ && n >= 6) print f[6] " us on average"
      else if (n >= 5) print f[4] " " unit
    }' "$client"
}
