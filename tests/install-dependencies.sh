#!/usr/bin/env bash
# Installs the packages for building and testing, on Debian 12 and Ubuntu 24.04. Returns quickly if no package is
# missing.
#   install-dependencies.sh [build] [cross] [cross-controller] [lab] [arm] [vm] [hostile] [lint] [fuzz] [bench]
# [reference] [package] (default: build lab)
#   cross             compiler and libraries for an agent of the other architecture. If the package sources do not
#                     offer them, prints what to add to them, and succeeds
#   cross-controller  cross, and the libraries that sparkplan itself needs on the other architecture
#   arm               lab hosts of the other architecture
#   hostile           an sshd for tests/hostile, unpacked below build/ if none is installed: installing the package
#                     would start an sshd that listens
set -euo pipefail
export LC_ALL=C

native=$(dpkg --print-architecture)
case $native in
  arm64) other=amd64 triplet=x86_64-linux-gnu cross_compiler=g++-x86-64-linux-gnu ;;
  *) other=arm64 triplet=aarch64-linux-gnu cross_compiler=g++-aarch64-linux-gnu ;;
esac
# The toolchain files also search here for packages that can be installed for one architecture only.
unpacked=$(dirname "$(realpath "$0")")/../build/packages-$triplet
readonly native other triplet cross_compiler unpacked

readonly build=(
  cmake g++ ninja-build ccache pkg-config
  libyaml-cpp-dev libvalijson-dev libssh-dev libnl-3-dev libnl-route-3-dev libibverbs-dev
  libboost-dev libboost-filesystem-dev libboost-system-dev libspdlog-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libexpected-dev libmd-dev libyaml-dev libssl-dev catch2 openssh-client
)
readonly cross=(
  "$cross_compiler" libnl-3-dev:"$other" libnl-route-3-dev:"$other" libibverbs-dev:"$other"
  libboost-filesystem-dev:"$other" libboost-system-dev:"$other" libmd-dev:"$other" libssl-dev:"$other"
  libyaml-dev:"$other"
)
readonly cross_controller=(
  "${cross[@]}" libssh-dev:"$other" libfmt-dev:"$other"
)
readonly lab=(systemd-container mmdebstrap iproute2 openssh-client procps util-linux tmux python3)
readonly arm=("${lab[@]}" qemu-user-static)
readonly vm=(
  qemu-system-x86 qemu-utils mmdebstrap e2fsprogs iproute2 openssh-client procps util-linux
)
readonly hostile=(python3 python3-jsonschema iproute2 openssh-client)
readonly bench=(python3 ansible rsync)
readonly lint=(clang-format clang-tidy shellcheck)
# llvm is for function names in stack traces.
readonly fuzz=(clang libclang-rt-dev lld llvm)
# Programs that check completions, manual pages and the package.
readonly reference=(bash zsh fish man-db mandoc)
readonly packaging=(dpkg-dev lintian file)

(($# > 0)) || set -- build lab
wanted=() wanted_other=() to_unpack=() wants_sshd=
for group in "$@"; do
  case $group in
    build) wanted+=("${build[@]}") ;;
    cross) wanted_other+=("${cross[@]}") ;;
    cross-controller) wanted_other+=("${cross_controller[@]}") to_unpack+=(libyaml-cpp) ;;
    lab) wanted+=("${lab[@]}") ;;
    arm) wanted+=("${arm[@]}") ;;
    vm) wanted+=("${vm[@]}") ;;
    hostile) wanted+=("${hostile[@]}") wants_sshd=1 ;;
    bench) wanted+=("${bench[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    fuzz) wanted+=("${fuzz[@]}") ;;
    reference) wanted+=("${reference[@]}") ;;
    package) wanted+=("${packaging[@]}") ;;
    *)
      echo "usage: ${0##*/} [build] [cross] [cross-controller] [lab] [arm] [vm] [hostile] [lint] [fuzz] [bench] [reference] [package]" >&2
      exit 1
      ;;
  esac
done

