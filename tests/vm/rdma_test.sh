#!/usr/bin/env bash
# The level rdma of `sparkplan verify` on two virtual Sparks. It measures real RDMA, over rxe, which is slow. The test
# asserts correctness and never speed. RDMA must work byte for byte over the expected device and GID, and introduced
# faults must be found and named. One line "ok NAME" or "not ok NAME" per check; the last line is "N passed, N failed, N
# skipped".
#
#   tests/vm/rdma_test.sh       SPARKPLAN_PROGRAM: the program, build/bin/sparkplan by default
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2154  # variables of two_sparks.sh
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/vm/two_sparks.sh
source tests/vm/two_sparks.sh

# The first 24 bits of the addresses, as GIDs show them.
readonly gid_of_network=(c0a8:64 c0a8:65)

# verified CODE: runs the level rdma and expects that exit code; the report is in $work/report.
verified() {
  local code=0
  sparkplan verify --level rdma --json >"$work/report" || code=$?
  # Printed where a check fails.
  said '"\n".join(c["id"] + " " + c["status"] + " " + str(c.get("value", "")) + " " + c.get("cause", "") for c in checks)'
  same "exit status of verify" "$code" "$1"
}

# said EXPRESSION: a Python expression over `checks`, a list, and `check`, the same checks by id.
said() {
  python3 -c 'import json, sys
checks = json.load(open(sys.argv[1]))["checks"]
check = {c.get("id"): c for c in checks}
# A result slower than an earlier run is a warning: emulated machines share their processors with other programs.
measured = lambda id: check[id]["status"] in ("pass", "warn") and check[id]["value"] > 0
print(eval(sys.argv[2]))' "$work/report" "$1"
}
holds() { same "$1" "$(said "$1")" True; }

# Both directions, both halves, and both halves at the same time.
bandwidths_pass() {
  local pair half
  for pair in spark-01/spark-02 spark-02/spark-01; do
    for half in A B both; do
      holds "measured('rdma/$pair/$half/bandwidth')" || return
    done
  done
}

latencies_pass() {
  holds "all(measured(f'rdma/spark-01/spark-02/{half}/latency') for half in 'AB')"
}

# Bytes sent by the interface, in per cent of payload and headers. A guest without enough processor time retransmits,
# which only adds bytes. So the lowest of several runs counts, and no run may be below 100 per cent.
bytes_are_right() {
  for _ in 1 2 3 4 5; do
    verified 0 || return
    said '" ".join(str(c["value"]) for c in checks if c["id"].endswith("/counters"))' >>"$work/parts"
    python3 -c 'import sys
runs = [[float(part) for part in line.split()] for line in open(sys.argv[1])]
assert all(len(run) == 6 and min(run) > 99.99 for run in runs), runs
sys.exit(max(map(min, zip(*runs))) > 101)' "$work/parts" && return
  done
  cat "$work/parts"
  return 1
}

