#!/usr/bin/env bash
# The Debian package: built, checked with lintian, installed on a lab host, used there, and purged. A Debian machine has
# hosts of Debian 12 and of Debian 13, another machine has hosts of its own release. A host has never had sparkplan or its
# build dependencies. One line "ok NAME" or "not ok NAME" per check; the last line is "N passed, N failed, N skipped".
#
#   tests/package/package_test.sh      needs a build with the preset release
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2016  # expressions that are expanded on a host
set -uo pipefail
# shellcheck source=tests/package/checks.sh
source "$(dirname "$0")/checks.sh"
limited 5400
cd "$(dirname "$0")/../.." || exit 1
export SOURCE_DATE_EPOCH=1700000000

readonly lab_checks=16
export SPARKPLAN_LAB=${SPARKPLAN_LAB:-pkg}
architecture=$(dpkg --print-architecture)
version=$(sed -nE 's/^project\(sparkplan VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
package=$PWD/build/sparkplan_${version}_$architecture.deb
# The releases of the hosts.
# shellcheck source=/dev/null
read -ra releases < <(source /etc/os-release && if [ "$ID" = debian ]; then echo bookworm trixie; else echo "$VERSION_CODENAME"; fi)
# shellcheck source=tests/package/host_packages.sh
source tests/package/host_packages.sh

made() {
  rm -f "$package" && cpack --config build/CPackConfig.cmake && [ -s "$package" ]
}

made_again_is_the_same() {
  local before
  before=$(sha256sum <"$package") && touch docs/completion/sparkplan.bash && made && same bytes "$(sha256sum <"$package")" "$before"
}

one_agent_is_refused() {
  cmake -G Ninja -S . -B "$work/one" -D SPARKPLAN_BUILD_TESTS=OFF -D "SPARKPLAN_AGENT_ARCHITECTURES=$(uname -m)" || return
  ! cpack --config "$work/one/CPackConfig.cmake" >"$work/refusal" 2>&1 && grep -q 'This build has no agent for' "$work/refusal"
}

control() {
  local field
  same version "$(dpkg-deb -f "$package" Version)" "$version" &&
    same architecture "$(dpkg-deb -f "$package" Architecture)" "$architecture" || return
  for field in Maintainer Section Priority Description; do
    [ -n "$(dpkg-deb -f "$package" "$field")" ] || return
  done
  # The changelog is written by hand.
  same changelog "$(dpkg-parsechangelog -l engine/cmake/debian/changelog -S Version)" "$version" &&
    same dependencies "$(dpkg-deb -f "$package" Depends)" 'libc6 (>= 2.34), libssh-4 (>= 0.9)' &&
    dpkg-deb -f "$package" Recommends | grep -qx openssh-client
}

carries_all() {
  mkdir -p "$work/unpacked" && dpkg-deb --extract "$package" "$work/unpacked" &&
    python3 engine/packaging/carried.py "$work/unpacked/usr/bin/sparkplan" build >"$work/programs" || return
  local -a programs
  mapfile -t programs <"$work/programs"
  python3 engine/packaging/portability.py "$work/unpacked/usr/bin/sparkplan" "${programs[@]}"
}

# The agent contains itself, and nothing else.
a_missing_program_is_noticed() {
  ! python3 engine/packaging/carried.py build/bin/sparkplan-agent.stripped build >"$work/found" 2>"$work/missing" &&
    same found "$(cat "$work/found")" build/bin/sparkplan-agent.stripped && same missing "$(wc -l <"$work/missing")" 7
}

# The bill of materials that release.sh writes, here of the package alone.
materials() { # SCRIPT OUTPUT
  python3 "$1" "$version" "$SOURCE_DATE_EPOCH" "$2" "$package" -- build
}

materials_are_listed() {
  materials engine/packaging/bill_of_materials.py "$work/spdx.json" &&
    materials engine/packaging/bill_of_materials.py "$work/again.json" && cmp "$work/spdx.json" "$work/again.json" &&
    python3 - "$work/spdx.json" "$(sha256sum <"$package" | cut -d ' ' -f 1)" <<'CODE'
import json, sys
document = json.load(open(sys.argv[1]))
packages = {one["SPDXID"]: one for one in document["packages"]}
assert document["spdxVersion"] == "SPDX-2.3", document["spdxVersion"]
assert all(one["licenseConcluded"] != "NOASSERTION" for one in packages.values()), packages
assert sys.argv[2] in [sum["checksumValue"] for one in packages.values() for sum in one.get("checksums", [])]
kinds = {packages[one["relatedSpdxElement"]]["name"]: one["relationshipType"] for one in document["relationships"]}
for name, kind in {"sparkplan": "DESCRIBES", "libssh": "DYNAMIC_LINK", "glibc": "STATIC_LINK", "yaml-cpp": "STATIC_LINK",
                   "libyaml": "STATIC_LINK", "rdma-core": "STATIC_LINK", "openssl": "STATIC_LINK"}.items():
    assert kinds.get(name) == kind, (name, kinds)
CODE
}

an_unknown_licence_is_refused() {
  sed '/"yaml-cpp": /d' engine/packaging/bill_of_materials.py >"$work/less.py" || return
  ! materials "$work/less.py" "$work/less.json" 2>"$work/refusal" &&
    same refusal "$(cat "$work/refusal")" 'bill_of_materials.py: error: no licence is known for: yaml-cpp' &&
    [ ! -e "$work/less.json" ]
}

contents() {
  same files "$(dpkg-deb --fsys-tarfile "$package" | tar -tv | awk '$1 !~ /^d/ {print $1, $2, $6}' | sort)" "$(
    {
      printf '%s\n' '-rwxr-xr-x root/root ./usr/bin/sparkplan'
      for file in bash-completion/completions/sparkplan doc/sparkplan/{README.md,changelog.gz,copyright} \
        $(cd examples && printf 'doc/sparkplan/examples/%s\n' *.txt *.yaml) fish/vendor_completions.d/sparkplan.fish \
        lintian/overrides/sparkplan man/man1/sparkplan.1.gz man/man5/cluster.yaml.5.gz \
        $(cd schemas && printf 'sparkplan/%s\n' *.json) zsh/vendor-completions/_sparkplan; do
        printf -- '-rw-r--r-- root/root ./usr/share/%s\n' "$file"
      done
    } | sort
  )" || return
  # Only root may write to a folder.
  ! dpkg-deb -c "$package" | grep -v '^-' | grep -v '^drwxr-xr-x root/root'
}

