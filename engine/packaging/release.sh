#!/usr/bin/env bash
# Makes a release in dist/: for each architecture (amd64, arm64) a Debian package and a tarball, and for all of them
# SHA256SUMS and a bill of materials. The same sources on the same system give the same bytes.
#
#   engine/packaging/release.sh [FOLDER]     default: dist
#
# Needs Debian 12 on amd64, and tests/install-dependencies.sh build cross-controller package. Debian 12 is the oldest
# distribution with the compiler that this project needs; what it links runs on all newer ones and on Ubuntu 22.04.
# CMAKE_BUILD_PARALLEL_LEVEL limits the number of compilers.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C TZ=UTC
umask 022
dist=$(realpath -m "${1:-dist}")
version=$(sed -nE 's/^project\(sparkplan VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
# The time of the commit; of the changelog's newest entry if these are no git files.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || dpkg-parsechangelog -l engine/cmake/debian/changelog -S Timestamp)}
export SOURCE_DATE_EPOCH
readonly dist version
declare -A debian=([x86_64]=amd64 [aarch64]=arm64)

fail() {
  echo "release.sh: error: $*" >&2
  exit 1
}

build() { # ARCHITECTURE FOLDER: a build with the programs for both architectures, or none
  local -a toolchain=()
  [ "$1" = "$(uname -m)" ] || toolchain=(--toolchain "engine/cmake/toolchain-$1.cmake")
  cmake -G Ninja -S . -B "$2" "${toolchain[@]}" -D CMAKE_BUILD_TYPE=RelWithDebInfo -D SPARKPLAN_BUILD_TESTS=OFF \
    -D 'SPARKPLAN_AGENT_ARCHITECTURES=x86_64;aarch64' -D CMAKE_INSTALL_PREFIX=/usr >"$2.log" 2>&1 &&
    cmake --build "$2" >>"$2.log" 2>&1 && return
  tail -n 30 "$2.log" >&2
  fail "the build for $1 failed; $2.log has all of its output"
}

# The build ids of programs. Both controllers must carry the same, or they would replace each other's on the nodes.
build_ids() { # PROGRAM...
  local program
  for program in "$@"; do
    printf '%s ' "$(basename "$program")"
    readelf -hn "$program" | sed -nE 's/^ *(Machine|Build ID): *//p' | paste -sd' '
  done | sort
}

mkdir -p build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist"
mkdir -p "$dist"
folders=()
for architecture in x86_64 aarch64; do
  folder=build/dist-$architecture
  folders+=("$folder")
  echo "building for $architecture ..." >&2
  build "$architecture" "$folder"
  cpack --config "$folder/CPackConfig.cmake" >>"$folder.log" 2>&1 || fail "no package for $architecture; see $folder.log"
  package=$folder/sparkplan_${version}_${debian[$architecture]}.deb
  mkdir "$work/$architecture"
  dpkg-deb --extract "$package" "$work/$architecture"
  sparkplan=$work/$architecture/usr/bin/sparkplan
  python3 engine/packaging/carried.py "$sparkplan" "$folder" >"$work/programs" ||
    fail "the package for $architecture does not carry every program for nodes"
  mapfile -t programs <"$work/programs"
  python3 engine/packaging/portability.py "$sparkplan" "${programs[@]}" >&2 ||
    fail "a program for $architecture would not run everywhere"
  build_ids "${programs[@]}" >"$work/build-ids-$architecture"
  cp "$package" "$dist/"
  engine/packaging/tarball.sh "$folder" "$dist" >/dev/null
done
diff "$work"/build-ids-x86_64 "$work"/build-ids-aarch64 >&2 || fail "the two controllers carry different programs"
(
  cd "$dist"
  sha256sum -- *.deb *.tar.gz >SHA256SUMS
)
python3 engine/packaging/bill_of_materials.py "$version" "$SOURCE_DATE_EPOCH" "$dist/sparkplan-$version.spdx.json" \
  "$dist"/*.deb "$dist"/*.tar.gz -- "${folders[@]}"
(cd "$dist" && sha256sum -- *.json >>SHA256SUMS && ls -l)
