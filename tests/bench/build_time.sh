#!/usr/bin/env bash
# Measures how long the project takes to build, without a compiler cache, and what comes out. Prints one line per
# measurement, with the processor seconds of all compilers and linkers (which another load on the machine changes little)
# and the elapsed ones.
#
#   tests/bench/build_time.sh [--at COMMIT] [PART...] [-D OPTION=VALUE...]     default parts: all one
#     all    sparkplan with both agents, from nothing
#     tests  the tests, after "all"
#     demo   what examples/demo.sh builds: sparkplan with the agent of this machine, hardly optimised
#     one    after "all" or "demo": a change of one file of the resource type sysctl
#     sizes  after "all" or "demo": the size of each program for nodes
#     cases  after "tests": the number of unit tests
#     lines  the lines of the units of sparkplan after the preprocessor, and how many of them are this project's
#     table  what each way to save time saves, as a table for docs/building.md: about ten builds
# Options go to CMake; -D SPARKPLAN_UNITY=OFF shows what compiling each file alone costs. --at measures the sources of
# another commit, for a comparison of versions.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CCACHE_DISABLE=1 LC_ALL=C
parts=() options=() commit=''
while (($# > 0)); do
  case $1 in
    all | tests | demo | one | sizes | cases | lines | table) parts+=("$1") ;;
    --at) commit=${2:?} && shift ;;
    -D) options+=(-D "${2:?}") && shift ;;
    -D*) options+=("$1") ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2 && exit 1 ;;
  esac
  shift
done
((${#parts[@]} > 0)) || parts=(all one)
scripts=$PWD/tests/bench source=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -n "$commit" ]; then
  source=$folder/source
  mkdir "$source"
  git archive "$commit" | tar -x -C "$source"
fi
readonly scripts source folder changed=resources/sysctl/sysctl.cc
readonly both='x86_64;aarch64' debugging='CMAKE_CXX_FLAGS_RELWITHDEBINFO=-Os -g1 -DNDEBUG'

fail() {
  tail -n 30 "$folder/log" >&2
  exit 1
}

# Sets `cpu` and `elapsed`, in seconds.
time_of() { # COMMAND...
  local TIMEFORMAT='%U %S %R' user system
  { read -r user system elapsed < <({ time "$@" >>"$folder/log" 2>&1; } 2>&1 | tail -n 1); } || true
  [ ! -e "$folder/failed" ] || fail
  cpu=$(awk "BEGIN {print $user + $system}")
}

measure() { # WHAT COMMAND...
  time_of "${@:2}"
  printf '%-46s %7.1f s of processor time, %7.1f s elapsed\n' "$1" "$cpu" "$elapsed"
}

build() { cmake --build "$folder/build" --target "$1" || touch "$folder/failed"; } # TARGET

configure() { # PRESET ARCHITECTURES [OPTION...]
  rm -rf "$folder/build"
  cmake -S "$source" --preset "$1" -B "$folder/build" -D SPARKPLAN_BUILD_TESTS=OFF -D "SPARKPLAN_AGENT_ARCHITECTURES=$2" \
    "${options[@]}" "${@:3}" >>"$folder/log" 2>&1 || fail
}

# Earlier versions had no preset for the demo: it built all agents that it could.
configure_demo() {
  if grep -q '"quick"' "$source/CMakePresets.json"; then configure quick "$(uname -m)"; else configure release ''; fi
}

need_build() { [ -e "$folder/build/bin/sparkplan" ] || { configure release "$(uname -m)" && build sparkplan >>"$folder/log" 2>&1; }; }

measure_tests() {
  need_build
  cmake -B "$folder/build" -S "$source" -D SPARKPLAN_BUILD_TESTS=ON >>"$folder/log" 2>&1 || fail
  measure "the tests" build all
}

# The file's time changes and its text stays: without a cache it is compiled again.
touch_one() { touch "$source/$changed"; }

print_sizes() {
  need_build
  local file
  for file in "$folder"/build/bin/*.stripped "$folder"/build/agent-*/bin/*.stripped; do
    [ ! -e "$file" ] || printf '%-46s %10s bytes\n' "${file#"$folder"/build/}" "$(stat -c %s "$file")"
  done
}

# A row of the table: the processor seconds of a build of TARGET with other options, and with those of the preset.
row() { # CAUSE CHANGE TARGET OPTION...
  local before
  configure release "$both" "${@:4}" -D SPARKPLAN_BUILD_TESTS=ON
  [ "$3" = sparkplan ] || build sparkplan >>"$folder/log" 2>&1
  time_of build "$3"
  before=$cpu
  configure release "$both" -D SPARKPLAN_BUILD_TESTS=ON
  [ "$3" = sparkplan ] || build sparkplan >>"$folder/log" 2>&1
  time_of build "$3"
  printf '| %s | %s | %.0f s | %.0f s |\n' "$1" "$2" "$before" "$cpu"
}

print_table() {
  local before
  printf '| cause | change | before | after |\n|---|---|---|---|\n'
  row "each source reads the same headers" "several sources are one unit" sparkplan -D SPARKPLAN_UNITY=OFF
  row "debugging information of templates" "none in the preset release" sparkplan -D "$debugging"
  row "each test reads the headers of Catch2 and JSON" "compiled once, for all tests" all -D SPARKPLAN_PRECOMPILE=OFF
  configure release "$both"
  time_of build sparkplan
  before=$cpu
  configure_demo
  time_of build sparkplan
  printf '| %s | %s | %.0f s | %.0f s |\n' "the rooms of the agent are compiled for both architectures, and optimised" \
    "the demo builds one agent, with -Og" "$before" "$cpu"
}

printf '%s, %s processors, %s %s %s\n' "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(c++ --version | head -n 1)" "$commit" "${options[*]}"
for part in "${parts[@]}"; do
  case $part in
    all) configure release "$both" && measure "everything, with both agents" build sparkplan ;;
    tests) measure_tests ;;
    demo) configure_demo && measure "for the demo" build sparkplan ;;
    one) need_build && touch_one && measure "after a change of $changed" build sparkplan ;;
    sizes) print_sizes ;;
    cases) printf '%-46s %10s\n' "unit tests" "$(ctest --test-dir "$folder/build" -N | sed -n 's/^Total Tests: //p')" ;;
    lines)
      [ -e "$folder/build/compile_commands.json" ] || configure release "$(uname -m)"
      python3 "$scripts/preprocessed_lines.py" "$folder/build" "$source"
      ;;
    table) print_table ;;
  esac
done