# Sets `missing` to the arguments that are not installed packages.
find_missing() {
  missing=()
  (($# > 0)) || return 0
  local status name architecture
  local -A installed=()
  # dpkg-query fails for an unknown package but still lists the others.
  while read -r status name architecture; do
    [[ $status == installed ]] || continue
    installed[$name:$architecture]=1
    [[ $architecture == "$other" ]] || installed[$name]=1
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package} ${Architecture}\n' "$@" 2>/dev/null || true)
  for name in "$@"; do
    [[ -n ${installed[$name]:-} ]] || { missing+=("$name"); installed[$name]=asked; }
  done
}

find_missing "${wanted[@]}" "${wanted_other[@]}"
as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0 && ${#missing[@]} > 0)); then
  if ! sudo -n true 2>/dev/null; then
    echo "missing packages, and neither root nor 'sudo -n' to install them:"
    printf '  %s\n' "${missing[@]}"
    exit 1
  fi
  as_root=(sudo -n "${as_root[@]}")
fi
apt() { "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2; }
apt_update() {
  apt update || echo "apt-get update failed; trying with the package lists as they are" >&2
}

find_missing "${wanted[@]}"
if ((${#missing[@]} > 0)); then
  echo "installing: ${missing[*]}" >&2
  apt_update
  apt -y install --no-install-recommends "${missing[@]}"
fi

# Unpacks the program alone: no service, account or keys. Its libraries are installed.
unpack_sshd() {
  local place download libraries
  place=$(dirname "$(realpath "$0")")/../build/packages-openssh-server
  [[ -x /usr/sbin/sshd || -x $place/usr/sbin/sshd ]] && return
  echo "unpacking: openssh-server" >&2
  apt_update
  mapfile -t libraries < <(apt-cache depends openssh-server | sed -nE 's/^ *(Pre)?Depends: (lib[^ <>]+)$/\2/p')
  find_missing "${libraries[@]}"
  ((${#missing[@]} == 0)) || apt -y install --no-install-recommends "${missing[@]}"
  download=$(mktemp -d)
  (cd "$download" && apt-get -q download openssh-server) >&2
  mkdir -p "$place"
  dpkg-deb --extract "$download"/*.deb "$place"
  rm -rf "$download"
}
[[ -z $wants_sshd ]] || unpack_sshd

# Ubuntu serves some architectures from separate servers. If the package sources lack the other architecture, every
# apt-get update complains once dpkg has been configured for it. So this function checks with separate package lists
# before anything changes.
other_is_offered() {
  local lists options status=0
  lists=$(mktemp -d)
  chmod 0755 "$lists"
  options=(
    -o Dir::State::lists="$lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Architectures="$native,$other"
  )
  apt "${options[@]}" update &&
    apt "${options[@]}" --simulate --no-remove install --no-install-recommends "$@" || status=1
  "${as_root[@]}" rm -rf "$lists"
  return "$status"
}

# Ubuntu's ordinary archive has amd64 and i386; the one that it calls "ports" has the other architectures.
# Source: sources.list(5).
say_what_to_add() {
  local id release archive='the address of its ordinary archive'
  id=$(sed -n 's/^ID=//p' /etc/os-release)
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  [[ $id == ubuntu ]] || return 0
  [[ $other == amd64 ]] || archive='the address of its archive "ubuntu-ports"'
  cat >&2 <<TEXT
Write this to /etc/apt/sources.list.d/$other.sources. For ARCHIVE put $archive, which Ubuntu's page on repositories names:
  Types: deb
  URIs: ARCHIVE
  Suites: $release $release-updates $release-security
  Components: main universe
  Architectures: $other
  Signed-By: /usr/share/keyrings/ubuntu-archive-keyring.gpg
The sources that are there now have only $native. In /etc/apt/sources.list.d/ubuntu.sources, add this line to each paragraph:
  Architectures: $native
(In /etc/apt/sources.list of Ubuntu 22.04, write "deb [arch=$native]" in place of "deb".) Then run this command again.
TEXT
}

find_missing "${wanted_other[@]}"
if ((${#missing[@]} > 0)); then
  if ! other_is_offered "${missing[@]}" 2>/dev/null; then
    echo "the package sources do not offer what building for $other takes: only the native agent will be built" >&2
    say_what_to_add
    exit 0
  fi
  echo "installing: ${missing[*]}" >&2
  "${as_root[@]}" dpkg --add-architecture "$other"
  apt_update
  apt -y --no-remove install --no-install-recommends "${missing[@]}"
fi

# unpack_library NAME: NAME-dev with its static library, into a directory of the build.
unpack_library() {
  local download
  download=$(mktemp -d)
  (cd "$download" && apt-get -q download "$1-dev:$other") >&2
  mkdir -p "$unpacked"
  dpkg-deb --extract "$download"/*.deb "$unpacked"
  rm -rf "$download"
}

for name in "${to_unpack[@]}"; do
  [[ -e $unpacked/usr/lib/$triplet/$name.a ]] || unpack_library "$name"
done
