# Shared by the tests on two virtual Sparks: counted checks, commands on the guests, the smallest cluster.yaml. Source
# it from the repository root.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2317  # what the tests use

readonly vm=tests/vm/vm.sh
readonly interfaces=(enp1s0f1np1 enP2p1s0f1np1)
readonly devices=(rocep1s0f1 roceP2p1s0f1)
readonly networks=(192.168.100 192.168.101)
readonly patience=60
program=$(realpath "${SPARKPLAN_PROGRAM:-build/bin/sparkplan}")
passed=0 failed=0 skipped=0

finish() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}

# check NAME COMMAND...: shows the command's output if it fails.
check() {
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$work/output" 2>&1 </dev/null; then
    passed=$((passed + 1))
    printf 'ok %s (%d s)\n' "$name" $((SECONDS - began))
  else
    failed=$((failed + 1))
    printf 'not ok %s (%d s)\n' "$name" $((SECONDS - began))
    sed 's/^/  | /' "$work/output"
  fi
}

# same WHAT ACTUAL EXPECTED
same() {
  [ "$2" = "$3" ] && return
  printf '%s: expected\n%s\nfound\n%s\n' "$1" "$3" "$2"
  return 1
}

sparkplan() {
  HOME=$home "$vm" controller -- env -u SSH_AUTH_SOCK -u SPARKPLAN_CLUSTER COLUMNS=1000 \
    "$program" "$@" "$work/cluster.yaml"
}

# exits CODE ARGUMENTS...: requires sparkplan's exit status.
exits() {
  local expected=$1 code=0
  shift
  sparkplan "$@" || code=$?
  same "exit status of sparkplan $1" "$code" "$expected"
}

# on I LINE: a shell line, as root. login [USER@]I LINE: the same over a new login.
on() { "$vm" exec "$1" -- bash -c "$2"; }
login() { "$vm" ssh "$1" -- bash -c "$2"; }

# Waits until LINE succeeds on guest I, at most `patience` seconds. Each attempt takes its time, so the loop does not
# sleep.
becomes_true() { # I LINE
  local deadline=$((SECONDS + patience))
  until on "$1" "$2"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
  done
}

# Both guests come from one image and have the same NVMe host name, which sparkplan refuses. Tests without NVMe remove
# the name.
without_nvme_names() {
  local i
  for i in 1 2; do on "$i" 'rm -f /etc/nvme/hostnqn /etc/nvme/hostid' || return; done
}

# Boots the two guests and writes $work/cluster.yaml; ends the test if that is not possible.
two_sparks() {
  local reason
  if ! reason=$("$vm" check); then
    skipped=1
    printf 'SKIPPED: %s\n' "$reason"
    finish
  fi
  work=$(mktemp -d)
  trap '"$vm" down; rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  check "two virtual Sparks boot" "$vm" up 2
  [ "$failed" -eq 0 ] || finish
  home=$("$vm" home)
  cat >"$work/cluster.yaml" <<YAML
version: 1
name: lab
profile: dgx-spark
ssh: {user: nvidia}
fabric: {topology: direct, port: 1}
nodes:
  - {name: spark-01, address: $("$vm" address 1)}
  - {name: spark-02, address: $("$vm" address 2)}
YAML
}
