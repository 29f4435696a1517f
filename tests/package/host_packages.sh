# Debian packages for a lab host, which reaches no mirror by itself. Tests of this folder source this file.
# shellcheck shell=bash

# fetch_packages ROOT FOLDER ARCHITECTURE RELEASE PACKAGE...: copies PACKAGE..., and the packages that they need and that
# the host with this root directory lacks, to /opt/lab/packages there. PACKAGE is a name or the path of a .deb, and those
# of a path are left out. FOLDER keeps package lists and downloads between runs, so only the first run needs a mirror.
fetch_packages() {
  local root=$1 folder=$2 architecture=$3 release=$4 name candidate
  shift 4
  local -a apt=(apt-get -q -y --no-install-recommends -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture"
    -o "Dir::State::status=$root/var/lib/dpkg/status" -o "Dir::State::lists=$folder/lists" -o "Dir::Cache::archives=$folder"
    -o "Dir::State::extended_states=$folder/extended_states"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o "Dir::Etc::sourcelist=$folder/sources.list"
    -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root)
  mkdir -p "$folder/partial" "$folder/lists/partial" "$root/opt/lab/packages" &&
    tests/lab/lab.sh sources --arch "$(uname_of "$architecture")" --release "$release" >"$folder/sources.list" || return
  "${apt[@]}" --download-only install "$@" || { "${apt[@]}" update && "${apt[@]}" --download-only install "$@"; } || return
  while read -r name candidate; do
    cp "$folder/${name}_${candidate//:/%3a}_"*.deb "$root/opt/lab/packages/" || return
  done < <("${apt[@]}" -s install "$@" | sed -nE '/^Inst sparkplan /d; s/^Inst ([^ ]+) .*\(([^ ]+) .*/\1 \2/p')
  ls "$root/opt/lab/packages"
}

# The name that uname(1) has for an architecture of Debian.
uname_of() { if [ "$1" = arm64 ]; then echo aarch64; else echo x86_64; fi; }
