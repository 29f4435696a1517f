#!/usr/bin/env bash
# An upgrade from an earlier sparkplan keeps all that it manages, and a downgrade works: the earlier one continues with
# what the newer one has written. Two directories are the nodes, and a lab host, if the lab can run. One line "ok NAME" or
# "not ok NAME" per check; the last line is "N passed, N failed, N skipped".
#
#   tests/package/upgrade_test.sh OLD [NEW]     programs; NEW is build/bin/sparkplan by default
# tests/package/earlier.sh builds version 0.1.0 and prints the path of its program.
# shellcheck disable=SC2317  # functions that "check" calls
set -uo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set/{/^# shell/d;/^#/s/^# \{0,1\}//p}' "$0" >&2 && exit 1; }
# shellcheck source=tests/package/checks.sh
source "$(dirname "$0")/checks.sh"
limited 3600 "$@"
old=$(realpath -e "$1") && new=$(realpath -e "${2:-$(dirname "$0")/../../build/bin/sparkplan}") || exit 1
cd "$(dirname "$0")/../.." || exit 1
# The programs log their runs below HOME.
export SPARKPLAN_LAB=${SPARKPLAN_LAB:-pkg} HOME=$work/home
unset SSH_AUTH_SOCK SPARKPLAN_CLUSTER XDG_STATE_HOME
mkdir "$HOME"
readonly lab_checks=9

ends() { # CODE COMMAND...
  local code=0 expected=$1
  shift
  "$@" || code=$?
  [ "$code" -eq "$expected" ] || { printf 'exit %s, not %s: %s\n' "$code" "$expected" "$*" && return 1; }
}

cluster() { # SOMAXCONN NODE...
  printf 'version: 1\nname: lab\nssh: {user: root}\nsysctl: {net.core.somaxconn: %s}\nlimits: [{domain: "*", item: memlock, value: unlimited}]\n' "$1"
  printf 'profile_env: {HF_HOME: /mnt/models}\nnodes:\n'
  shift
  printf '  - %s\n' "$@"
}

# All files of a tree with their texts, without the agent and what is only sparkplan's.
contents() { (cd "$1" && find etc -type f -print0 | sort -z | xargs -0 sha256sum); }

originals() { # the parts of a manifest that give back a node
  python3 -c 'import json, sys
manifest = json.load(open(sys.argv[1]))
print(json.dumps({id: one["original"] for id, one in sorted(manifest["artifacts"].items())}, indent=1, sort_keys=True))' "$1"
}

directories() {
  local node
  for node in one two; do
    mkdir -p "$work/$node/etc/sysctl.d" "$work/$node/etc/security/limits.d"
    printf '127.0.0.1 localhost\n' >"$work/$node/etc/hosts"
    printf 'net.core.somaxconn = 512\n' >"$work/$node/etc/sysctl.d/10-own.conf"
    contents "$work/$node" >"$work/before-$node"
  done
  in_directories=("{name: one, transport: local, root: $work/one}" "{name: two, transport: local, root: $work/two}")
  cluster 4096 "${in_directories[@]}" >"$work/first.yaml"
  cluster 8192 "${in_directories[@]}" >"$work/second.yaml"
}

is_in_force() { # VALUE
  grep -q "somaxconn *= *$1" "$work"/one/etc/sysctl.d/90-sparkplan.conf && grep -q "somaxconn *= *$1" "$work"/two/etc/sysctl.d/90-sparkplan.conf
}

old_applies() {
  ends 0 "$old" apply --yes "$work/first.yaml" && is_in_force 4096 && originals "$work/one/var/lib/sparkplan/manifest.json" >"$work/originals"
}
new_sees_it() { ends 0 "$new" plan --detailed-exitcode "$work/first.yaml" && ends 0 "$new" drift "$work/first.yaml"; }
new_changes_it() {
  ends 2 "$new" plan --detailed-exitcode "$work/second.yaml" && ends 0 "$new" apply --yes "$work/second.yaml" && is_in_force 8192 &&
    originals "$work/one/var/lib/sparkplan/manifest.json" | diff "$work/originals" - && [ -z "$(find "$work" -name '*.damaged-*')" ]
}
new_finds_drift_of_old() {
  sed -i s/8192/128/ "$work/one/etc/sysctl.d/90-sparkplan.conf" && ends 2 "$new" drift "$work/second.yaml" && ends 0 "$new" apply --yes "$work/second.yaml"
}
old_goes_on() {
  ends 0 "$old" plan --detailed-exitcode "$work/second.yaml" && ends 0 "$old" apply --yes "$work/first.yaml" && is_in_force 4096 &&
    originals "$work/one/var/lib/sparkplan/manifest.json" | diff "$work/originals" - && [ -z "$(find "$work" -name '*.damaged-*')" ]
}
refuses_a_newer_format() { # PROGRAM
  cp "$work/one/var/lib/sparkplan/manifest.json" "$work/manifest"
  sed -i 's/"format_version": *1\b/"format_version": 1000000/' "$work/one/var/lib/sparkplan/manifest.json"
  ! cmp -s "$work/manifest" "$work/one/var/lib/sparkplan/manifest.json" || return
  contents "$work/one" >"$work/at-refusal"
  local output code=0
  output=$("$1" apply --yes "$work/second.yaml" 2>&1) || code=$?
  cp "$work/manifest" "$work/one/var/lib/sparkplan/manifest.json"  # Also if this check fails: the next ones need it.
  printf '%s\n' "$output"
  [ "$code" -ne 0 ] && [[ $(tr -s ' \n' ' ' <<<"$output") == *'format 1000000'* ]] && contents "$work/one" | diff "$work/at-refusal" - &&
    [ -z "$(find "$work/one" -name '*.damaged-*')" ]
}
new_gives_it_back() {
  ends 0 "$new" apply --yes "$work/first.yaml" && ends 0 "$new" release --yes -f "$work/first.yaml" one &&
    contents "$work/one" | diff "$work/before-one" -
}

in_the_lab() { HOME=$("$lab" home) "$lab" controller -- "$@"; }
agent_is() { # PROGRAM: the host has this program's agent, whole, and nothing beside it
  local build
  build=$(readelf -n "$root/usr/local/libexec/sparkplan/agent" | sed -n 's/^ *Build ID: //p')
  "$1" version | grep -cx "agent $(uname -m) $build" >/dev/null && [ "$(find "$root/usr/local/libexec/sparkplan" -type f | wc -l)" -eq 1 ]
}
lab_applies() { # PROGRAM FILE VALUE
  ends 0 in_the_lab "$1" apply --yes "$2" && [ "$(on 1 'sysctl -n net.core.somaxconn')" = "$3" ] && agent_is "$1"
}
lab_continues() { # PROGRAM FILE: without a new agent
  ends 0 in_the_lab "$1" plan --detailed-exitcode "$2" && ends 0 in_the_lab "$1" drift "$2"
}
# The later version also keeps originals of what the earlier one did not record, such as running values.
same_originals() {
  originals "$root/var/lib/sparkplan/manifest.json" | python3 -c 'import json, sys
earlier, later = json.load(open(sys.argv[1])), json.load(sys.stdin)
sys.exit([f"{id} was {value} and is {later.get(id)}" for id, value in earlier.items() if later.get(id) != value] or 0)' "$work/lab-originals"
}
lab_history() { [ "$(find "$root/var/lib/sparkplan/journal" -name '*.jsonl' | wc -l)" -ge 3 ] && ends 0 in_the_lab "$new" history -f "$work/lab2.yaml" spark-01; }
lab_released() {
  ends 0 in_the_lab "$new" release --yes -f "$work/lab1.yaml" spark-01 &&
    [ ! -e "$root/etc/sysctl.d/90-sparkplan.conf" ] && [ ! -e "$root/var/lib/sparkplan" ] && [ ! -e "$root/usr/local/libexec/sparkplan" ]
}

check "the programs are two versions" [ "$("$old" version | sed -n 's/^agent //p')" != "$("$new" version | sed -n 's/^agent //p')" ] || finish
directories
check "directories: the earlier version applies" old_applies || finish
check "directories: the later version finds them in sync" new_sees_it
check "directories: the later version changes them and keeps the originals" new_changes_it
check "directories: the later version finds an edit and repairs it" new_finds_drift_of_old
check "directories: the earlier version continues after a downgrade" old_goes_on
check "directories: the earlier version refuses a newer format and changes nothing" refuses_a_newer_format "$old"
check "directories: the later version refuses a newer format and changes nothing" refuses_a_newer_format "$new"
check "directories: the later version gives a node back as it was" new_gives_it_back

if ! reason=$("$lab" check); then
  skipped=$lab_checks
  printf 'skipped: the checks in the lab: %s\n' "$reason"
  finish
fi
lab_is_ours=yes
check "a host boots" "$lab" up 1 || finish
root=$("$lab" root 1)
cluster 4096 '{name: spark-01, address: 10.77.0.1}' >"$work/lab1.yaml"
cluster 8192 '{name: spark-01, address: 10.77.0.1}' >"$work/lab2.yaml"
check "the earlier version applies, with its agent" lab_applies "$old" "$work/lab1.yaml" 4096 || finish
originals "$root/var/lib/sparkplan/manifest.json" >"$work/lab-originals"
check "the later version plans with the earlier agent" lab_continues "$new" "$work/lab1.yaml"
check "the later version applies and replaces the agent" lab_applies "$new" "$work/lab2.yaml" 8192
check "the originals are those of the earlier version" same_originals
check "the earlier version plans with the later agent" lab_continues "$old" "$work/lab2.yaml"
check "a downgrade replaces the agent as a whole" lab_applies "$old" "$work/lab1.yaml" 4096
check "the runs of both versions are in the history" lab_history
check "the later version gives the host back as it was" lab_released
finish
