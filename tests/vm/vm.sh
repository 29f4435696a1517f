#!/usr/bin/env bash
# Test hosts with their own kernel: QEMU virtual machines with real RDMA over Ethernet, which look like Sparks.
# README.md explains them.
set -euo pipefail
umask 022
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
unset CDPATH GREP_OPTIONS

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

readonly vm=${SPARKPLAN_VM:-main}
readonly cache=/var/cache/sparkplan-vm
readonly states=/run/sparkplan-vm
readonly state=$states/$vm
readonly prefix=sparkvm-$vm
readonly ready_seconds=${SPARKPLAN_VM_TIMEOUT:-240}

# From the lab: recorded processes; the machine's own package sources.
# shellcheck source=tests/lab/cleanup.sh
source "$here/../lab/cleanup.sh"
# The guests have the machine's own architecture.
# shellcheck disable=SC2034  # emulation.sh reads it
arch=$(uname -m)
# shellcheck source=tests/lab/emulation.sh
source "$here/../lab/emulation.sh"
# shellcheck source=tests/lab/rootfs.sh
source "$here/../lab/rootfs.sh"
# shellcheck source=tests/vm/image.sh
source "$here/image.sh"
# shellcheck source=tests/vm/guest.sh
source "$here/guest.sh"
# shellcheck source=tests/vm/check.sh
source "$here/check.sh"

usage() {
  cat <<'TEXT'
usage: vm.sh COMMAND
  check                    can this machine run them? a reason on stdout if not
  up N                     boot guests 1..N (at most 3), wait until all can be logged in to
  down                     stop everything and leave nothing, also after a crash
  controller -- CMD...     run CMD where the guests are reachable, at 10.78.0.I
  ssh [USER@]I -- CMD...   run CMD on guest I (as root), in a login of its own
  exec I -- CMD...         run CMD on guest I as root, over a connection that is kept
  reboot I                 reboot guest I, wait until it can be logged in to again
  address I                its address; sshd is at port 22
  home, key, known-hosts   the controller's HOME, private key, known_hosts file
SPARKPLAN_VM (default "main") names the set: several can run side by side.
TEXT
}

say() { printf 'vm: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# One command at a time changes a set; a second command waits for the first.
lock_vm() {
  install -d -m 0700 "$cache"
  exec 9>"$cache/.lock-$vm"
  flock -w 300 9 || die "another vm.sh has been at work on '$vm' for five minutes"
}

require_up() { [[ -e $state/up ]] || die "'$vm' is not up"; }

# Sets `guest` to the number given.
require_guest() {
  require_up
  [[ ${1:-} =~ ^[1-9]$ && -d $state/guests/$1 ]] || die "no such guest: '${1:-}'"
  guest=$1
}

# Sets `command` to the words after the first "--".
require_command() {
  [[ ${1:-} == -- && $# -ge 2 ]] || die "expected: -- CMD [ARG...]"
  command=("${@:2}")
}

vm_up() {
  local count=${1:-} i
  [[ $count =~ ^[1-9]$ && $count -le $max_guests ]] ||
    die "up wants a number of guests from 1 to $max_guests"
  local reason
  reason=$(vm_check) || die "$reason"
  lock_vm
  vm_clean
  trap 'vm_up_ended $?' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  image_ensure                        # sets `image`

  install -d -m 0700 "$states"
  mkdir -m 0700 "$state"
  mkdir "$state/guests"
  acceleration_find >"$state/acceleration"
  network_make "$count"
  controller_home_make
  for ((i = 1; i <= count; i++)); do
    guest_prepare "$i"
    guest_start "$i"
  done
  guests_wait "$(seq -s ' ' "$count")"
  touch "$state/up"
  trap - EXIT INT TERM HUP
  for ((i = 1; i <= count; i++)); do
    printf '%s %s\n' "$(guest_name "$i")" "$(guest_address "$i")"
  done
}

# The exit trap of vm_up: takes down a set that did not come up completely.
vm_up_ended() {
  trap - EXIT INT TERM HUP
  local job
  for job in $(jobs -p); do            # a build of the image, login attempts
    kill -KILL "$job" 2>/dev/null || true
  done
  wait 2>/dev/null
  exec 8>&-
  vm_clean
  exit "$1"
}

# Removes every trace of this set, whatever state it is in.
vm_clean() {
  local record
  for record in "$state"/guests/*/qemu; do
    [[ ! -e $record ]] || process_kill "$record"
  done
  network_remove
  rm -f "$cache"/disk-"$vm"-*.qcow2
  image_sweep
  rm -rf --one-file-system "$state"
  [[ ! -d $states ]] || rmdir --ignore-fail-on-non-empty "$states"
}

main() {
  [[ $vm =~ ^[a-z0-9]{1,6}$ ]] || die "SPARKPLAN_VM must match [a-z0-9]{1,6}: '$vm'"
  local verb=${1:-} guest='' user=root
  local -a command=()
  (($# == 0)) || shift
  case $verb in
    check | help | -h | --help | '') ;;
    *) ((EUID == 0)) || die "needs root" ;;
  esac
  case $verb in
    check) vm_check ;;
    up) vm_up "$@" ;;
    down) lock_vm; vm_clean ;;
    controller)
      require_up
      require_command "$@"
      exec nsenter --net="$netns" -- "${command[@]}"
      ;;
    ssh)
      [[ ${1:-} != *@* ]] || { user=${1%%@*}; set -- "${1#*@}" "${@:2}"; }
      require_guest "${1:-}"
      require_command "${@:2}"
      guest_ssh "$user" "$guest" "$(printf '%q ' "${command[@]}")"
      ;;
    exec)
      require_guest "${1:-}"
      require_command "${@:2}"
      guest_exec "$guest" "$(printf '%q ' "${command[@]}")"
      ;;
    reboot) require_guest "${1:-}"; lock_vm; guest_reboot "$guest" ;;
    address) require_guest "${1:-}"; guest_address "$guest"; echo ;;
    home) require_up; printf '%s\n' "$state/home" ;;
    key) require_up; printf '%s\n' "$state/home/.ssh/id_ed25519" ;;
    known-hosts) require_up; printf '%s\n' "$state/home/.ssh/known_hosts" ;;
    help | -h | --help) usage ;;
    *) usage >&2; exit 1 ;;
  esac
}

main "$@"
