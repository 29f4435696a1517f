# Processes, control groups, and the removal of a lab from the machine.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

# A process is identified by its id and its start time. A reused id is therefore never signalled.
process_start_time() {
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  stat=${stat##*) }                       # the name may contain any character, also blanks
  local -a field
  read -ra field <<<"$stat"
  [[ ${field[0]} != [ZX] ]] || return 1   # dead, but not yet waited for
  printf '%s' "${field[19]}"
}

# process_record PID FILE
process_record() {
  local start
  start=$(process_start_time "$1") || return 1
  printf '%s %s\n' "$1" "$start" >"$2.new" && mv "$2.new" "$2"
}

# Prints the recorded pid if that very process still runs.
process_recorded() {
  local pid start now
  [[ -f $1 ]] || return 1
  read -r pid start <"$1" || return 1
  now=$(process_start_time "$pid") && [[ $now == "$start" ]] && printf '%s' "$pid"
}

# Kills the recorded process and waits until it has ended.
process_kill() {
  local pid tries
  pid=$(process_recorded "$1") || return 0
  kill -KILL "$pid" 2>/dev/null || true
  for ((tries = 0; tries < 200; tries++)); do
    process_recorded "$1" >/dev/null || return 0
    sleep 0.05
  done
  die "process $pid does not die"
}

# host_kill DIRECTORY...: kills the recorded hosts. A host is its systemd, which outlives a killed nspawn. The
# supervisors no longer boot their hosts again, and collect their child processes; a supervisor that does not end is
# killed as well.
host_kill() {
  local directory pid tries left
  for directory in "$@"; do
    touch "$directory/off"
  done
  for ((tries = 0; tries < 100; tries++)); do
    left=0
    for directory in "$@"; do
      ! process_recorded "$directory/supervisor" >/dev/null || left=1
      pid=$(process_recorded "$directory/nspawn") || continue
      left=1
      kill -KILL "$(host_leader_below "$pid" || printf '%s' "$pid")" 2>/dev/null || true
    done
    ((left)) || return 0
    sleep 0.05
  done
  for directory in "$@"; do
    process_kill "$directory/supervisor"
    process_kill "$directory/nspawn"
  done
}

# The mounted control group hierarchies: one (v2), or many (v1, hybrid).
cgroup_hierarchies() {
  awk '{ for (i = 7; $i != "-"; i++); if ($(i + 1) ~ /^cgroup2?$/ && $4 == "/") print $5 }' \
    /proc/self/mountinfo
}

# Each host has its own control group in each hierarchy: under --keep-unit nspawn uses its caller's group, and hosts in
# one group would manage each other's units.
cgroups_make() {
  local top
  while read -r top; do
    mkdir -p "$top/$prefix"
  done < <(cgroup_hierarchies)
}

# cgroup_enter HOST: moves the calling shell into the host's groups.
cgroup_enter() {
  local top group
  while read -r top; do
    group=$top/$prefix/$1
    mkdir -p "$group"
    cpuset_fill "$top" "$top/$prefix" "$group"
    printf '%s\n' "$BASHPID" >"$group/cgroup.procs"
  done < <(cgroup_hierarchies)
}

# A group of the v1 cpuset hierarchy accepts no process before both files are set.
cpuset_fill() {
  local parent=$1 group file
  [[ -e $parent/cpuset.sched_load_balance ]] || return 0
  for group in "${@:2}"; do
    for file in cpuset.cpus cpuset.mems; do
      [[ -n $(<"$group/$file") ]] || cat "$parent/$file" >"$group/$file"
    done
  done
}

# Kills all processes in the lab's groups: only the lab has put processes there.
cgroups_remove() {
  local top pid
  while read -r top; do
    [[ -d $top/$prefix ]] || continue
    while read -r pid; do
      kill -KILL "$pid" 2>/dev/null || true
    done < <(find "$top/$prefix" -name cgroup.procs -exec cat {} + 2>/dev/null)
  done < <(cgroup_hierarchies)
  while read -r top; do
    local tries
    for ((tries = 0; tries < 100; tries++)); do
      [[ -d $top/$prefix ]] || break
      find "$top/$prefix" -depth -type d -exec rmdir {} \; 2>/dev/null || true
      [[ ! -d $top/$prefix ]] || sleep 0.05
    done
  done < <(cgroup_hierarchies)
}

# A machine allows root 128 inotify instances by default. A host uses about nine of them, and its udev does not start
# without one. The limit is raised for the hosts of all labs while a lab is up.
readonly inotify_limit=/proc/sys/fs/inotify/max_user_instances

inotify_raise() { # HOSTS
  (
    flock 7
    local file hosts before wanted=128
    printf '%s\n' "$1" >"$state/count"
    for file in "$states"/*/count; do
      hosts=$(<"$file")
      wanted=$((wanted + 16 * hosts))
    done
    before=$(<"$inotify_limit")
    ((before < wanted)) || exit 0
    printf '%s %s\n' "$before" "$wanted" >"$state/inotify"
    (printf '%s\n' "$wanted" >"$inotify_limit") 2>/dev/null ||
      say "cannot raise fs.inotify.max_user_instances to $wanted; more than a few hosts may fail"
  ) 7>"$cache/.lock-inotify"
}

# While another lab is up, that lab restores the limit later. A limit that another program has changed stays.
inotify_restore() {
  [[ -s $state/inotify ]] || return 0
  (
    flock 7
    local file before wanted first highest
    read -r before wanted <"$state/inotify"
    rm -f "$state/inotify" "$state/count"
    for file in "$states"/*/count; do
      [[ -e $file ]] || continue
      first=$before highest=$wanted
      [[ ! -s ${file%count}inotify ]] || read -r first highest <"${file%count}inotify"
      printf '%s %s\n' "$((first < before ? first : before))" "$((highest > wanted ? highest : wanted))" \
        >"${file%count}inotify"
      exit 0
    done
    [[ $(<"$inotify_limit") != "$wanted" ]] || (printf '%s\n' "$before" >"$inotify_limit") 2>/dev/null || true
  ) 7>"$cache/.lock-inotify"
}

# The last lab to go removes the directory of all labs. Under the lock it cannot go between the two steps of another
# lab's state_make.
state_make() {
  (
    flock 7
    install -d -m 0700 "$states"
    mkdir -m 0700 "$state"
  ) 7>"$cache/.lock-states"
}

state_remove() {
  (
    flock 7
    rm -rf --one-file-system "$state"
    [[ ! -d $states ]] || rmdir --ignore-fail-on-non-empty "$states"
  ) 7>"$cache/.lock-states"
}

# The mount points at or below a directory, the deepest first.
mounts_below() {
  awk -v top="$1" '$5 == top || index($5, top "/") == 1 { print $5 }' /proc/self/mountinfo | sort -r
}

# Removes every trace of this lab, whatever state it is in.
lab_clean() {
  local name mount_point left
  local -a hosts=()
  for name in "$state"/hosts/*; do
    [[ ! -d $name ]] || hosts+=("$name")
  done
  host_kill "${hosts[@]}"
  cgroups_remove
  emulation_stop

  while read -r mount_point; do
    umount "$mount_point" 2>/dev/null || umount --lazy "$mount_point" || true
  done < <(mounts_below "$state")

  for name in /run/netns/"$prefix"-*; do
    [[ ! -e $name ]] || ip netns del "${name##*/}" || true
  done
  for name in /run/systemd/nspawn/*/"$prefix"-*; do
    [[ ! -e $name ]] || rm -rf --one-file-system "$name"
  done

  inotify_restore
  rootfs_sweep
  left=$(mounts_below "$state")
  [[ -z $left ]] || die "cannot unmount: $left"
  state_remove
}