tarball_made() {
  tarball=$(engine/packaging/tarball.sh build "$work") && cp "$work/$tarball" "$work/first.tar.gz" &&
    engine/packaging/tarball.sh build "$work" && cmp "$work/$tarball" "$work/first.tar.gz"
}

# As a user without rights, from a directory that no program knows.
tarball_unpacked() { mkdir -p "$root/opt/lab/tar ball" && tar -xf "$work/$tarball" -C "$root/opt/lab/tar ball"; }

tarball_runs() {
  exits 0 "runuser -u operator -- '/opt/lab/tar ball/${tarball%.tar.gz}/bin/sparkplan' version | grep -qx 'sparkplan $version'"
}

tarball_without_libssh() {
  same 'error' "$(on 1 "! '/opt/lab/tar ball/${tarball%.tar.gz}/bin/sparkplan' version 2>&1")" \
    'sparkplan: error: this machine has no libssh: install the package libssh-4 (on Debian and Ubuntu: sudo apt install libssh-4)'
}

judged() { # without errors and without warnings
  lintian --allow-root --fail-on error,warning "$package"
}

# The package's dependencies, and man-db to read the pages with.
fetched() {
  fetch_packages "$root" "$PWD/build/package-dependencies/$release-$architecture" "$architecture" "$release" "$package" man-db &&
    cp "$package" "$root/opt/lab/sparkplan.deb"
}

install_dependencies() {
  on 1 'DEBIAN_FRONTEND=noninteractive apt-get -q -y install /opt/lab/packages/*.deb'
}

install_package() {
  on 1 'DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install /opt/lab/sparkplan.deb
    dpkg-query -W -f "\${db:Status-Status}" sparkplan | grep -qx installed && dpkg -V sparkplan'
}

# All files of the host except those that the system and dpkg maintain themselves.
tree() {
  on 1 'find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /dev -o -path /tmp -o -path /var/tmp \
    -o -path /opt/lab -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/apt \
    -o -path /var/lib/systemd -o -path /var/lib/sudo \) -prune -o \( -type d -printf "%p %y %m %U:%G\n" \
    -o -printf "%p %y %m %U:%G %s %l\n" \) | sort'
}

runs() {
  exits 0 'command -v sparkplan | grep -qx /usr/bin/sparkplan' &&
    exits 0 "sparkplan version | grep -qx 'sparkplan $version'" &&
    exits 0 'sparkplan types >types && grep -q ^sysctl types'
}

schema_is_the_programs() { exits 0 'sparkplan schema | cmp - /usr/share/sparkplan/cluster.schema.json'; }

examples() {
  exits 0 'for file in /usr/share/doc/sparkplan/examples/*.yaml; do sparkplan validate "$file" || exit 1
    schema=$(sed -n "1s/.*schema=//p" "$file"); test -s "${file%/*}/$schema" || exit 1; done'
}

pages() {
  exits 0 'man -w sparkplan | grep -qx /usr/share/man/man1/sparkplan.1.gz' &&
    exits 0 'man -w cluster.yaml | grep -qx /usr/share/man/man5/cluster.yaml.5.gz' &&
    exits 0 'MANWIDTH=80 man -P cat sparkplan | grep -q -- --detailed-exitcode' &&
    exits 0 'MANWIDTH=80 man -P cat cluster.yaml | grep -q ssh_trust'
}

