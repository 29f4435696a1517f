#!/usr/bin/env bash
# Installs missing packages, builds, and runs every test and check. The last line is "N passed, N failed, N skipped";
# the exit status is 0 only if no check failed.
#
#   tests/run.sh              all parts except those that the last lines name
#   tests/run.sh unit         one or more of: unit sanitizers fuzz lint integration reliability hostile package vm vm-storage demo page tidy
#   tests/run.sh --full       all parts except tidy, with all their cases (hours): also sanitizers, vm, vm-storage, page
#   tests/run.sh --full ...   these parts with all their cases: all of reliability and hostile instead of a few, ten
#                             minutes for each fuzz target instead of some seconds, package also with the other
#                             architecture and with an upgrade from version 0.1.0, each after a build of its own
# Without --full some parts run only on request, because each takes long: vm (the profile and RDMA on virtual machines),
# vm-storage (NVMe over TCP and a sync on two of them), sanitizers (all unit tests built with AddressSanitizer and UBSan).
# The same holds for all fuzz targets except wire and text, because they need a build of nearly all code with clang and
# the sanitizers. page (the HTML pages in a browser) needs chromium and npm. tidy (clang-tidy over all files) always
# runs on request only. package tests an upgrade also if SPARKPLAN_EARLIER names a program of an earlier version. Without
# a list of parts, hostile sends a twelfth of the false fields and claims of started programs, and reliability tries 28 of
# its points; the commit decides which ones.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

full=()
if [ "${1:-}" = --full ]; then
  full=(--full)
  shift