# The GID index must be rxe's own, and not the 3 that is common on other machines.
gid_is_looked_up() {
  local i half index
  for i in 1 2; do
    for half in 0 1; do
      index=$(on "$i" "cd /sys/class/infiniband/${devices[half]}/ports/1
        for gid in \$(grep -l ':ffff:${gid_of_network[half]}' gids/*); do
          ! grep -q 'RoCE v2' gid_attrs/types/\${gid#gids/} || echo \${gid#gids/}
        done")
      [ -n "$index" ] && [ "$index" != 3 ] || same "GID index of ${devices[half]} on guest $i" "$index" "a number but 3" || return
      holds "'GID $index (RoCE v2)' in check['rdma/spark-0$i/$([ "$half" = 0 ] && echo A || echo B)']['text']" || return
    done
  done
}

# No process and no queue pair remains; the kernel's own queue pairs of the devices (GSI) stay.
nothing_is_left() {
  local i
  for i in 1 2; do
    becomes_true "$i" '! pgrep -x agent && ! rdma resource show qp | grep -q "type RC"' || return
  done
}

loses_a_device() {
  on 2 'rdma link delete roceP2p1s0f1' && verified 8 &&
    holds "check['rdma/spark-02/B']['status'] == 'fail'" &&
    holds "'spark-02 has no RDMA device on enP2p1s0f1np1' in check['rdma/spark-02/B']['cause']" &&
    holds "len(check['rdma/spark-02/B']['fix']) > 0" &&
    holds "check['rdma/spark-01/spark-02/B']['status'] == 'skip'" &&
    holds "measured('rdma/spark-01/spark-02/A/bandwidth')"
}
gets_it_back() { on 2 'rdma link add roceP2p1s0f1 type rxe netdev enP2p1s0f1np1' && verified 0; }

# RoCE v2 is UDP to port 4791: a firewall without a rule for it may pass pings and TCP.
is_not_acknowledged() {
  on 2 'tc qdisc add dev enp1s0f1np1 ingress &&
    tc filter add dev enp1s0f1np1 parent ffff: protocol ip u32 match ip protocol 17 0xff match ip dport 4791 0xffff action drop' || return
  local right=0
  verified 8 &&
    holds "check['rdma/spark-01/spark-02/A/bandwidth']['status'] == 'fail'" &&
    holds "'UDP port 4791' in check['rdma/spark-01/spark-02/A/bandwidth']['cause']" &&
    holds "measured('rdma/spark-01/spark-02/B/bandwidth')" || right=1
  on 2 'tc qdisc del dev enp1s0f1np1 ingress' && [ "$right" -eq 0 ]
}

# A user's threshold that rxe cannot reach.
misses_a_threshold() {
  cp "$work/cluster.yaml" "$work/cluster.yaml.before"
  echo 'verify: {rdma_half: 100 Gb/s}' >>"$work/cluster.yaml"
  local right=0
  verified 8 && holds "check['rdma/spark-01/spark-02/A/bandwidth']['threshold'] == 100" &&
    holds "check['rdma/spark-01/spark-02/A/bandwidth']['status'] == 'fail'" || right=1
  mv "$work/cluster.yaml.before" "$work/cluster.yaml"
  [ "$right" -eq 0 ]
}

# Requires the doctor's rows on RDMA to be present on both guests, each with the status EXPECTED, "pass" or "fail".
doctor_says() { # EXPECTED ROW...
  local expected=$1 row
  shift
  sparkplan doctor --json >"$work/report" || :
  for row in "$@"; do
    same "$row" "$(said "sorted((c['nodes'][0], c['status']) for c in checks if c['row'] == '$row')")" \
      "[('spark-01', '$expected'), ('spark-02', '$expected')]" || return
  done
}

doctor_sees_a_half_down() {
  local i right=0
  for i in 1 2; do on "$i" "ip link set ${interfaces[0]} down" || return; done
  doctor_says fail link-down || right=1
  for i in 1 2; do
    on "$i" "ip link set ${interfaces[0]} up; networkctl reconfigure ${interfaces[0]}" || return
    becomes_true "$i" "grep -q ACTIVE /sys/class/infiniband/${devices[0]}/ports/1/state &&
      ip -o -4 address show dev ${interfaces[0]} | grep -q ${networks[0]}" || return
  done
  return "$right"
}

two_sparks
check "the guests share no NVMe host name" without_nvme_names
check "apply" exits 0 apply --yes
check "verify climbs to RDMA, and all is well" verified 0
check "each half and both, both ways, have a bandwidth" bandwidths_pass
check "each half has a latency" latencies_pass
check "what the interfaces sent is payload and headers, within 1 %" bytes_are_right
check "the GID is the address's own, of type RoCE v2, wherever it is" gid_is_looked_up
check "the doctor has nothing to say of either device" doctor_says pass rdma-no-device rdma-port-down rdma-no-gid \
  rdma-mtu-small memlock-login
check "the doctor names a half that is down" doctor_sees_a_half_down
check "nothing is left on the guests" nothing_is_left
check "a device that is gone is found and named, the other half still measured" loses_a_device
check "and once it is back all is well" gets_it_back
check "packets that somebody drops are found, the other half still measured" is_not_acknowledged
check "a threshold of the user's that is missed is a failure" misses_a_threshold
check "nothing is left on the guests after failures" nothing_is_left
finish
