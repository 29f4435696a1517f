#!/usr/bin/env bash
# Packs an installed sparkplan into a tarball that runs from any directory. The same build gives the same bytes.
#
#   engine/packaging/tarball.sh BUILD FOLDER     prints the name of the tarball, which is in FOLDER
#
# SOURCE_DATE_EPOCH is the time of all files in it.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
umask 022
build=$1 target=$2
version=$(sed -nE 's/^project\(sparkplan VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
architecture=$(readelf -h "$build/bin/sparkplan" | sed -nE 's/^ *Machine: *//p')
case $architecture in
  AArch64) architecture=aarch64 short=arm64 ;;
  *X86-64) architecture=x86_64 short=amd64 ;;
  *) echo "tarball.sh: error: $build/bin/sparkplan is for $architecture" >&2 && exit 1 ;;
esac
name=sparkplan-$version-linux-$short
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
DESTDIR=$work/installed cmake --install "$build" --prefix /usr --strip >/dev/null
mkdir -p "$root/lib/sparkplan"
mv "$work/installed/usr/share" "$root/share"
mv "$work/installed/usr/bin/sparkplan" "$root/lib/sparkplan/sparkplan"
rm -r "$root/share/lintian"
echo "$architecture" >"$root/lib/sparkplan/architecture"
install -D -m 0755 engine/packaging/sparkplan.sh "$root/bin/sparkplan"
install -m 0644 LICENSE "$root/LICENSE"
find "$root" -type d -exec chmod 0755 {} +
tar --create --directory "$work" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-1700000000}" "$name" | gzip -9 -n >"$target/$name.tar.gz"
echo "$name.tar.gz"
