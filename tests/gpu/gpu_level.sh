#!/usr/bin/env bash
# `verify --level gpu` on two hosts with GPUs, compared with nvidia-smi. Run it inside of two_hosts.sh, which makes the
# hosts and a cluster.yaml:
#
#   tests/gpu/two_hosts.sh "$PWD/tests/gpu/gpu_level.sh" "$PWD/build/bin/sparkplan"
#
# Checked are: every value against what nvidia-smi reads at the same time, that no setting of a GPU changes, and that a
# GPU with a program on it is named and left alone without --force. With one GPU, which both hosts share, only the first
# one is measured. Prints a line per check. Needs python3 and nvidia-smi.
set -uo pipefail
sparkplan=$(realpath "$1") here=$(cd "$(dirname "$0")" && pwd)
failed=0

check() { # TEXT COMMAND...
  local text=$1
  shift
  if "$@"; then echo "passed: $text"; else echo "FAILED: $text" && failed=1; fi
}

settings() {
  nvidia-smi --format=csv,noheader \
    --query-gpu=index,persistence_mode,compute_mode,power.limit,clocks.max.sm,mig.mode.current,ecc.mode.current
}

verify() { # ARGUMENTS...
  "$sparkplan" verify --level gpu "${only[@]}" "$@"
}

gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
check "nvidia-smi sees a GPU" test "$gpus" -gt 0
only=()
if [ "$gpus" -lt 2 ]; then
  only=(--only spark-01)
  echo "remark: one GPU, so only spark-01 is measured"
fi
nvidia-smi --query-gpu=index,name,driver_version --format=csv
for node in spark-01 spark-02; do "$sparkplan" trust "$node" --yes >/dev/null || exit 1; done

settings >settings.before
check "nvidia-smi reads the settings" grep -q '^0,' settings.before
nvidia-smi --format=csv,noheader,nounits -lms 200 \
  --query-gpu=index,utilization.gpu,clocks.sm,power.draw,temperature.gpu,clocks.max.memory,name,driver_version >samples.csv &
sampler=$!
verify --json --report page.html >gpu.json 2>progress.txt
status=$?
kill "$sampler"
wait "$sampler" 2>/dev/null
settings >settings.after
cat progress.txt
check "exit code 0 or 8, it is $status" test "$status" -eq 0 -o "$status" -eq 8
check "no setting of a GPU has changed" cmp settings.before settings.after
check "the page has the level" grep -q 'SM clock under load' page.html
python3 "$here/gpu_level.py" gpu.json samples.csv || failed=1
verify
echo

# A program that only opens the GPU, as an idle server does. It ends with its input.
mkfifo program.in
ssh -i ../controller -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@10.88.1.2 \
  "python3 -c '
import ctypes, sys
cuda = ctypes.CDLL(\"libcuda.so.1\")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
print(\"open\", flush=True)
sys.stdin.read()
'" <program.in >program.out 2>&1 &
program=$!
exec 9>program.in
end=$((SECONDS + 30))
until grep -q open program.out || ((SECONDS >= end)); do sleep 0.1; done
check "a program has opened the GPU of spark-01" grep -q open program.out
listed=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader | wc -l)
if [ "$listed" -eq 0 ]; then
  echo "SKIPPED: the driver lists no programs on this machine"
else
  verify --json >used.json 2>/dev/null
  check "the used GPU is named and left alone" python3 "$here/gpu_level.py" --used used.json
  verify --force --json >forced.json 2>/dev/null
  check "--force measures it" python3 "$here/gpu_level.py" --forced forced.json
fi
exec 9>&-
wait "$program"
check "no program of the test is left" test -z "$(pgrep -x sparkplan-nccl)"
exit "$failed"
