#!/usr/bin/env bash
# Installs what building and testing needs, on Debian 12 and Ubuntu 24.04.
# Does nothing, quickly, where nothing is missing.
#   install-dependencies.sh [build] [lab] [vm] [lint]     (default: build lab)
set -euo pipefail
export LC_ALL=C

readonly build=(
  cmake g++ ninja-build ccache pkg-config
  libyaml-cpp-dev libvalijson-dev libssh-dev libnl-3-dev libnl-route-3-dev libibverbs-dev
  libboost-dev libboost-filesystem-dev libboost-system-dev libspdlog-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libexpected-dev libmd-dev libyaml-dev catch2 openssh-client
)
readonly lab=(systemd-container mmdebstrap iproute2 openssh-client procps util-linux tmux)
readonly vm=(
  qemu-system-x86 qemu-utils mmdebstrap e2fsprogs iproute2 openssh-client procps util-linux
)
readonly lint=(clang-format clang-tidy shellcheck)

(($# > 0)) || set -- build lab
wanted=()
for group in "$@"; do
  case $group in
    build) wanted+=("${build[@]}") ;;
    lab) wanted+=("${lab[@]}") ;;
    vm) wanted+=("${vm[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    *) echo "usage: ${0##*/} [build] [lab] [vm] [lint]" >&2; exit 1 ;;
  esac
done

# dpkg-query fails when one of them is unknown; it lists the others all the same.
declare -A installed=()
while read -r status name; do
  [[ $status != installed ]] || installed[$name]=1
done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)

missing=()
for name in "${wanted[@]}"; do
  [[ -n ${installed[$name]:-} ]] || { missing+=("$name"); installed[$name]=asked; }
done
((${#missing[@]} > 0)) || exit 0

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null; then
    echo "missing packages, and neither root nor 'sudo -n' to install them:"
    printf '  %s\n' "${missing[@]}"
    exit 1
  fi
  as_root=(sudo -n "${as_root[@]}")
fi

echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update </dev/null >&2 ||
  echo "apt-get update failed; trying with the package lists as they are" >&2
"${as_root[@]}" apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
  "${missing[@]}" </dev/null >&2
