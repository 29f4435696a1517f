#!/usr/bin/env bash
# Builds the fuzz targets and runs each on its corpus and on inputs made from it. The last line is "N passed, N failed,
# N skipped", counted in targets; the exit status is 0 only if no target failed.
#
#   fuzz.sh                       a short run, the same each time: about a minute
#   fuzz.sh --seconds N           each target for N seconds, with another seed each time
#   fuzz.sh --runs N              each target N times, with another seed each time
#   fuzz.sh ... TARGET...         only these: wire text node file plan run agent (default: all)
#   fuzz.sh --merge TARGET...     adds inputs from build/fuzz/found to the corpus if they reach new code
# Inputs that make a target fail are kept in build/fuzz/failures. The commit that fixes the failure adds the input to
# the corpus.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

readonly built=build/fuzz
# Executions of a short run, by target. Targets that start threads or write files are slower and run fewer.
declare -rA short=([wire]=20000 [text]=30000 [node]=2500 [file]=1500 [plan]=2000 [run]=800 [agent]=800)
# Maximum size of an input in bytes.
declare -rA longest=([wire]=8192 [text]=8192 [node]=512 [file]=8192 [plan]=512 [run]=1024 [agent]=1024)
readonly bound=60 # seconds for a target of a short run

seconds='' runs='' merge=no
targets=()
while (($# > 0)); do
  case $1 in
    --seconds) seconds=${2:?} && shift ;;
    --runs) runs=${2:?} && shift ;;
    --merge) merge=yes ;;
    wire | text | node | file | plan | run | agent) targets+=("$1") ;;
    *)
      echo "usage: ${0##*/} [--seconds N | --runs N | --merge] [wire text node file plan run agent]" >&2
      exit 1
      ;;
  esac
  shift
done
((${#targets[@]} > 0)) || targets=(wire text node file plan run agent)

passed=0 failed=0 skipped=0 total=0
finish() {
  printf '%d executions\n%d passed, %d failed, %d skipped\n' "$total" "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}
skip_all() {
  skipped=${#targets[@]}
  printf 'SKIPPED: %d (%s)\n' "$skipped" "$1"
  finish
}

build() {
  cmake --preset fuzz >"$built-configure.log" 2>&1 && cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}" >"$built-build.log" 2>&1 && return
  tail -n 40 "$built-configure.log" "$built-build.log"
  failed=${#targets[@]}
  finish
}

# Writes the first lines that inputs of a target may begin with, unless its corpus has them.
seeds() { # TARGET DIRECTORY
  local folder name
  mkdir -p "$2"
  case $1 in
    wire)
      # An empty object is a whole message only of some decoders. The corpus has longer ones.
      while read -r name; do
        printf '%s\n{}' "$name" >"$2/$name"
      done < <(grep -oh '{"[a-z_]*", by(' tests/fuzz/fuzz_wire.cc | cut -d '"' -f 2)
      ;;
    text)
      # The names of the readers.
      while read -r name; do
        printf '%s\n' "$name" >"$2/$name"
      done < <(grep -oh '{"[a-z_]*", read_' tests/fuzz/text_readers.cc tests/fuzz/node_file_readers.cc | cut -d '"' -f 2)
      ;;
    node | plan | run | agent)
      for folder in resources/*/cases/*/; do
        name=${folder#resources/} name=${name/cases\//} name=${name%/}
        printf '%s\n' "$name" >"$2/${name//\//-}"
      done
      ;;
    file)
      for folder in examples/*.yaml resources/*/cases/*/cluster.yaml; do
        { echo cluster && cat "$folder"; } >"$2/${folder//\//-}"
      done
      ;;
  esac
}

run_target() { # TARGET
  local target=$1 status=0 log=$built/$1.log new=$built/found/$1 # New inputs are written to build/fuzz/found; the
                                                                 # corpus does not change.
  local kept=tests/fuzz/corpus/$target options
  local corpus=("$kept" "$built/seeds/$target")
  mkdir -p "$new" "$built/failures" "${corpus[1]}"
  [ -d "${corpus[0]}" ] || corpus=("${corpus[1]}")
  seeds "$target" "$built/seeds/$target"
  if [ "$merge" = yes ]; then
    mkdir -p "$kept"
    "$built/tests/fuzz_$target" -merge=1 -timeout=10 -rss_limit_mb=1024 "$kept" "$built/seeds/$target" "$new" >"$log" 2>&1
    return
  fi
  options=(-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -max_len="${longest[$target]}" -artifact_prefix="$built/failures/$target-" -print_final_stats=1)
  [ ! -f "tests/fuzz/$target.dict" ] || options+=(-dict="tests/fuzz/$target.dict")
  if [ -n "$seconds" ]; then
    options+=(-max_total_time="$seconds")
  elif [ -n "$runs" ]; then
    options+=(-runs="$runs")
  else
    new=$built/short/$target
    rm -rf "$new" && mkdir -p "$new"
    options+=(-runs="${short[$target]}" -max_total_time="$bound" -seed=1)
  fi
  # Leak detection stays off: it needs ptrace, which is not available everywhere.
  ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32 UBSAN_OPTIONS=print_stacktrace=1 "$built/tests/fuzz_$target" "${options[@]}" "$new" "${corpus[@]}" >"$log" 2>&1 || status=$?
  local executions
  executions=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)$/\1/p' "$log" | tail -n 1)
  total=$((total + ${executions:-0}))
  if [ "$status" -eq 0 ]; then
    passed=$((passed + 1))
    printf '%-6s %9s executions\n' "$target" "${executions:-0}"
  else
    failed=$((failed + 1))
    grep -E 'ERROR|SUMMARY|PROPERTY|runtime error|Test unit written|#[0-9]+ .* in sparkplan' "$log" | head -n 40
    printf 'FAILED: %s (%s)\n' "$target" "$log"
  fi
}

command -v clang++ >/dev/null || skip_all "there is no clang++"
command -v ld.lld >/dev/null || skip_all "there is no lld"
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
  clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null || skip_all "clang++ has no libFuzzer"
mkdir -p build
build
for target in "${targets[@]}"; do run_target "$target"; done
finish
