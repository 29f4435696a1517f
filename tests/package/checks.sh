# What the tests of this folder share: a limit for the whole test, its checks, and commands on lab hosts. A test sources
# this file and calls `limited` first, in the folder from which it was started.
# shellcheck shell=bash
# shellcheck disable=SC2034  # variables of the tests

# limited SECONDS ARGUMENT...: starts the test again under a limit, once. Afterwards the test has a folder `work`, and
# removes it and its lab however it ends.
limited() {
  if [ -n "${SPARKPLAN_TEST_IS_LIMITED:-}" ]; then
    unset SPARKPLAN_TEST_IS_LIMITED
    work=$(mktemp -d) || exit 1
    trap clean_up EXIT
    return
  fi
  local seconds=$1
  shift
  SPARKPLAN_TEST_IS_LIMITED=1 exec timeout --foreground --kill-after=400 "$seconds" bash "$0" "$@"
}

export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
# A busy machine boots hosts slowly, and an emulated one is slow anyway.
export SPARKPLAN_LAB_TIMEOUT=${SPARKPLAN_LAB_TIMEOUT:-400}
readonly lab=tests/lab/lab.sh
passed=0 failed=0 skipped=0

# A test sets `lab_is_ours` before it boots hosts.
clean_up() {
  trap - EXIT
  [ -n "${finished:-}" ] || echo "the test ended before its last check"
  # The limit may end a test in the middle of a command. A lab.sh that boots hosts removes them when it ends.
  pkill -TERM -P $$ 2>/dev/null
  [ -z "${lab_is_ours:-}" ] || "$lab" down
  rm -rf "$work"
}

finish() {
  finished=yes
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}

# check NAME COMMAND...: shows the end of the command's output if it fails. If other checks depend on this one, the caller
# adds "|| finish", which ends the test.
check() {
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$work/output" 2>&1 </dev/null; then
    passed=$((passed + 1))
    printf 'ok %s (%d s)\n' "$name" $((SECONDS - began))
    return
  fi
  failed=$((failed + 1))
  printf 'not ok %s (%d s)\n' "$name" $((SECONDS - began))
  tail -n 100 "$work/output" | sed 's/^/  | /'
  return 1
}

# same WHAT ACTUAL EXPECTED
same() {
  [ "$2" = "$3" ] && return
  printf '%s:\n' "$1"
  diff <(printf '%s\n' "$3") <(printf '%s\n' "$2")
  return 1
}

on() { "$lab" exec "$1" -- bash -c "$2"; }

# exits CODE LINE: runs LINE on the first host, with a HOME without sparkplan files.
exits() {
  local code=0
  on 1 "cd /opt/lab && export HOME=/opt/lab/home && $2" || code=$?
  same "exit status of $2" "$code" "$1"
}

# Lab hosts are configured to leave out documentation. Other hosts are not, and dpkg -V would miss it.
like_any_other() { rm -f "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap; }
