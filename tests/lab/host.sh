# One host: its files, its boot, and ways to run commands on it.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

host_name() { printf 'spark-%02d' "$1"; }
host_address() { printf '10.77.0.%d' "$1"; }
host_root() { printf '%s/disks/%s/root' "$state" "$1"; }

controller_home_make() {
  mkdir -m 0700 "$state/home" "$state/home/.ssh"
  ssh-keygen -q -t ed25519 -N '' -C "$prefix-controller" -f "$state/home/.ssh/id_ed25519"
  install -m 0600 /dev/null "$state/home/.ssh/known_hosts"
}

# host_prepare I COUNT: an overlay on the shared tree, with this host's own files.
host_prepare() {
  local i=$1 count=$2 disk=$state/disks/$1 root name type user directory arch=$arch tree=$tree
  ((i < count)) || arch=${last_arch:-$arch} tree=$last_tree
  root=$(host_root "$i")
  name=$(host_name "$i")
  mkdir -p "$state/hosts/$i" "$disk/upper" "$disk/work" "$root"
  printf '%s\n' "$arch" >"$state/hosts/$i/arch"
  mount -t overlay -o "lowerdir=$tree,upperdir=$disk/upper,workdir=$disk/work" "$prefix-$i" "$root"

  tr -d '-' </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  printf '%s\n' "$name" >"$root/etc/hostname"
  # The last host has no entry for itself, so sudo and other programs cannot resolve their own host name.
  if ((count == 1 || i < count)); then
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$root/etc/hosts"
  fi
  # 90: a lower number would win over the 10-netplan-* files.
  cat >"$root/etc/systemd/network/90-mgmt.network" <<NETWORK
[Match]
Name=mgmt0

[Network]
Address=$(host_address "$i")/24
IPv6AcceptRA=no
NETWORK
  for type in ed25519 ecdsa; do          # no RSA: it costs a second of CPU time per host
    ssh-keygen -q -t "$type" -N '' -C "root@$name" -f "$root/etc/ssh/ssh_host_${type}_key"
  done
  for user in root operator guarded nobodysudo; do
    directory=$root/home/$user/.ssh
    [[ $user != root ]] || directory=$root/root/.ssh
    install -d -m 0700 "$directory"
    install -m 0600 "$state/home/.ssh/id_ed25519.pub" "$directory/authorized_keys"
    # Copies the numeric owner from the home directory: this machine does not have these users.
    chown --reference="${directory%/.ssh}" "$directory" "$directory/authorized_keys"
  done
}

known_hosts_write() {
  local disk i key
  for disk in "$state"/disks/*; do
    i=${disk##*/}
    for key in "$(host_root "$i")"/etc/ssh/ssh_host_*_key.pub; do
      printf '%s,%s %s\n' "$(host_address "$i")" "$(host_name "$i")" "$(cut -d ' ' -f 1,2 "$key")"
    done
  done >"$state/home/.ssh/known_hosts"
}

# Switches host I on: its own supervisor keeps it running over reboots.
host_start() {
  local i=$1
  ! process_recorded "$state/hosts/$i/supervisor" >/dev/null || return 0
  rm -f "$state/hosts/$i/off" "$state/hosts/$i/supervisor"
  setsid "$here/lab.sh" supervise "$i" "$(<"$state/generation")" \
    </dev/null >>"$state/hosts/$i/log" 2>&1 8>&- 9>&- &
  disown
}

# Cuts the power. The disk stays as it is; the address no longer answers.
host_stop() {
  local i=$1 tries
  # A new supervisor may not have recorded its process id yet.
  for ((tries = 0; tries < 40; tries++)); do
    [[ ! -s $state/hosts/$i/supervisor ]] || break
    sleep 0.05
  done
  host_kill "$state/hosts/$i"
  network_unplug "$i"
}

# host_supervise I GENERATION, as a separate process: boots host I until it is switched off. Under --keep-unit nspawn
# exits with 133 when the host reboots.
host_supervise() {
  local i=$1 generation=$2 fd code=133
  [[ $(<"$state/generation") == "$generation" ]] || exit 1
  for fd in /proc/self/fd/*; do              # pipes of the caller of "up"
    fd=${fd##*/}
    ((fd <= 2 || fd == 255)) || eval "exec $fd>&-"
  done
  cgroup_enter "$i"
  process_record "$BASHPID" "$state/hosts/$i/supervisor"
  cd /
  while ((code == 133)) && [[ ! -e $state/hosts/$i/off ]]; do
    network_plug "$i"
    rm -f "$state/hosts/$i/leader"
    host_boot "$i" &
    process_record $! "$state/hosts/$i/nspawn"
    code=0
    wait $! || code=$?
    printf 'lab: host %s ended with %s\n' "$i" "$code"
  done
  network_unplug "$i"
}

