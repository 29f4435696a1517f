#!/usr/bin/env bash
# Real PyTorch jobs on two hosts with GPUs. Run it inside of two_hosts.sh, which makes the hosts and a cluster.yaml:
#
#   tests/gpu/two_hosts.sh "$PWD/tests/gpu/jobs.sh" "$PWD/build/bin/sparkplan"
#
# The hosts share one /etc, so nothing is applied, and the preflight is left out. Checked are: right sums over Gloo and
# over NCCL, the bytes on the fabric's interface, and that --watch names a rank that SIGSTOP has stopped. Prints a line
# per check.
set -uo pipefail
sparkplan=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
interface=${INTERFACE:-enp1s0f1np1}
script=$PWD/all_reduce.py
cp "$here/all_reduce.py" "$script"
failed=0

check() { # TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then echo "passed: $text"; else echo "FAILED: $text" && failed=1; fi
}

on() { # HOST COMMAND
  ssh -i ../controller -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "root@10.88.$1.2" "$2"
}

# Polls COMMAND; a failure names the condition, and the checks that follow fail.
await() { # WHAT SECONDS COMMAND...
  local what=$1 end=$((SECONDS + $2))
  shift 2
  until "$@"; do
    ((SECONDS < end)) || { echo "FAILED: $what did not come in time" && failed=1 && return; }
    sleep 0.2
  done
}

# shellcheck disable=SC2317  # await calls it
both_have_summed() { [ "$(grep -c 'right sums' stopped.out)" -eq 2 ]; }

# /sys shows the interfaces of the machine, /proc those of the host.
received() { on "$1" "sed -n 's/^ *$interface: *\\([0-9]*\\).*/\\1/p' /proc/net/dev"; }

for node in spark-01 spark-02; do "$sparkplan" trust "$node" --yes || exit 1; done

for backend in gloo nccl; do
  before=$(received 2)
  "$sparkplan" run --no-preflight --env "PATH=$PATH" --launcher torchrun --time-limit 120s -- "$script" "$backend" 2 >"$backend.out" 2>&1
  status=$?
  cat "$backend.out"
  check "$backend: exit code 0, it is $status" test "$status" -eq 0
  check "$backend: both ranks have right sums" test "$(grep -c "right sums over $backend" "$backend.out")" -eq 2
  check "$backend: more than 16 MB over $interface" test "$(($(received 2) - before))" -gt 16000000
done

"$sparkplan" run --no-preflight --env "PATH=$PATH" --launcher torchrun --watch 5s -- "$script" gloo 600 >stopped.out 2>&1 &
job=$!
await "the first sums" 60 both_have_summed
on 2 "pkill -STOP -f '^[^ ]*python[^ ]* .*all_reduce[.]py gloo'"
await "a report of --watch" 30 grep -q 'kill -CONT' stopped.out
kill -INT "$job"
wait "$job"
status=$?
cat stopped.out
check "--watch names the stopped rank" grep -q 'spark-02 rank 1 is stopped' stopped.out
check "Ctrl-C ends the job with 10, it is $status" test "$status" -eq 10
check "no process is left" test -z "$(on 1 'pgrep -f all_reduce.py'; on 2 'pgrep -f all_reduce.py')"
exit "$failed"
