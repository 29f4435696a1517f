#!/usr/bin/env bash
# Test hosts with real programs: systemd-nspawn machines with systemd, networkd, netplan and sshd, each in its own
# network namespace. README.md explains them.
set -euo pipefail
umask 022
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
unset CDPATH GREP_OPTIONS

# Starts no program if it can: a run of all tests starts this script some ten thousand times.
here=${BASH_SOURCE[0]}
[[ $here == /* && ! -L $here ]] || here=$(realpath "$here")
here=${here%/*}

readonly lab=${SPARKPLAN_LAB:-main}
readonly cache=/var/cache/sparkplan-lab
readonly states=/run/sparkplan-lab
readonly state=$states/$lab
readonly prefix=sparklab-$lab
readonly max_hosts=64
readonly ready_seconds=${SPARKPLAN_LAB_TIMEOUT:-120}
# By code name: the distribution whose package sources have the release.
readonly -A release_of=([bookworm]=debian [trixie]=debian [jammy]=ubuntu [noble]=ubuntu)

# shellcheck source=tests/lab/rootfs.sh
source "$here/rootfs.sh"
# shellcheck source=tests/lab/emulation.sh
source "$here/emulation.sh"
# shellcheck source=tests/lab/network.sh
source "$here/network.sh"
# shellcheck source=tests/lab/cleanup.sh
source "$here/cleanup.sh"
# shellcheck source=tests/lab/host.sh
source "$here/host.sh"
# shellcheck source=tests/lab/check.sh
source "$here/check.sh"

usage() {
  cat <<'TEXT'
usage: lab.sh COMMAND
  check                    can this machine run the lab? a reason on stdout if not
  up N                     boot hosts 1..N (at most 64), wait until all can be logged in to
  prepare                  make the hosts' root file system if it is not there, and boot nothing
  check, prepare, up N --arch ARCH
                           the same with hosts of the architecture ARCH (uname -m), emulated; with ARCH,OWN the
                           last host has this machine's own architecture OWN
  check, prepare, up N --renderer NetworkManager
                           the same with hosts whose netplan hands all interfaces to NetworkManager
  check, prepare, up N --software jobs|containers|docker
                           the same with hosts that have Open MPI and Slurm, podman, or docker
  check, prepare, up N --release RELEASE
                           the same with hosts of another release of this distribution, by its code name
  sources --release RELEASE
                           the package sources of such hosts, as lines of sources.list
  down                     stop everything and leave nothing, also after a crash
  controller -- CMD...     run CMD where the hosts are reachable, at 10.77.0.I
  ssh [USER@]I -- CMD...   run CMD on host I over the network (as root)
  exec I -- CMD...         run CMD on host I without the network
  reboot I                 reboot host I, wait until it can be logged in to again
  stop I, start I          cut the power of host I, switch it on again
  cut I [INTERFACE]        pull the cable of host I's mgmt0 (or of INTERFACE)
  narrow I INTERFACE MTU   let the switch's port of that cable carry frames of MTU at most
  join I [INTERFACE]       put it back
  plug I INTERFACE LIKE    put the cable of INTERFACE where that of LIKE belongs
  address I, root I        its address; its root directory, seen from this machine
  home, key, known-hosts   the controller's HOME, private key, known_hosts file
SPARKPLAN_LAB (default "main") names the lab: several can run side by side.
TEXT
}

say() { printf 'lab: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# One command at a time changes a lab; a second command waits for the first.
lock_lab() {
  install -d -m 0700 "$cache"
  exec 9>"$cache/.lock-$lab"
  flock -w 300 9 || die "another lab.sh has been at work on lab '$lab' for five minutes"
}

require_lab() { [[ -e $state/up ]] || die "lab '$lab' is not up"; }

# Sets `host` to the number given, without leading zeros.
require_host() {
  require_lab
  [[ ${1:-} =~ ^0*([1-9][0-9]?)$ ]] || die "not a host number: '${1:-}'"
  host=${BASH_REMATCH[1]}
  [[ -d $state/hosts/$host ]] || die "lab '$lab' has no host $host"
}

# Sets `command` to the words after the first "--".
require_command() {
  [[ ${1:-} == -- && $# -ge 2 ]] || die "expected: -- CMD [ARG...]"
  command=("${@:2}")
}

# Sets `arch`, `last_arch`, `renderer`, `software` and `release` from options.
require_flavour() {
  arch=$(uname -m)
  while (($# > 0)); do
    (($# >= 2)) || die "expected a value after '$1'"
    case $1 in
      --arch) IFS=, read -r arch last_arch <<<"$2" ;;
      --renderer) renderer=$2 ;;
      --software) software=$2 ;;
      --release) release=$2 ;;
      *) die "expected --arch ARCH, --renderer RENDERER, --software SOFTWARE or --release RELEASE: '$1'" ;;
    esac
    shift 2
  done
  [[ -z $last_arch || $last_arch == "$(uname -m)" ]] ||
    die "the last host has one architecture at choice, $(uname -m): '$last_arch'"
  [[ $software == none || $software == jobs || $software == containers || $software == docker ]] ||
    die "the lab's software is none, jobs, containers or docker: '$software'"
  [[ $renderer == networkd || $renderer == NetworkManager ]] ||
    die "netplan's renderers are networkd and NetworkManager: '$renderer'"
  [[ -n $release ]] || return 0
  [[ -n ${release_of[$release]:-} ]] || die "the lab's releases are ${!release_of[*]}: '$release'"
  # shellcheck source=tests/lab/release.sh
  source "$here/release.sh"
}

# An empty lab with the root file system of its hosts. A command that ends afterwards removes the lab.
lab_begin() {
  local reason
  reason=$(lab_check) || die "$reason"
  lock_lab
  lab_clean
  trap 'lab_up_ended $?' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  state_make
  printf '%s\n' "$renderer" >"$state/renderer"
  printf '%s\n' "$software" >"$state/software"
  emulation_start
  rootfs_ensure                       # sets `tree`
  last_tree_ensure
}

# Sets `last_tree`, the root file system of the last host.
last_tree_ensure() {
  local arch=${last_arch:-$arch} tree=''
  rootfs_ensure
  last_tree=$tree
}

# True if `up` has to make no root file system.
trees_exist() {
  [[ -d $(rootfs_path) && -d $(arch=${last_arch:-$arch} && rootfs_path) ]]
}

lab_up() {
  local count=${1:-}
  [[ $count =~ ^[1-9][0-9]?$ && $count -le $max_hosts ]] ||
    die "up wants a number of hosts from 1 to $max_hosts"
  lab_begin
  printf '%s\n' "$RANDOM$RANDOM$RANDOM" >"$state/generation"
  printf '%s\n' "$tree" >"$state/tree"
  mkdir "$state/hosts" "$state/disks"
  mount -t tmpfs -o mode=0755,size=50% "$prefix" "$state/disks"
  inotify_raise "$count"
  cgroups_make
  network_make
  controller_home_make

  local i
  for ((i = 1; i <= count; i++)); do
    host_prepare "$i" "$count"
  done
  known_hosts_write
  for ((i = 1; i <= count; i++)); do
    host_start "$i"
  done
  hosts_wait "$(seq -s ' ' "$count")"
  touch "$state/up"
  trap - EXIT INT TERM HUP
  for ((i = 1; i <= count; i++)); do
    printf '%s %s\n' "$(host_name "$i")" "$(host_address "$i")"
  done
}

# The exit trap of lab_begin: takes down a lab that did not come up completely.
lab_up_ended() {
  trap - EXIT INT TERM HUP
  local job
  for job in $(jobs -p); do            # a build of the tree, login attempts
    kill -KILL "$job" 2>/dev/null || true
  done
  wait 2>/dev/null
  exec 8>&-
  lab_clean
  exit "$1"
}

lab_reboot() {
  local before
  before=$(host_boot_id "$1") || die "host $1 is not running"
  host_exec "$1" systemctl reboot </dev/null >/dev/null
  hosts_wait "$1" "$before"
}

main() {
  [[ $lab =~ ^[a-z0-9]{1,6}$ ]] || die "SPARKPLAN_LAB must match [a-z0-9]{1,6}: '$lab'"
  local verb=${1:-} host='' user=root arch='' renderer=networkd software=none release='' last_arch='' last_tree=''
  local -a command=()
  (($# == 0)) || shift
  case $verb in
    check | help | -h | --help | '') ;;
    *) ((EUID == 0)) || die "needs root" ;;
  esac
  case $verb in
    check) require_flavour "$@"; lab_check ;;
    prepare) require_flavour "$@"; trees_exist || lab_begin ;;
    up) require_flavour "${@:2}"; lab_up "${1:-}" ;;
    sources)
      require_flavour "$@"
      [[ -n $release ]] || die "sources wants --release RELEASE"
      rootfs_sources
      ;;
    down) lock_lab; lab_clean ;;
    controller)
      require_lab
      require_command "$@"
      exec nsenter --net="$(netns_path controller)" -- "${command[@]}"
      ;;
    ssh)
      [[ ${1:-} != *@* ]] || { user=${1%%@*}; set -- "${1#*@}" "${@:2}"; }
      require_host "${1:-}"
      require_command "${@:2}"
      host_ssh_options
      exec nsenter --net="$(netns_path controller)" -- \
        ssh "${ssh_options[@]}" "$user@$(host_address "$host")" "$(printf '%q ' "${command[@]}")"
      ;;
    exec) require_host "${1:-}"; require_command "${@:2}"; host_exec "$host" "${command[@]}" ;;
    reboot) require_host "${1:-}"; lock_lab; lab_reboot "$host" ;;
    stop) require_host "${1:-}"; lock_lab; host_stop "$host" ;;
    start) require_host "${1:-}"; lock_lab; host_start "$host"; hosts_wait "$host" ;;
    plug) require_host "${1:-}"; lock_lab; cable_plug "$host" "${2:-}" "${3:-}" ;;
    narrow) require_host "${1:-}"; lock_lab; cable_narrow "$host" "${2:-}" "${3:-}" ;;
    cut) require_host "${1:-}"; lock_lab; cable_set "$host" "${2:-mgmt0}" down ;;
    join) require_host "${1:-}"; lock_lab; cable_set "$host" "${2:-mgmt0}" up ;;
    address) require_host "${1:-}"; host_address "$host"; echo ;;
    root) require_host "${1:-}"; printf '%s\n' "$(host_root "$host")" ;;
    home) require_lab; printf '%s\n' "$state/home" ;;
    key) require_lab; printf '%s\n' "$state/home/.ssh/id_ed25519" ;;
    known-hosts) require_lab; printf '%s\n' "$state/home/.ssh/known_hosts" ;;
    supervise)                          # internal: one per host, started by host_start
      arch=$(<"$state/hosts/$1/arch") renderer=$(<"$state/renderer") software=$(<"$state/software")
      host_supervise "$@"
      ;;
    help | -h | --help) usage ;;
    *) usage >&2; exit 1 ;;
  esac
}

main "$@"