fi
parts=("$@")
fuzz_targets=() hostile_share=() points=() fuzzing='' linting='' lying='' packaging=''
if [ ${#parts[@]} -eq 0 ]; then
  parts=(unit fuzz lint integration reliability hostile package demo)
  if [ ${#full[@]} -gt 0 ]; then
    parts+=(sanitizers vm vm-storage page)
  else
    fuzz_targets=(wire text)
    commit=$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0)
    hostile_share=(--share $((16#$commit % 12 + 1))/12)
    points=(--first-point $((16#$commit % 1000)))
  fi
fi
results=build/test-results
passed=0 failed=0 skipped=0
export SPARKPLAN_LAB=tests SPARKPLAN_VM=tests
# The labs of the integration tests. Cases on special hosts boot labs named after the first one.
integration_labs=("$SPARKPLAN_LAB" {u,v,w,x}tests)

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

# Counts the test cases of a JUnit file; a case with several failures counts once. A case that finds out by itself that
# it cannot run here says so on standard error.
count_junit() {
  local file=$1 ok bad left
  [ -s "$file" ] || {
    fail "$file was not written: the tests did not run to their end"
    return
  }
  read -r ok bad left < <(awk '
    /<testcase / {cases++; counted = 0}
    /<(failure|error)[ >\/]/ && !counted {failures++; counted = 1}
    /<system-err>/ {errors = 1}
    (/<skipped/ || (errors && /SKIPPED: /)) && !counted {skipped++; counted = 1}
    /<\/system-err>/ {errors = 0}
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
  # Many cases wait for deadlines, so twice as many as there are processors keep these busy.
  ctest --test-dir "$directory" -j "$(($(nproc) * 2))" --timeout 600 --output-on-failure --output-junit "$PWD/$results/unit-$1.xml" --no-tests=error |
    grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)'
  count_junit "$results/unit-$1.xml"
}

run_tidy() {
  # One file per process; files that passed with the same tool, flags and sources are skipped.
  if tests/clang-tidy.sh build; then pass; else fail clang-tidy; fi
}

count_cases() { # TAG...
  build/tests/integration_test --list-test-names-only "$@" | grep -c .
}

labs_down() {
  local lab
  for lab in "${integration_labs[@]}" {a,n,j,c,d,p}"$SPARKPLAN_LAB"; do
    SPARKPLAN_LAB=$lab tests/lab/lab.sh down
  done
}

# Prints the reason why aarch64 cannot be tested here.
no_aarch64() {
  local agents
  agents=$(build/bin/sparkplan version)
  [[ $agents == *"agent aarch64 "* ]] || { echo "this build carries no agent for aarch64" && return; }
  ! tests/lab/lab.sh check --arch aarch64
}

# Cases on hosts of their own: another architecture, renderer or more software. Two programs share them.
special=(aarch64 networkmanager jobs containers docker)
halves_of_special=('aarch64 networkmanager' 'jobs containers docker')

# Sets `options` to those of lab.sh for the hosts of TAG, or for hosts of a release.
set_options() { # TAG
  case $1 in
    '') options=() ;;
    trixie) options=(--release "$1") ;;
    aarch64) options=(--arch aarch64) ;;
    networkmanager) options=(--renderer NetworkManager) ;;
    *) options=(--software "$1") ;;
  esac
}

# Prints the reason why the cases of TAG cannot run here.
why_not() { # TAG
  local options
  set_options "$1"
  if [ "$1" = aarch64 ]; then no_aarch64; else ! tests/lab/lab.sh check "${options[@]}"; fi
}

# Processes in the background: integration tests, or prepare_hosts. trap stop_integration ends them and their labs.
running=()

# Makes the root file systems of hosts, which mostly waits for packages. Each `up` makes what is missing.
prepare_hosts() { # TAG...
  local tag options maker
  trap 'kill "$maker" 2>/dev/null; wait "$maker"; exit' TERM
  for tag in "$@"; do
    set_options "$tag"
    tests/lab/lab.sh prepare "${options[@]}" &
    maker=$!
    wait "$maker"
  done
}

start_preparing_hosts() {
  local -a kinds=('' "${special[@]}")
  tests/lab/lab.sh check >/dev/null || return
  ! wanted package || kinds+=(trixie)
  trap stop_integration EXIT
  prepare_hosts "${kinds[@]}" >"$results/hosts.log" 2>&1 &
  running+=($!)
}

# Runs cases in a lab in the background. Bash makes background programs ignore SIGINT, and cases send that to sparkplan.
start_cases() { # LAB JUNIT [ARGUMENT...]
  rm -f "$2"
  trap stop_integration EXIT
  env --default-signal=INT,QUIT SPARKPLAN_LAB="$1" \
    build/tests/integration_test --reporter junit --out "$2" "${@:3}" &
  running+=($!)
}

wait_for_running() {
  [ ${#running[@]} -eq 0 ] || wait "${running[@]}"
  running=()
}

# Process groups in the background: the fuzz targets, the linters, the false nodes and the Debian package.
declare -A beside=()

start_beside() { # LOG COMMAND...
  trap stop_integration EXIT
  setsid "${@:2}" >"$1" 2>&1 &
  beside[$!]=1
}

# Starts them beside the parts that follow: hosts that boot and wait leave the processors idle at times. Where the
# kernel schedules by session, nice counts within a session only, and the file autogroup has the priority of this one.
start_fuzz() {
  # shellcheck disable=SC2016  # the new shell expands it
  start_beside "$results/fuzz.log" bash -c '{ echo 10 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 10 "$@"' fuzz \
    tests/fuzz/fuzz.sh "${fuzz_for[@]}" "${fuzz_targets[@]}"
  fuzzing=$!
}

start_lint() {
  start_beside "$results/lint.log" tests/lint.sh
  linting=$!
}

# The false nodes are threads of this program, which use no lab.
start_hostile() {
  start_beside "$results/hostile-beside.log" env --default-signal=INT,QUIT \
    tests/hostile/hostile.py "${full[@]}" "${hostile_share[@]}"
  lying=$!
}

start_package() {
  start_beside "$results/package-beside.log" env SPARKPLAN_LAB="p$SPARKPLAN_LAB" tests/package/package_test.sh
  packaging=$!
}

show_beside() { # PID LOG
  wait "$1"
  unset "beside[$1]"
  run_script "$2.shown" cat "$2"
}

# shellcheck disable=SC2317  # the trap calls it
stop_integration() {
  local group
  for group in "${!beside[@]}"; do kill -- "-$group" 2>/dev/null; done
  [ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2>/dev/null
  wait_for_running 2>/dev/null
  labs_down
}

special_results=()

# Starts the cases on special hosts beside the parts that follow, which leave the machine idle at times.
start_special() {
  local half tag reason tests
  tests/lab/lab.sh check >/dev/null || return
  for half in "${!halves_of_special[@]}"; do
    tests=''
    for tag in ${halves_of_special[half]}; do
      if reason=$(why_not "$tag"); then skip "$(count_cases "[$tag]")" "$reason"; else tests+="${tests:+,}[$tag]"; fi
    done
    [ -n "$tests" ] || continue
    special_results+=("$results/integration-special-$half.xml")
    start_cases "$SPARKPLAN_LAB" "${special_results[-1]}" "$tests"
  done
}

show_failures() { # JUNIT
  grep -B1 -A12 '<\(failure\|error\) ' "$1" | head -n 200
  grep -o 'SKIPPED: .*' "$1"
  count_junit "$1"
}

# Folders and files of the first labs; the last lab has all others. Each lab takes about as long. More labs than these
# overload two processors, and honest nodes miss deadlines. A file is a tag of its cases under --filenames-as-tags, so
# each case is in exactly one lab.
cases_of_labs=(
  'cluster/examples_test cluster/profile_test cluster/guides_test cluster/init_test'
  'checks/verify_nccl_test checks/verify_test checks/doctor_test'
  'network drift'
  'jobs connection checks/verify_gpu_test'
)

run_integration() {
  local reason entry file tag base='' cases others number=0 shown
  local -a entries files
  if ! reason=$(tests/lab/lab.sh check); then
    skip "$(count_cases)" "$reason"
    return
  fi
  for tag in "${special[@]}"; do base+="~[$tag]"; done
  others=$base
  for number in "${!cases_of_labs[@]}"; do
    read -ra entries <<<"${cases_of_labs[number]}"
    cases=''
    for entry in "${entries[@]}"; do
      files=("tests/integration/$entry.cc")
      [ -f "${files[0]}" ] || files=("tests/integration/$entry"/*_test.cc)
      for file in "${files[@]}"; do
        tag="[#$(basename "$file" .cc)]"
        cases+="${cases:+,}$tag$base" others+="~$tag"
      done
    done
    start_cases "${integration_labs[number]}" "$results/integration-$number.xml" --filenames-as-tags "$cases"
  done
  number=${#cases_of_labs[@]}
  start_cases "${integration_labs[number]}" "$results/integration-$number.xml" --filenames-as-tags "$others"
  wait_for_running
  labs_down
  for shown in "${special_results[@]}"; do show_failures "$shown"; done
  for number in "${!integration_labs[@]}"; do show_failures "$results/integration-$number.xml"; done
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

# From the program that SPARKPLAN_EARLIER names. With --full from version 0.1.0 otherwise, which takes a build of its own.
run_upgrade() {
  local earlier=${SPARKPLAN_EARLIER:-} status=0
  [ -n "$earlier" ] || [ ${#full[@]} -gt 0 ] || return 0
  say "an upgrade from ${earlier:-version 0.1.0}, and back"
  if [ -z "$earlier" ]; then
    earlier=$(tests/package/earlier.sh) || status=$?
    [ "$status" -ne 2 ] || { skip 1 "$earlier" && return; }
    [ "$status" -eq 0 ] || { fail "$earlier" && return; }
  fi
  run_script "$results/upgrade.log" tests/package/upgrade_test.sh "$earlier"
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
wanted package && [ ${#full[@]} -gt 0 ] && groups+=(cross-controller arm)
{ wanted unit || wanted sanitizers; } && groups+=(reference)
{ wanted lint || wanted tidy; } && groups+=(lint)
wanted fuzz && groups+=(fuzz)
tests/install-dependencies.sh "${groups[@]}" || {
  fail "dependencies are missing"
  finish
}
if wanted integration; then start_preparing_hosts; fi
say "build"
build release
wait_for_running
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
  fuzz_for=()
  [ ${#full[@]} -eq 0 ] || fuzz_for=(--seconds 600)
  start_fuzz
fi
if wanted lint; then
  if wanted integration; then start_lint; else
    say "clang-format and shellcheck"
    run_script "$results/lint.log" tests/lint.sh
  fi
fi
if wanted tidy; then
  say "clang-tidy"
  run_tidy
fi
if wanted integration; then
  say "integration tests in the lab"
  run_integration
  if [ -n "$linting" ]; then
    say "clang-format and shellcheck"
    show_beside "$linting" "$results/lint.log"
  fi
fi
# Beside what has labs, if that is wanted, too. Otherwise it is shown as it goes.
if wanted hostile && { wanted reliability || wanted package; }; then start_hostile; fi
if wanted package && wanted reliability; then start_package; fi
if wanted reliability; then
  say "what is left when a run is killed, cut or obstructed"
  run_script "$results/reliability.log" tests/reliability/reliability.py "${full[@]}" "${points[@]}"
  say "what is left when a part of a job is killed"
  run_script "$results/jobs.log" tests/reliability/jobs.py "${full[@]}"
fi
if wanted package; then
  say "the hardening of what was built"
  run_script "$results/hardening.log" tests/package/hardening_test.sh
  say "the Debian package"
  if [ -n "$packaging" ]; then
    show_beside "$packaging" "$results/package-beside.log"
  else
    run_script "$results/package.log" tests/package/package_test.sh
  fi
  if [ ${#full[@]} -gt 0 ]; then
    say "the package for the other architecture, as controller of nodes of both"
    run_script "$results/other-architecture.log" tests/package/other_architecture_test.sh
  fi
  run_upgrade
fi
if wanted hostile; then
  say "a node that lies, floods, stalls and breaks off"
  if [ -n "$lying" ]; then
    show_beside "$lying" "$results/hostile-beside.log"
  else
    run_script "$results/hostile.log" tests/hostile/hostile.py "${full[@]}" "${hostile_share[@]}"
  fi
fi
if wanted fuzz; then
  say "fuzz targets"
  show_beside "$fuzzing" "$results/fuzz.log"
fi
trap - EXIT
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
if wanted page; then
  say "the pages in a browser"
  run_script "$results/page.log" tests/page/check.sh build/tests/report_test
fi
if wanted demo; then
  say "the demo of README"
  run_demo
fi
finish
