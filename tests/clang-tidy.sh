#!/usr/bin/env bash
# Runs clang-tidy over the project's own .cc files with the compile commands of a build directory, two at a time. A file
# that has passed is skipped until the file, a header or the checks change.
#   tests/clang-tidy.sh BUILD_DIRECTORY
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=$1
# Where several sources are compiled as one, there is no compile command for each.
if grep -q '/Unity/unity_' "$build/compile_commands.json"; then
  build=build/tidy
  cmake -G Ninja -S . -B "$build" -D CMAKE_BUILD_TYPE=RelWithDebInfo -D SPARKPLAN_UNITY=OFF \
    -D "SPARKPLAN_AGENT_ARCHITECTURES=$(uname -m)" >/dev/null || exit 1
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sparkplan-clang-tidy
mkdir -p "$cache" 2>/dev/null || cache=$(mktemp -d)

common=$({ clang-tidy --version; cat .clang-tidy; git ls-files '*.h' | xargs cat; } | sha256sum | cut -c1-16)

check() {
  local file=$1 stamp
  stamp=$cache/$common-$(sha256sum <"$file" | cut -c1-32)
  [ -e "$stamp" ] && return
  if clang-tidy --quiet -p "$build" "$file" 2>/dev/null; then touch "$stamp"; else
    echo "clang-tidy: $file"
    return 1
  fi
}
export -f check
export build cache common

git ls-files 'engine/*.cc' 'resources/*.cc' | xargs -P2 -I{} bash -c 'check {}'
