# Captures of single cases.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

start_capture() {
  capture_pid=""
  [[ -n $pcap ]] || return 0
  mkdir -p "$pcap"
  tcpdump -Z root -n -U -i data -w "$pcap/${id//\//-}.pcap" 2>"$out/tcpdump.log" &
  capture_pid=$!
  local try
  for try in {1..20}; do
    grep -q 'listening on' "$out/tcpdump.log" && return 0
    sleep 0.1
  done
  echo "tcpdump does not start ($try tries): see $out/tcpdump.log" >&2
}

stop_capture() {
  [[ -n $capture_pid ]] || return 0
  sleep 0.2
  kill -INT "$capture_pid" 2>/dev/null
  wait "$capture_pid" 2>/dev/null
}
