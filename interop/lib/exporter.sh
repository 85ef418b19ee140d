# `xoff exporter` inside the guest: what it says of rxe0 is what the kernel's files say, while packets are lost and when all is
# quiet, printed and served.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

EXPORTER=exporter/guest/v4

# Whether the case is to be run: only xoff can be, and not a stand-in.
wants_exporter() { [[ -z $self_test && (-z $only || $EXPORTER =~ $only) ]]; }

# push FILE NAME: copies a file into the guest's /tmp.
push() {
  guest "$PEER" "(nc -l -p 7001 >/tmp/$2; echo done >/tmp/$2.there) >/dev/null 2>&1 &" >/dev/null
  local try
  for try in {1..40}; do guest "$PEER" "listening 7001 tcp" && break; sleep 0.1; done
  cat "$1" >/dev/tcp/10.98.0.$PEER/7001 || return 1
  for try in {1..100}; do
    guest "$PEER" "test -e /tmp/$2.there" && guest "$PEER" "chmod +x /tmp/$2" && return
    sleep 0.1
  done
  return 1
}

# The binary without what only debuggers read, and the libraries that the guest does not have.
push_xoff() {
  local work library status=0
  work=$(mktemp -d "$cache/push.XXXXXX")
  strip -o "$work/xoff" "$XOFF" 2>/dev/null || cp "$XOFF" "$work/xoff"
  push "$work/xoff" xoff || status=1
  for library in $(ldd "$XOFF" | grep -oE '/[^ ]+/lib(gcc_s|m)\.so[^ ]*'); do
    guest "$PEER" "test -e /lib/x86_64-linux-gnu/${library##*/}" \
      || push "$library" "${library##*/}" || status=1
  done
  rm -rf "$work"
  return "$status"
}

# The kernel's counters and the exporter's, one after the other, in one command: before, the page, after. With `http` the page
# comes from a server that is up.
SNAPSHOT='hw=/sys/class/infiniband/rxe0/ports/1/hw_counters
look() { for f in $hw/*; do echo "$1 ${f##*/} $(cat $f)"; done; }
look before; PAGE; look after'

# snapshot print|http. An emulated processor has little to spare: a program that starts must not keep packets waiting until
# their retries are used up, so it gets what they leave.
snapshot() {
  local page="LD_LIBRARY_PATH=/tmp /tmp/xoff exporter host --once --host guest --ethtool port"
  [[ $1 == http ]] && page="wget -q -O - http://127.0.0.1:9810/metrics"
  local script=${SNAPSHOT/PAGE/$page}
  guest "$PEER" "${script//$'\n'/; }"
}

# compare [exact]: reads a snapshot, and says which counter is not where it belongs: between before and after, or with `exact`
# the same as both. Ends with how many were compared and their sum.
compare() {
  awk -v exact="${1:-}" '
    BEGIN {
      split("link_downed link_down_events completer_retry_err retransmitted_packets " \
        "out_of_seq_request out_of_sequence_packets duplicate_request duplicate_requests " \
        "rcvd_rnr_err receiver_not_ready retry_exceeded_err queue_pair_errors", pair, " ")
      for (i = 1; i < 13; i += 2) family[pair[i]] = "xoff_" pair[i + 1] "_total"
    }
    $1 == "before" { before[$2] = $3; next }
    $1 == "after" { after[$2] = $3; next }
    /^xoff_.*device="guest-rxe0"/ { name = $1; sub(/\{.*/, "", name); page[name] = $NF }
    END {
      for (name in before) {
        found = name in family ? family[name] : "xoff_hw_" name "_total"
        if (name == "lifespan") continue
        if (!(found in page)) { print "no " found; bad = 1; continue }
        value = page[found] + 0
        if (value < before[name] + 0 || value > after[name] + 0 || (exact && value != after[name] + 0)) {
          print found " is " value ", " name " was " before[name] " and then " after[name]; bad = 1
        }
        count++; sum += value
      }
      if (!count) { print "no counters"; bad = 1 }
      print count + 0, sum + 0
      exit bad
    }'
}

run_exporter() {
  local log=$out/exporter-guest-v4 server port=19001 id=$EXPORTER tool=write_bw family=4 role=client
  local netem="loss 1%" options="-s 65536 -n 200 -u 17" expect="" limit=60 try moved=0 first="" last=""
  verdict=FAIL
  : >"$log.peer"
  push_xoff || { story="the binary cannot be copied into the guest"; return; }
  set_link_mtu 4500 && set_impairment "$netem" || { story="the guest refuses netem"; return; }
  guest "$PEER" "LD_LIBRARY_PATH=/tmp /tmp/xoff exporter host --host guest >/tmp/serve.log 2>&1 &" >/dev/null
  for try in {1..100}; do guest "$PEER" "listening 9810 tcp" && break; sleep 0.1; done
  choose_addresses
  lost_before=$(guest "$PEER" lost)
  run_peer >"$log.peer" & server=$!
  wait_listening "$server"
  run_ours "$peer_address" >"$log.ours" &
  local client=$! snapshots=0 how
  while kill -0 "$client" 2>/dev/null && ((snapshots < 20)); do
    for how in print http; do
      snapshot "$how" >"$log.$how"
      last=$(compare <"$log.$how") || { story="while packets are sent, $how: $(head -1 <<<"$last")"; break 2; }
      snapshots=$((snapshots + 1))
      last=${last##* }
      first=${first:-$last}
      ((last > first)) && moved=1
      sleep 0.5
    done
  done
  wait "$client"; ours_status=$?
  end_server "$ours_status"; peer_status=$?
  [[ -z ${story:-} ]] || return
  set_impairment -
  for how in print http; do
    snapshot "$how" >"$log.$how"
    last=$(compare exact <"$log.$how") || { story="at rest, $how: $(head -1 <<<"$last")"; return; }
  done
  if ((ours_status != 0 || peer_status != 0)); then
    story="the test beside it failed: $(last_words "$log.ours")"
  elif ((!moved)); then
    story="no counter moved in $snapshots snapshots"
  else
    verdict=pass
    story="$snapshots snapshots while packets were lost, ${last% *} counters each, the same at rest"
  fi
}
