#!/usr/bin/env bash
# Sweeps of `verify --level nccl` with the shipped program. Run it inside of two_hosts.sh, which makes the hosts and a
# cluster.yaml:
#
#   tests/gpu/two_hosts.sh "$PWD/tests/gpu/sweep.sh" "$PWD/build/bin/sparkplan"
#   GPUS=all tests/gpu/two_hosts.sh "$PWD/tests/gpu/sweep.sh" "$PWD/build/bin/sparkplan"
#
# Without GPUS each host has one rank, and the data crosses the cables between them. With GPUS=all the first host has
# all GPUs, with one rank on each. Then NCCL_TESTS may name a folder with the programs of nccl-tests (all_reduce_perf and
# so on): both measure in turns, PAIRS times (5), and each operation, size and placement is compared. MPIRUN may name the
# mpirun that starts them, with a process for each rank as in verify; without it, nccl-tests have a thread for each rank.
# ONLY=compare leaves out the other checks. COLLECTIVES (all) may be a list with commas. No pair begins that would end
# after SECONDS_TO_COMPARE: the pairs so far are compared.
# SIZES (8B:1GiB:2) and LIBRARY (NCCL's file) go to verify. nccl-tests rotate small messages through a buffer of the
# largest size, verify through 64 MiB: with a smaller largest size, only theirs stay in the cache of the GPU. Times of
# the pairs are copied to OUT, if that is set. Prints a line per check; without a GPU it exits with 0.
set -uo pipefail
sparkplan=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
sizes=${SIZES:-8B:1GiB:2}
failed=0

check() { # TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then echo "passed: $text"; else echo "FAILED: $text" && failed=1; fi
}

# Runs verify; the result is in $1.json and $1.err.
measure() { # NAME FLAG...
  local name=$1
  shift
  "$sparkplan" verify --level nccl --json "$@" >"$name.json" 2>"$name.err"
}

# Bad input is exit 3 with a message, which may have several lines, and no check was made.
# shellcheck disable=SC2317  # check calls it
refuses() { # WORDS FLAG...
  local words=$1
  shift
  measure refused "$@"
  [ $? -eq 3 ] && tr -s ' \n' ' ' <refused.err | grep -q -- "$words" && ! grep -q '"id"' refused.json
}

if [ ! -e /dev/nvidia0 ]; then
  echo "no GPU here"
  exit 0
fi
for node in spark-01 spark-02; do "$sparkplan" trust "$node" --yes || exit 1; done

placing=()
[ "${GPUS:-}" = all ] && placing=(--only spark-01 --ranks-per-node gpus)
[ -n "${LIBRARY:-}" ] && placing+=(--library "$LIBRARY")

if [ "${ONLY:-}" != compare ]; then
  check "a size that is none" refuses 'is no size' --sizes 8B:many
  check "an operation that does not exist" refuses 'there is no collective' --collectives bcast
  check "a size above the memory, with the node" refuses 'is too large: .* free on spark-0' --sizes 8B:1TiB "${placing[@]}"
  check "more ranks than GPUs, with the node" refuses 'spark-[^ ]* has [0-9]* GPU' --ranks-per-node 64

  measure usual "${placing[@]}"
  check "the usual run passes, with a latency of 8 KiB" python3 "$here/sweep.py" judge usual.json --latency
  measure sweep --sizes "$sizes" --collectives all "${placing[@]}"
  check "all operations pass at $sizes, in both placements" python3 "$here/sweep.py" judge sweep.json --collectives all
fi

if [ -n "${NCCL_TESTS:-}" ] && [ "${GPUS:-}" = all ]; then
  check "times agree with nccl-tests" python3 "$here/sweep.py" compare --nccl-tests "$NCCL_TESTS" --mpirun "${MPIRUN:-}" \
    --pairs "${PAIRS:-5}" --seconds "${SECONDS_TO_COMPARE:-0}" ${COLLECTIVES:+--collectives "$COLLECTIVES"} \
    ${OUT:+--raw "$OUT/pairs.json"} --sizes "$sizes" -- \
    "$sparkplan" verify --level nccl --json --sizes "$sizes" --collectives "${COLLECTIVES:-all}" "${placing[@]}"
fi
exit "$failed"
