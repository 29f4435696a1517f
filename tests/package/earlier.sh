#!/usr/bin/env bash
# Builds the sparkplan of an earlier commit, with the agent for this machine alone, for upgrade_test.sh. Sources and build
# are in a folder of their own below build/; a second run compiles nothing. Prints the path of the program.
#
#   tests/package/earlier.sh [COMMIT]     default: the commit of version 0.1.0
# It takes the packages of tests/install-dependencies.sh build. If it fails, it prints one line and
# exits with 1, or with 2 if git has no such commit.
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted=${1:-246717c46c4fe3612e0848ac2b2294bb0e71e06f}
commit=$(git rev-parse --verify --quiet "$wanted^{commit}") || {
  echo "git has no commit $wanted here; in a shallow clone, \`git fetch --unshallow\` brings it"
  exit 2
}
folder=$PWD/build/earlier-${commit:0:12}

mkdir -p build
if [ ! -d "$folder" ]; then
  unpacked=$(mktemp -d "$folder.XXXXXX")
  trap 'rm -rf "$unpacked"' EXIT
  git archive "$commit" | tar -x -C "$unpacked"
  mv -T "$unpacked" "$folder"
  trap - EXIT
fi
{
  cmake -G Ninja -S "$folder" -B "$folder/build" -D CMAKE_BUILD_TYPE=RelWithDebInfo -D SPARKPLAN_BUILD_TESTS=OFF \
    -D "SPARKPLAN_AGENT_ARCHITECTURES=$(uname -m)" && timeout 7200 cmake --build "$folder/build" --target sparkplan
} >"$folder.log" 2>&1 || {
  tail -n 30 "$folder.log" >&2
  echo "the build of commit ${commit:0:12} failed; $folder.log has all of its output"
  exit 1
}
printf '%s\n' "$folder/build/bin/sparkplan"
