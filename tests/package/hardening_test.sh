#!/usr/bin/env bash
# Checks that the built programs are hardened: random load addresses, read-only tables, stacks without executable code.
# Checks that they need nothing that a supported distribution lacks. Also checks that every object file of this project contains the checks of compiler and C library. One line "ok NAME"
# or "not ok NAME" per check; the last line is "N passed, N failed, N skipped".
#
#   tests/package/hardening_test.sh [BUILD]     needs a build with the preset release
# shellcheck disable=SC2317  # functions that "check" calls
set -uo pipefail
build=${1:-$(dirname "$0")/../../build}
export LC_ALL=C
passed=0 failed=0

# check NAME COMMAND...: shows the command's output if it fails.
check() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1 </dev/null); then
    passed=$((passed + 1))
    printf 'ok %s\n' "$name"
    return
  fi
  failed=$((failed + 1))
  printf 'not ok %s\n' "$name"
  printf '%s\n' "$output" | sed 's/^/  | /'
}

# has FILE OPTION PATTERN: readelf's output matches. grep reads the output to its end, because a closed pipe would make
# readelf fail.
has() { readelf "$2" -W "$1" | grep -E -c -- "$3" >/dev/null || { printf '%s: no %s\n' "$1" "$3" && return 1; }; }
lacks() { ! has "$1" "$2" "$3" >/dev/null || { printf '%s: %s\n' "$1" "$3" && return 1; }; }

position_independent() { has "$1" -h 'Type: +DYN' && has "$1" -d 'FLAGS_1.* PIE'; }
read_only_tables() { has "$1" -l 'GNU_RELRO' && has "$1" -d 'BIND_NOW|Flags:.* NOW'; }
no_code_on_the_stack() { has "$1" -l 'GNU_STACK .* RW +0x' && lacks "$1" -l '(LOAD|GNU_STACK) .* (RWE|WE) '; }
static() { lacks "$1" -l 'INTERP' && lacks "$1" -d '\(NEEDED\)'; }
small() { [ "$(stat -c %s "$1")" -le 4400000 ] || { stat -c '%n has %s bytes' "$1" && return 1; }; }

program() { # FILE
  local name=${1#"$build"/}
  check "$name is position-independent" position_independent "$1"
  check "$name has read-only tables" read_only_tables "$1"
  check "$name has no code on its stack, and nothing that is both code and data" no_code_on_the_stack "$1"
}

# Checks each object file of ours: objects of other libraries may lack the mark, and then the whole program lacks it.
every_object_is_marked() { # MARK ARCHIVE...
  local mark=$1 archive objects marked
  shift
  for archive; do
    objects=$(readelf -hW "$archive" | grep -c '^File: ')
    marked=$(readelf -nW "$archive" | grep -c "Properties: .*$mark")
    [ "$objects" -eq "$marked" ] || { printf '%s: %s of %s objects have %s\n' "$archive" "$marked" "$objects" "$mark" && return 1; }
  done
}

calls() { # PATTERN ARCHIVE...: some object asks for such a function
  local pattern=$1
  shift
  readelf -sW "$@" | grep -E -c "UND +$pattern" >/dev/null || { printf 'no object asks for %s\n' "$pattern" && return 1; }
}

objects() { # NAME MARK FOLDER
  local -a archives
  mapfile -t archives < <(find "$3/engine" "$3/resources" -name 'lib*.a' | sort)
  check "$1: there are libraries of ours" [ ${#archives[@]} -gt 5 ]
  check "$1: all of our objects limit where jumps may end ($2)" every_object_is_marked "$2" "${archives[@]}"
  check "$1: the C library checks sizes" calls '__(memcpy|read|snprintf|strncpy|poll|fread|memmove|memset)_chk' "${archives[@]}"
  check "$1: the C++ library checks bounds" calls '_ZSt21__glibcxx_assert_fail' "${archives[@]}"
  check "$1: frames are guarded" calls '__stack_chk_fail' "${archives[@]}"
}

portability=$(dirname "$0")/../../engine/packaging/portability.py
portable() { python3 "$portability" "$1"; }
# cmake is linked with the C++ library of this machine.
unportable_is_refused() {
  local output
  ! output=$(python3 "$portability" "$(command -v cmake)" 2>&1) && [[ $output == *'it needs libstdc++.so.6'*'it needs GLIBCXX'* ]]
}

declare -A marks=([x86_64]='IBT, SHSTK' [aarch64]='BTI, PAC')
own=$(uname -m)
program "$build/bin/sparkplan"
check "a program with the C++ library of this machine is not taken for portable" unportable_is_refused
check "bin/sparkplan runs on every supported distribution" portable "$build/bin/sparkplan"
for folder in "$build" "$build"/agent-*; do
  [ -s "$folder/bin/sparkplan-agent.stripped" ] || continue
  architecture=$own
  [ "$folder" = "$build" ] || architecture=${folder##*/agent-}
  program "$folder/bin/sparkplan-agent.stripped"
  check "the agent for $architecture needs nothing of a node" static "$folder/bin/sparkplan-agent.stripped"
  check "the agent for $architecture is small" small "$folder/bin/sparkplan-agent.stripped"
  program "$folder/bin/sparkplan-nccl.stripped"
  check "the rank for $architecture runs on every supported distribution" portable "$folder/bin/sparkplan-nccl.stripped"
  program "$folder/bin/sparkplan-job.stripped"
  objects "$architecture" "${marks[$architecture]}" "$folder"
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
