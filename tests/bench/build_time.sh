#!/usr/bin/env bash
# Measures how long the project takes to build, without a compiler cache. Prints one line per measurement, with the
# processor seconds of all compilers and linkers (which another load on the machine changes little) and the elapsed ones.
#
#   tests/bench/build_time.sh [all] [demo] [one] [-D OPTION=VALUE...]
#     all    sparkplan with both agents, from nothing
#     demo   what examples/demo.sh builds: sparkplan with the agent of this machine, hardly optimised
#     one    after "all" or "demo": a change of one file of the resource type sysctl
# Options go to CMake; -D SPARKPLAN_UNITY=OFF shows what compiling each file alone costs. Default: all one.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CCACHE_DISABLE=1 LC_ALL=C
parts=() options=()
while (($# > 0)); do
  case $1 in
    all | demo | one) parts+=("$1") ;;
    -D) options+=(-D "$2") && shift ;;
    -D*) options+=("$1") ;;
    *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2 && exit 1 ;;
  esac
  shift
done
((${#parts[@]} > 0)) || parts=(all one)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() { # WHAT COMMAND...
  local what=$1 TIMEFORMAT='%U %S %R' user system elapsed
  shift
  { read -r user system elapsed < <({ time "$@" >>"$folder/log" 2>&1; } 2>&1 | tail -n 1); } || true
  [ ! -e "$folder/failed" ] || { tail -n 30 "$folder/log" >&2 && exit 1; }
  awk -v what="$what" -v cpu="$(awk "BEGIN {print $user + $system}")" -v elapsed="$elapsed" \
    'BEGIN {printf "%-46s %7.1f s of processor time, %7.1f s elapsed\n", what, cpu, elapsed}'
}

build() { cmake --build "$folder/build" --target sparkplan || touch "$folder/failed"; }

configure() { # PRESET ARCHITECTURES
  rm -rf "$folder/build"
  cmake --preset "$1" -B "$folder/build" -D SPARKPLAN_BUILD_TESTS=OFF -D "SPARKPLAN_AGENT_ARCHITECTURES=$2" \
    "${options[@]}" >>"$folder/log" 2>&1 || { tail -n 30 "$folder/log" >&2 && exit 1; }
}

printf '%s, %s processors, %s %s\n' "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(c++ --version | head -n 1)" "${options[*]}"
changed=resources/sysctl/sysctl.cc
for part in "${parts[@]}"; do
  case $part in
    all) configure release 'x86_64;aarch64' && measure "everything, with both agents" build ;;
    demo) configure quick "$(uname -m)" && measure "for the demo, with one agent" build ;;
    one)
      [ -d "$folder/build" ] || { configure release "$(uname -m)" && build >>"$folder/log" 2>&1; }
      # The file's time changes and its text stays: without a cache it is compiled again.
      touch "$changed"
      measure "after a change of $changed" build
      ;;
  esac
done
