#!/usr/bin/env bash
# Installs missing packages, builds, and runs every test and check. The last line is "N passed, N failed, N skipped";
# the exit status is 0 only if no check failed.
#
#   tests/run.sh              all parts except those that the last lines name
#   tests/run.sh unit         one or more of: unit sanitizers fuzz lint integration reliability hostile package vm vm-storage demo tidy
#   tests/run.sh --full ...   reliability and hostile with all their cases (hours) instead of a few; fuzz for ten minutes
#                             a target instead of some seconds
# Some parts run only on request, because each takes long: vm (the profile and RDMA on virtual machines), vm-storage (NVMe
# over TCP and a sync on two of them), tidy (clang-tidy over all files), sanitizers (the unit tests built with AddressSanitizer and
# UBSan). The same holds for all fuzz targets except wire, because they need a build of nearly all code with clang and the
# sanitizers. package tests an upgrade if SPARKPLAN_EARLIER names a program of an earlier version. Without a list of
# parts, hostile sends an eighth of the false fields; the commit decides which one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

full=()
if [ "${1:-}" = --full ]; then
  full=(--full)
  shift
fi
parts=("$@")
fuzz_targets=() hostile_share=()
if [ ${#parts[@]} -eq 0 ]; then
  parts=(unit fuzz lint integration reliability hostile package demo)
  fuzz_targets=(wire)
  commit=$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0)
  [ ${#full[@]} -gt 0 ] || hostile_share=(--share $((16#$commit % 8 + 1))/8)
fi
results=build/test-results
passed=0 failed=0 skipped=0
export SPARKPLAN_LAB=tests SPARKPLAN_VM=tests

say() { printf '\n== %s (after %d min %02d s)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}
skip() { # COUNT REASON
  skipped=$((skipped + $1))
  printf 'SKIPPED: %s (%s)\n' "$1" "$2"
}
finish() {
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit
}

# Counts the test cases of a JUnit file; a case with several failures counts once.
count_junit() {
  local file=$1 ok bad left
  [ -s "$file" ] || {
    fail "$file was not written: the tests did not run to their end"
    return
  }
  read -r ok bad left < <(awk '
    /<testcase / {cases++; counted = 0}
    /<(failure|error)[ >\/]/ && !counted {failures++; counted = 1}
    /<skipped/ && !counted {skipped++; counted = 1}
    END {print cases - failures - skipped, failures + 0, skipped + 0}' "$file")
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
}

build() { # PRESET
  cmake --preset "$1" >"$results/configure-$1.log" 2>&1 && cmake --build --preset "$1" >"$results/build-$1.log" 2>&1 && return
  tail -n 40 "$results/configure-$1.log" "$results/build-$1.log"
  fail "build with preset $1"
  finish
}

run_unit_tests() { # PRESET
  local directory=build
  [ "$1" = release ] || directory=build/$1
  rm -f "$results/unit-$1.xml"
  ctest --test-dir "$directory" -j2 --timeout 600 --output-on-failure --output-junit "$PWD/$results/unit-$1.xml" --no-tests=error |
    grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)'
  count_junit "$results/unit-$1.xml"
}

run_lint() {
  say "clang-format"
  if git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror; then pass; else fail clang-format; fi
  say "shellcheck"
  if git ls-files '*.sh' '*.bash' .ci/run | xargs shellcheck; then pass; else fail shellcheck; fi
}

run_tidy() {
  # One file per process; files that passed with the same tool, flags and sources are skipped.
  if tests/clang-tidy.sh build; then pass; else fail clang-tidy; fi
}

count_cases() { # TAG...
  build/tests/integration_test --list-test-names-only "$@" | grep -c .
}

labs_down() {
  tests/lab/lab.sh down
  SPARKPLAN_LAB=a$SPARKPLAN_LAB tests/lab/lab.sh down
  SPARKPLAN_LAB=n$SPARKPLAN_LAB tests/lab/lab.sh down
  SPARKPLAN_LAB=j$SPARKPLAN_LAB tests/lab/lab.sh down
  SPARKPLAN_LAB=c$SPARKPLAN_LAB tests/lab/lab.sh down
}

# Prints the reason why aarch64 cannot be tested here.
no_aarch64() {
  local agents
  agents=$(build/bin/sparkplan version)
  [[ $agents == *"agent aarch64 "* ]] || { echo "this build carries no agent for aarch64" && return; }
  ! tests/lab/lab.sh check --arch aarch64
}

# Cases on hosts of their own: another architecture, renderer or more software.
special=(aarch64 networkmanager jobs containers)
special_process=

# Prints the reason why the cases of TAG cannot run here.
why_not() { # TAG
  case $1 in
    aarch64) no_aarch64 ;;
    networkmanager) ! tests/lab/lab.sh check --renderer NetworkManager ;;
    *) ! tests/lab/lab.sh check --software "$1" ;;
  esac
}

# Starts the cases on special hosts beside the parts that follow, which leave the machine idle at times.
start_special() {
  local tag reason tests=''
  tests/lab/lab.sh check >/dev/null || return
  for tag in "${special[@]}"; do
    if reason=$(why_not "$tag"); then skip "$(count_cases "[$tag]")" "$reason"; else tests+="${tests:+,}[$tag]"; fi
  done
  [ -n "$tests" ] || return
  rm -f "$results/integration-special.xml"
  trap end_special EXIT
  build/tests/integration_test --reporter junit --out "$results/integration-special.xml" "$tests" &
  special_process=$!
}

# shellcheck disable=SC2317  # the trap calls it
end_special() {
  [ -z "$special_process" ] || kill "$special_process" 2>/dev/null
  wait "$special_process" 2>/dev/null
  labs_down
}

show_failures() { # JUNIT
  grep -B1 -A12 '<\(failure\|error\) ' "$1" | head -n 200
  count_junit "$1"
}

run_integration() {
  local reason tests=() tag
  if ! reason=$(tests/lab/lab.sh check); then
    skip "$(count_cases)" "$reason"
    return
  fi
  for tag in "${special[@]}"; do tests+=("~[$tag]"); done
  rm -f "$results/integration.xml"
  if [ -n "$special_process" ]; then
    wait "$special_process"
    special_process=
    show_failures "$results/integration-special.xml"
  fi
  trap labs_down EXIT
  build/tests/integration_test --reporter junit --out "$results/integration.xml" "${tests[@]}"
  labs_down
  trap - EXIT
  show_failures "$results/integration.xml"
}

# Runs a test that prints its own counts in its last line.
run_script() { # LOG TEST [ARGUMENT...]
  local log=$1 ok bad left
  shift
  "$@" | tee "$log"
  if read -r ok bad left < <(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$log"); then
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
  else
    fail "$1 did not run to its end"
  fi
}

run_demo() {
  local log=$results/demo.log
  if bash examples/demo.sh >"$log" 2>&1; then pass; else
    tail -n 60 "$log"
    fail "examples/demo.sh"
  fi
}

wanted() {
  local part
  for part in "${parts[@]}"; do [ "$part" = "$1" ] && return 0; done
  return 1
}

mkdir -p "$results"
say "dependencies"
groups=(build cross lab)
wanted integration && groups+=(arm)
{ wanted vm || wanted vm-storage; } && groups+=(vm)
wanted hostile && groups+=(hostile)
wanted package && groups+=(package)
{ wanted unit || wanted sanitizers; } && groups+=(reference)
{ wanted lint || wanted tidy; } && groups+=(lint)
wanted fuzz && groups+=(fuzz)
tests/install-dependencies.sh "${groups[@]}" || {
  fail "dependencies are missing"
  finish
}
say "build"
build release
if wanted integration; then start_special; fi
if wanted unit; then
  say "unit tests"
  run_unit_tests release
fi
if wanted sanitizers; then
  say "unit tests with AddressSanitizer and UndefinedBehaviorSanitizer"
  build asan
  run_unit_tests asan
fi
if wanted fuzz; then
  say "fuzz targets"
  fuzz_for=()
  [ ${#full[@]} -eq 0 ] || fuzz_for=(--seconds 600) fuzz_targets=()
  run_script "$results/fuzz.log" tests/fuzz/fuzz.sh "${fuzz_for[@]}" "${fuzz_targets[@]}"
fi
if wanted lint; then run_lint; fi
if wanted tidy; then
  say "clang-tidy"
  run_tidy
fi
if wanted integration; then
  say "integration tests in the lab"
  run_integration
fi
if wanted reliability; then
  say "what is left when a run is killed, cut or obstructed"
  run_script "$results/reliability.log" tests/reliability/reliability.py "${full[@]}"
fi
if wanted hostile; then
  say "a node that lies, floods, stalls and breaks off"
  run_script "$results/hostile.log" tests/hostile/hostile.py "${full[@]}" "${hostile_share[@]}"
fi
if wanted package; then
  say "the hardening of what was built"
  run_script "$results/hardening.log" tests/package/hardening_test.sh
  say "the Debian package"
  run_script "$results/package.log" tests/package/package_test.sh
  if [ -n "${SPARKPLAN_EARLIER:-}" ]; then
    say "an upgrade from $SPARKPLAN_EARLIER, and back"
    run_script "$results/upgrade.log" tests/package/upgrade_test.sh "$SPARKPLAN_EARLIER"
  fi
fi
if wanted vm; then
  say "the profile dgx-spark on virtual machines"
  run_script "$results/vm.log" tests/vm/profile_test.sh
  say "RDMA on virtual machines"
  run_script "$results/vm-rdma.log" tests/vm/rdma_test.sh
fi
if wanted vm-storage; then
  say "NVMe over TCP and mounts on virtual machines"
  run_script "$results/vm-storage.log" tests/vm/storage_test.sh
  say "a sync to and from disks that are full or give errors"
  run_script "$results/vm-sync.log" tests/vm/sync_test.sh
fi
if wanted demo; then
  say "the demo of README"
  run_demo
fi
finish