# Becomes systemd-nspawn. It needs a /sys of the host's own network, because netplan triggers udev in it. It also needs
# CAP_NET_ADMIN, without which networkd skips itself.
host_boot() {
  local i=$1
  local -a more=()
  # runc gives each container a key ring of its own, and sparkplan gives it the right to lock memory.
  [[ $software != docker ]] || more=(--system-call-filter=@keyring --capability=CAP_IPC_LOCK)
  mkdir -p "$state/hosts/$i/cgroup"
  # shellcheck disable=SC2016  # expanded by the inner shell
  exec nsenter --net="$(netns_path "$i")" -- \
    unshare --mount --propagation private -- \
    env -i PATH="$PATH" LC_ALL=C SYSTEMD_NSPAWN_API_VFS_WRITABLE=1 SYSTEMD_NSPAWN_LOCK=0 \
    bash -euc '
      mount --rbind /sys/fs/cgroup "$1"
      mount -t sysfs sysfs /sys
      mount --rbind "$1" /sys/fs/cgroup
      umount --lazy "$1"
      exec systemd-nspawn --register=no --keep-unit --capability=CAP_NET_ADMIN --quiet \
        --resolv-conf=off --timezone=off --link-journal=no \
        --directory="$2" --machine="$3" --hostname="$4" "${@:5}" --boot
    ' boot "$state/hosts/$i/cgroup" "$(host_root "$i")" "$prefix-$i" "$(host_name "$i")" "${more[@]}"
}

# The pid, on this machine, of host I's systemd: the child of nspawn that is number 1 in its own namespace. It is
# recorded until the host's next boot, because the search reads all processes of the machine. A killed one that still
# waits for its last process has no namespaces any more.
host_leader() {
  local nspawn leader record=$state/hosts/$1/leader
  if leader=$(process_recorded "$record") && [[ -e /proc/$leader/ns/cgroup ]]; then
    printf '%s' "$leader"
    return 0
  fi
  nspawn=$(process_recorded "$state/hosts/$1/nspawn") || return 1
  leader=$(host_leader_below "$nspawn") || return 1
  # Another command may have recorded it at the same moment.
  process_record "$leader" "$record" 2>/dev/null || true
  printf '%s' "$leader"
}

host_leader_below() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    if awk '/^NSpid:/ { exit !(NF > 2 && $NF == 1) }' "/proc/$child/status" 2>/dev/null; then
      printf '%s' "$child"
      return 0
    fi
  done
  return 1
}

# host_exec I CMD...
host_exec() {
  local leader
  leader=$(host_leader "$1") || die "host $1 is not running"
  shift
  nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup --root --wd -- \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    "$@"
}

host_boot_id() { host_exec "$1" cat /proc/sys/kernel/random/boot_id </dev/null; }

# Sets `ssh_options`; the calling user's own configuration is ignored.
host_ssh_options() {
  ssh_options=(
    -F /dev/null -i "$state/home/.ssh/id_ed25519"
    -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o LogLevel=ERROR
    -o UserKnownHostsFile="$state/home/.ssh/known_hosts" -o GlobalKnownHostsFile=/dev/null
    -o StrictHostKeyChecking=yes -o ConnectTimeout=5
    -o ServerAliveInterval=5 -o ServerAliveCountMax=3
  )
}

# host_wait I [OLD_BOOT_ID]: waits until a login works, the boot is over, and the boot id has changed.
host_wait() {
  local i=$1 old=${2:-} deadline=$((SECONDS + ready_seconds)) id
  local -a ssh_options
  host_ssh_options
  while ((SECONDS < deadline)); do
    id=$(nsenter --net="$(netns_path controller)" -- \
      ssh -n -o ConnectTimeout=1 "${ssh_options[@]}" "root@$(host_address "$i")" \
      'timeout 30 systemctl is-system-running --wait >/dev/null
       test ! -e /run/nologin && cat /proc/sys/kernel/random/boot_id' 2>/dev/null) || id=
    [[ -z $id || $id == "$old" ]] || return 0
    sleep 0.1
  done
  return 1
}

# hosts_wait "I..." [OLD_BOOT_ID]
hosts_wait() {
  local i failed=()
  local -A waiter=()
  for i in $1; do
    # Runs in the lab's control group, so that no wait outlives the lab if this process is killed.
    { cgroup_enter wait && host_wait "$i" "${2:-}"; } 8>&- 9>&- &
    waiter[$i]=$!
  done
  for i in $1; do
    wait "${waiter[$i]}" || failed+=("$i")
  done
  ((${#failed[@]} > 0)) || return 0
  say "cannot be logged in to: host ${failed[*]}"
  for i in "${failed[@]:0:3}"; do
    say "the console of host $i said last:"
    tail -n 20 "$state/hosts/$i/log" >&2 || true
  done
  exit 1
}
