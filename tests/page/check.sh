#!/usr/bin/env bash
# Opens the pages of the unit tests in headless Chromium: with and without JavaScript, light and dark, wide and narrow,
# and as a PDF. Checks them with axe-core. The last line is "N passed, N failed, N skipped".
#   check.sh [REPORT_TEST [SCREENSHOTS]]
# REPORT_TEST is the unit test that writes the pages (default: build/tests/report_test). SCREENSHOTS is a folder for
# images and PDFs, for a look at the pages. It needs chromium, node and npm, and npm fetches two packages into a
# temporary folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
report_test=${1:-$here/../../build/tests/report_test}
screenshots=${2:-}
readonly packages=(axe-core@4.14.1 puppeteer-core@24.43.1)
readonly pages=(verify verify-64 sweep ring hostile doctor doctor-64 plan plan-64 trouble tune)

skip() {
  echo "SKIPPED: $1"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
}
chromium=$(command -v chromium || command -v chromium-browser) || skip "there is no chromium (package chromium)"
for program in node npm; do
  command -v "$program" >/dev/null || skip "there is no $program (package $program)"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp "$here/browser.js" "$scratch"
(cd "$scratch" && timeout 300 npm install --no-save --no-audit --no-fund --ignore-scripts "${packages[@]}") >"$scratch/npm.log" 2>&1 ||
  skip "npm cannot fetch ${packages[*]}: $(tail -n 1 "$scratch/npm.log")"

mkdir "$scratch/pages"
SPARKPLAN_PAGES="$scratch/pages" "$report_test" >"$scratch/test.log" 2>&1 || { tail -n 40 "$scratch/test.log"; exit 1; }
[[ -z $screenshots ]] || mkdir -p "$screenshots"
files=()
for page in "${pages[@]}"; do files+=("$scratch/pages/$page.html"); done
[[ -z $screenshots ]] || screenshots=$(realpath "$screenshots")
cd "$scratch"
timeout 1500 node browser.js "$chromium" "$screenshots" "${files[@]}"
