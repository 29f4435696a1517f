#!/usr/bin/env bash
# clang-format over all sources, and shellcheck over all scripts. The last line is "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0

check() { # NAME COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $1"
  fi
}

formatted() { git ls-files '*.cc' '*.h' | xargs clang-format --dry-run -Werror; }
scripts() { git ls-files '*.sh' '*.bash' .ci/run | xargs shellcheck; }

check clang-format formatted
check shellcheck scripts
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
