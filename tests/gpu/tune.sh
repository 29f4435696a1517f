#!/usr/bin/env bash
# `tune` with the shipped program, over TCP between two hosts of one machine. Run it inside of two_hosts.sh, which makes
# the hosts and a cluster.yaml:
#
#   tests/gpu/two_hosts.sh "$PWD/tests/gpu/tune.sh" "$PWD/build/bin/sparkplan"
#
# BUDGET (6m) goes to tune. With GRID=N it also measures N random settings of the whole grid or, with GRID=all, all of
# them, within SECONDS_FOR_GRID, and compares: the proposal must reach the best of them that keeps tune's rule minus 2 %,
# in a tenth of the time of the whole grid. TUNED may name a folder with the files of an earlier tune for the grid.
# Files that tune writes are copied to OUT, if that is set. Prints a line per check; without a GPU it exits with 0.
# NVLink multicast stays disabled: cluster.yaml sets NCCL_NVLS_ENABLE, and the checks look at it.
set -uo pipefail
sparkplan=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
budget=${BUDGET:-6m}
failed=0

check() { # TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then echo "passed: $text"; else echo "FAILED: $text" && failed=1; fi
}

# A budget that is too short is exit 3, and nothing is measured.
# shellcheck disable=SC2317  # check calls it
refuses_budget() {
  "$sparkplan" tune --budget 5s --json >short.json 2>short.err
  [ $? -eq 3 ] && grep -q 'has no time for one pair' short.err && [ ! -s short.json ]
}

# shellcheck disable=SC2317  # check calls it
tunes() {
  local begin=$SECONDS
  # On shared machines, NVML shows the programs of other containers: they are not on these GPUs.
  "$sparkplan" tune --force --budget "$budget" --json -o fragment.yaml --report tune.html >tune.json 2>tune.err
  local code=$?
  echo "# tune: exit $code after $((SECONDS - begin)) s"
  [ "$code" -eq 0 ] || { tail -20 tune.err && return 1; }
}

if [ ! -e /dev/nvidia0 ]; then
  echo "no GPU here"
  exit 0
fi
for node in spark-01 spark-02; do "$sparkplan" trust "$node" --yes || exit 1; done

if [ -n "${TUNED:-}" ]; then
  cp "$TUNED"/{tune.json,fragment.yaml,tune.html} . || exit 1
else
  check "a budget too short for one pair is refused" refuses_budget
  check "tune ends within its budget, and writes JSON, YAML and a page" tunes
fi
check "the result keeps its rule, and never has NCCL_NVLS_ENABLE" python3 "$here/tune.py" judge tune.json fragment.yaml tune.html
[ -n "${OUT:-}" ] && [ -z "${TUNED:-}" ] && cp -f tune.json tune.err fragment.yaml tune.html "$OUT"/
if [ -n "${GRID:-}" ]; then
  check "the proposal is as fast as the best of a grid that keeps the rule, minus 2 %" \
    python3 "$here/tune.py" grid tune.json cluster.yaml --number "$GRID" --seconds "${SECONDS_FOR_GRID:-0}" -- "$sparkplan"
fi
exit "$failed"