# The plain shell without the package bash-completion; zsh and fish search their own folders.
completions() {
  exits 0 'test "$(bash --norc -c "source /usr/share/bash-completion/completions/sparkplan
    COMP_WORDS=(sparkplan va) COMP_CWORD=1; _sparkplan; echo \${COMPREPLY[*]}")" = validate' &&
    exits 0 'cmp <(sparkplan completion bash) /usr/share/bash-completion/completions/sparkplan' &&
    exits 0 'cmp <(sparkplan completion zsh) /usr/share/zsh/vendor-completions/_sparkplan' &&
    exits 0 'cmp <(sparkplan completion fish) /usr/share/fish/vendor_completions.d/sparkplan.fish'
}

cluster_file() { # NODE
  printf 'version: 1\nname: lab\nssh: {user: root}\nsysctl: {net.core.somaxconn: 8192}\nnodes:\n  - %s\n' "$1"
}

local_directory() {
  mkdir -p "$root/opt/lab/image" && cluster_file '{name: image, transport: local, root: /opt/lab/image}' >"$root/opt/lab/local.yaml"
  exits 0 'sparkplan validate local.yaml' && exits 2 'sparkplan plan --detailed-exitcode local.yaml' &&
    exits 0 'sparkplan apply --yes local.yaml && grep -q 8192 image/etc/sysctl.d/90-sparkplan.conf' &&
    exits 0 'sparkplan plan --detailed-exitcode local.yaml'
}

other_host() {
  mkdir -p "$root/opt/lab/home" && cp -r "$("$lab" home)/.ssh" "$root/opt/lab/home/" &&
    cluster_file '{name: spark-02, address: 10.77.0.2}' >"$root/opt/lab/cluster.yaml"
  exits 2 'sparkplan plan --detailed-exitcode cluster.yaml' && exits 0 'sparkplan apply --yes cluster.yaml' &&
    same somaxconn "$(on 2 'sysctl -n net.core.somaxconn')" 8192 && exits 0 'sparkplan drift cluster.yaml'
}

purged() {
  on 1 'dpkg --purge sparkplan' && ! on 1 'dpkg-query -W sparkplan || ls /var/lib/dpkg/info/sparkplan.*' &&
    ! on 1 'man -w sparkplan' && same "files of the host" "$(tree)" "$tree_before"
}

[ -x build/bin/sparkplan ] || {
  echo 'not ok there is no build: cmake --preset release && cmake --build --preset release'
  failed=1
  finish
}
check "cpack makes the package" made || finish
check "made again it is the same, to the byte" made_again_is_the_same
check "a build with one agent cannot be packaged" one_agent_is_refused
check "version, architecture and dependencies are right" control
check "it carries all programs for nodes of both architectures, for every supported distribution" carries_all
check "a sparkplan without one of these programs is noticed" a_missing_program_is_noticed
# The table of licences has the packages of Debian 12, where releases are made.
if [ "${releases[0]}" = bookworm ] && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
  check "the bill of materials lists what is linked in, with licences, and is the same again" materials_are_listed
  check "a linked package whose licence is not known stops the bill of materials" an_unknown_licence_is_refused
else
  skipped=$((skipped + 2))
  echo "skipped: the bill of materials: this is not Debian 12"
fi
check "it has all files and no other, with the right owners and modes" contents
check "lintian has nothing to say" judged
check "the tarball is made, and made again it is the same" tarball_made || finish

# The checks on fresh hosts of a release. A check that others need ends this release's checks if it fails.
on_hosts_of() { # RELEASE
  local reason
  release=$1
  if ! reason=$("$lab" check --release "$release" 2>&1); then
    skipped=$((skipped + lab_checks))
    printf 'skipped: the checks on hosts of %s: %s\n' "$release" "$reason"
    return
  fi
  check "$release: two hosts boot" "$lab" up 2 --release "$release" || return
  root=$("$lab" root 1)
  like_any_other "$root"
  check "$release: apt finds what the package needs" fetched || return
  check "$release: the tarball can be unpacked" tarball_unpacked
  check "$release: without libssh the tarball's program names the package, in one line" tarball_without_libssh
  check "$release: the dependencies can be installed" install_dependencies || return
  tree_before=$(tree)
  check "$release: the host's files can be listed" [ "$(wc -l <<<"$tree_before")" -gt 1000 ] || return
  check "$release: the tarball's program runs from any directory, as any user" tarball_runs
  check "$release: the package can be installed" install_package || return
  check "$release: the program runs" runs
  check "$release: the schema is the program's own" schema_is_the_programs
  check "$release: the examples are valid and find their schema" examples
  check "$release: the manual pages are found and can be read" pages
  check "$release: the completions are there" completions
  check "$release: a directory tree is planned, applied and in sync" local_directory
  check "$release: another host is planned, applied and in sync" other_host
  check "$release: after a purge nothing is left" purged
}

lab_is_ours=yes
for release in "${releases[@]}"; do on_hosts_of "$release"; done
finish
