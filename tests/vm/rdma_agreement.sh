#!/usr/bin/env bash
# Measures RDMA between two virtual Sparks with `sparkplan verify` and with perftest, in turns. Prints the medians and
# their ratios as a table. Expected under emulation: 0.85 to 1.15. Nothing is asserted: emulated machines share their
# processors with other programs.
#
#   tests/vm/rdma_agreement.sh [ROUNDS]       9 by default; SPARKPLAN_PROGRAM: the program
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2154  # variables of two_sparks.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/vm/two_sparks.sh
source tests/vm/two_sparks.sh
rounds=${1:-9}

# perftest PROGRAM ARGUMENTS...: guest 2 is the server, guest 1 the client; prints the line of figures.
perftest() {
  local server
  "$vm" exec 2 -- timeout 100 "$@" -d rocep1s0f1 >/dev/null 2>&1 &
  server=$!
  becomes_true 2 'ss -H -t -l -n sport = :18515 | grep -q .' || return
  on 1 "timeout 60 $* -d rocep1s0f1 192.168.100.12" | grep -E '^ *(65536|2) '
  wait "$server"
}
# Both programs use the GID that belongs to the address.
gid() {
  on 1 "cd /sys/class/infiniband/rocep1s0f1/ports/1/gids; grep -l :ffff:c0a8: * | tail -n 1"
}

one_round() {
  local figures
  sparkplan verify --level rdma --json >"$work/report" 2>"$work/progress" || return
  python3 -c 'import json, sys
check = {c["id"]: c for c in json.load(open(sys.argv[1]))["checks"]}
way = "rdma/spark-01/spark-02/A/"
print("ours", check[way + "bandwidth"]["value"], check[way + "latency"]["value"])' "$work/report" || return
  # Bandwidth: average, fourth column. Latency: typical, fifth.
  figures=$(perftest ib_write_bw -x "$gid" -s 65536 -q 4 -t 32 -n 400 --report_gbits) || return
  printf 'theirs %s ' "$(awk '{ print $4 }' <<<"$figures")"
  figures=$(perftest ib_write_lat -x "$gid" -s 2 -n 1000) || return
  awk '{ print $5 }' <<<"$figures"
}

two_sparks
sparkplan apply --yes >/dev/null 2>&1 || exit 1
gid=$(gid)
for ((round = 1; round <= rounds; round++)); do
  one_round | tee -a "$work/rounds" || exit 1
done
python3 - "$work/rounds" <<'PYTHON'
import statistics
import sys

rounds = {"ours": [], "theirs": []}
for line in open(sys.argv[1]):
    who, bandwidth, latency = line.split()
    rounds[who].append((float(bandwidth), float(latency)))
print("| what | verify | perftest | ratio | spread of perftest, best to worst |")
print("|---|---|---|---|---|")
figures = (("write bandwidth, 64 KiB, 4 queue pairs", "Gb/s", max), ("write latency, 2 bytes", "us", min))
for i, (what, unit, best) in enumerate(figures):
    spread = max(v[i] for v in rounds["theirs"]) / min(v[i] for v in rounds["theirs"])
    for which, of in (("median", statistics.median), ("best", best)):
        ours, theirs = (of([values[i] for values in rounds[who]]) for who in ("ours", "theirs"))
        print(f"| {what}, {which} | {ours:.3f} {unit} | {theirs:.3f} {unit} | {ours / theirs:.2f} | {spread:.2f} |")
print(f"{len(rounds['ours'])} rounds in turns")
PYTHON
