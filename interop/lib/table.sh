# The table of cases in, the table of results out.
# shellcheck shell=bash disable=SC2154,SC2034 # shared with `run`

# trim VALUE: without spaces around it.
trim() {
  local value=$1
  value=${value#"${value%%[![:space:]]*}"}
  printf '%s' "${value%"${value##*[![:space:]]}"}"
}

# Expands the file of cases into `plan`: one line per case, role and family, fields separated
# by `|`, of those that the pattern $only lets through.
read_cases() {
  local line fields field family role number=0
  plan=()
  while IFS= read -r line; do
    number=$((number + 1))
    [[ $line =~ ^[[:space:]]*(#|$) ]] && continue
    IFS='|' read -ra fields <<<"$line|"
    for field in "${!fields[@]}"; do fields[field]=$(trim "${fields[field]}"); done
    if ((${#fields[@]} < 6)); then
      echo "cases, line $number: six fields or seven, not ${#fields[@]}" >&2
      exit 2
    fi
    if [[ ${fields[0]} == +* ]]; then
      [[ -n $all ]] || continue
      fields[0]=${fields[0]#+}
    fi
    for family in $(grep -o . <<<"${fields[2]}"); do
      for role in client server; do
        local id="${fields[0]}/$role/v$family"
        [[ -n $only && ! $id =~ $only ]] && continue
        plan+=("$id|${fields[1]}|$family|$role|${fields[3]}|${fields[4]}|${fields[5]}|${fields[6]:-}")
      done
    done
  done <"$here/cases"
}

list_cases() {
  local entry
  for entry in "${plan[@]}"; do
    IFS='|' read -r id tool family role link netem options expect <<<"$entry"
    printf '%-32s %-14s link %s, %-8s %s\n' "$id" "$(program)" "$link" "${netem/#-/clean}" "$options"
  done
  strangers
  list_gone
  wants_exporter && printf '%-32s xoff exporter in the guest, beside ib_write_bw with loss\n' "$EXPORTER"
  return 0
}

# Everything the user reads also goes into the summary file.
say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }

row() { say "$(printf '%-20s %-7s %-5s %-5s %5s  %s' "$@")"; }

print_header() {
  row case role ip '' s 'what happened'
  row ---- ---- -- '' - -------------
}
