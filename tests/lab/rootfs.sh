# The root file system that all hosts share, read-only, as the lower layer of an
# overlay. Made once per machine; this file's own text is part of the cache key.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

readonly rootfs_packages=(
  systemd systemd-sysv udev dbus libpam-systemd openssh-server
  iproute2 iputils-ping sudo procps kmod ca-certificates nftables cron rsyslog
)

# Useless under emulation, where networkd does not work and nothing can be traced, and slow to install.
readonly rootfs_native_packages=(netplan.io strace e2fsprogs ufw)

# Of hosts with NetworkManager, which DGX OS has as netplan's renderer.
readonly rootfs_networkmanager_packages=(network-manager)

# Of hosts that start jobs as a user's do: mpirun, a benchmark over MPI, srun.
readonly rootfs_jobs_packages=(openmpi-bin netpipe-openmpi slurmctld slurmd slurm-client munge)

# Of hosts that run containers, with a program to make an image of.
readonly rootfs_containers_packages=(podman crun catatonit busybox-static)

# Of hosts that run containers with docker, in a lab of their own: with both engines, `run` would choose another one.
readonly rootfs_docker_packages=(docker.io busybox-static)

runs_docker() { [[ $software == docker ]]; }
runs_containers() { [[ $software == containers ]]; }
runs_jobs() { [[ $software == jobs ]]; }
networkmanager_renders() { [[ $renderer == NetworkManager ]]; }

# Units that slow the boot down or wait for what is not there.
readonly rootfs_masked=(
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer man-db.timer
  e2scrub_all.timer e2scrub_reap.service fstrim.timer motd-news.timer
  systemd-networkd-wait-online.service systemd-resolved.service systemd-timesyncd.service
  getty.target console-getty.service systemd-hwdb-update.service ldconfig.service
  systemd-pstore.service proc-sys-fs-binfmt_misc.automount systemd-binfmt.service
)

rootfs_codename() {
  # shellcheck source=/dev/null
  (source /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
}

# The directory of the tree for this recipe, distribution, architecture, renderer and software.
rootfs_path() {
  local hash
  hash=$({ cat "$here/rootfs.sh"; rootfs_codename; debian_arch; printf '%s %s' "$renderer" "$software"; } | sha256sum)
  printf '%s/%s' "$cache" "${hash:0:16}"
}

# The distribution's own source files where they can be told, else all of them.
rootfs_sources() {
  local -a files=()
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/{debian,ubuntu}.{list,sources}; do
    [[ ! -f $file ]] || ! grep -Eq '^(deb |deb\[|URIs:)' "$file" || files+=("$file")
  done
  if ((${#files[@]} == 0)); then
    shopt -s nullglob
    files=(/etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources)
    shopt -u nullglob
  fi
  # Debian's servers have all architectures; elsewhere a source has to name one that is not the machine's own.
  if emulated && ! grep -q '^ID=debian$' /etc/os-release; then
    mapfile -t files < <(grep -lrw -- "$(debian_arch)" /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null)
  fi
  ((${#files[@]} == 0)) || printf '%s\n' "${files[@]}"
}

# How this machine's apt reaches its mirrors: proxies, retries, credentials.
rootfs_apt_options() {
  apt-config dump --no-empty | grep '^Acquire::' || true
  [[ ! -f /etc/apt/auth.conf ]] || echo 'Dir::Etc::netrc "/etc/apt/auth.conf";'
  [[ ! -d /etc/apt/auth.conf.d ]] || echo 'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";'
}

# Removes what killed builds have left. A build holds the lock, so that any
# .build-* seen under it is dead.
rootfs_sweep() {
  local leftover
  for leftover in "$cache"/.build-*; do
    [[ ! -e $leftover ]] ||
      flock --nonblock "$cache/.lock-build" rm -rf --one-file-system "$leftover" || true
  done
}

# Sets `tree`.
rootfs_ensure() {
  tree=$(rootfs_path)
  [[ ! -d $tree ]] || return 0
  exec 8>"$cache/.lock-build"
  flock -w 1200 8 || die "another build of the root file system does not end"
  if [[ ! -d $tree ]]; then
    local build
    build=$(mktemp -d "$cache/.build-XXXXXX")
    rootfs_build "$build"
    mv -T "$build/tree" "$tree"
    rm -rf --one-file-system "$build"
  fi
  exec 8>&-
}

# mmdebstrap runs in mount and pid namespaces of its own that end with this
# shell, however it ends: its mounts of /proc, /sys and /dev never outlive it.
rootfs_build() {
  local build=$1 started=$SECONDS include
  local -a sources
  mapfile -t sources < <(rootfs_sources)
  ((${#sources[@]})) || die "no package sources below /etc/apt"
  rootfs_apt_options >"$build/apt.conf"
  local -a packages=("${rootfs_packages[@]}")
  emulated || packages+=("${rootfs_native_packages[@]}")
  ! networkmanager_renders || packages+=("${rootfs_networkmanager_packages[@]}")
  ! runs_jobs || packages+=("${rootfs_jobs_packages[@]}")
  ! runs_containers || packages+=("${rootfs_containers_packages[@]}")
  ! runs_docker || packages+=("${rootfs_docker_packages[@]}")
  include=$(IFS=,; printf '%s' "${packages[*]}")
  say "making the root file system for $arch, once (a minute; two under emulation)"
  setpriv --pdeathsig KILL \
    unshare --fork --pid --mount-proc --kill-child=KILL --propagation private -- \
    mmdebstrap --mode=root --variant=minbase --format=directory --quiet \
    --architectures="$(debian_arch)" --skip=check/qemu \
    --include="$include" --aptopt="$build/apt.conf" \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$(rootfs_codename)" "$build/tree" "${sources[@]}" \
    >"$build/log" 2>&1 </dev/null 8>&- 9>&- &
  wait $! ||                          # in the background: signals are answered at once
    { tail -n 30 "$build/log" >&2; rm -rf --one-file-system "$build"; die "mmdebstrap failed"; }
  rootfs_configure "$build/tree"
  say "root file system made in $((SECONDS - started)) s"
}

rootfs_configure() {
  local root=$1 unit
  find "$root/etc/apt" "$root/var/lib/apt/lists" "$root/var/cache/apt" -type f -delete
  rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/hosts" "$root/etc/hostname" "$root/etc/resolv.conf"
  : >"$root/etc/machine-id"
  rm -f "$root/var/lib/dbus/machine-id"
  mkdir -p "$root/etc/netplan" "$root/etc/systemd/system/systemd-udev-trigger.service.d"

  for unit in "${rootfs_masked[@]}"; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  chroot "$root" systemctl --quiet enable ssh.service
  if emulated; then
    ln -sfn /dev/null "$root/etc/systemd/system/systemd-networkd.service"
  else
    chroot "$root" systemctl --quiet enable systemd-networkd.service
  fi
  ! networkmanager_renders || rootfs_configure_networkmanager "$root"
  # Cases start them with a configuration of their own. The package has made one munge key, so all hosts share it.
  ! runs_jobs || chroot "$root" systemctl --quiet disable slurmctld.service slurmd.service munge.service
  ! runs_containers || rootfs_configure_containers "$root"
  ! runs_docker || rootfs_configure_docker "$root"
  chroot "$root" systemctl --quiet disable ssh.socket 2>/dev/null || true
  # For those cases that log to it: journald alone is what a fresh machine has.
  chroot "$root" systemctl --quiet disable rsyslog.service
  # Only the host's own interfaces: the machine's other devices are not ours to trigger.
  printf '[Service]\nExecStart=\nExecStart=%s\n' \
    'udevadm trigger --type=devices --action=add --subsystem-match=net' \
    >"$root/etc/systemd/system/systemd-udev-trigger.service.d/lab.conf"

  printf 'UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n' \
    >"$root/etc/ssh/sshd_config.d/10-lab.conf"

  # A user's service manager ends ten seconds after the last logout. Where that hangs, which it does
  # at times under cgroup v1, logins wait for two minutes.
  mkdir -p "$root/etc/systemd/logind.conf.d"
  printf '[Login]\nUserStopDelaySec=infinity\n' >"$root/etc/systemd/logind.conf.d/lab.conf"

  # Debian brings a group "operator" along, hence no group of the user's own.
  chroot "$root" useradd --uid 1000 --gid operator --create-home --shell /bin/bash operator
  chroot "$root" useradd --uid 1001 --user-group --create-home --shell /bin/bash guarded
  chroot "$root" useradd --uid 1002 --user-group --create-home --shell /bin/bash nobodysudo
  printf 'guarded:lab-password\n' | chroot "$root" chpasswd
  printf 'operator ALL=(ALL:ALL) NOPASSWD: ALL\n' >"$root/etc/sudoers.d/operator"
  printf 'guarded ALL=(ALL:ALL) ALL\n' >"$root/etc/sudoers.d/guarded"
  chmod 0440 "$root/etc/sudoers.d/operator" "$root/etc/sudoers.d/guarded"
}

# Inside a container, podman has no overlay file system, no keyring and no control groups of its own.
rootfs_configure_containers() {
  local root=$1
  mkdir -p "$root/etc/containers"
  printf '[containers]\nkeyring = false\ncgroups = "disabled"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n' \
    >"$root/etc/containers/containers.conf"
  printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' \
    >"$root/etc/containers/storage.conf"
}

# Inside a container, dockerd has no overlay file system, and may change neither firewall nor bridges. Cases start it:
# where it cannot run, a host still boots.
rootfs_configure_docker() {
  local root=$1
  mkdir -p "$root/etc/docker"
  printf '{"storage-driver": "vfs", "iptables": false, "ip6tables": false, "bridge": "none", "ip-forward": false}\n' \
    >"$root/etc/docker/daemon.json"
  # A host may not write to the control groups of the first version. In a namespace of their own, they begin below
  # those of containerd, and can be mounted again. Other mounts of the host still appear there.
  cat >"$root/usr/local/sbin/with-own-control-groups" <<'SH'
#!/bin/sh
set -e
awk '$3 == "cgroup" && $4 !~ /name=/ { print $2 }' /proc/self/mounts | while read -r directory; do
  umount "$directory"
  mount -t cgroup -o "${directory##*/}" cgroup "$directory"
done
exec "$@"
SH
  # Where root may raise no limit (CAP_SYS_RESOURCE), a container keeps the host's limits.
  cat >"$root/usr/local/sbin/runc" <<'SH'
#!/bin/bash
if ! (ulimit -Hl unlimited) 2>/dev/null && [[ " $* " =~ " create "(.*" ")?--bundle" "([^ ]+) ]]; then
  for limit in "MEMLOCK:$(($(ulimit -Hl) * 1024))" "NOFILE:$(ulimit -Hn)"; do
    sed -Ei "s/(\"RLIMIT_${limit%:*}\",\"hard\":)[0-9]+(,\"soft\":)[0-9]+/\\1${limit#*:}\\2${limit#*:}/" \
      "${BASH_REMATCH[2]}/config.json"
  done
fi
exec /usr/sbin/runc "$@"
SH
  chmod 0755 "$root/usr/local/sbin/with-own-control-groups" "$root/usr/local/sbin/runc"
  mkdir -p "$root/etc/systemd/system/containerd.service.d"
  printf '[Service]\nExecStartPre=\nExecStart=\nExecStart=/usr/bin/unshare --cgroup --mount --propagation slave %s\n' \
    '/usr/local/sbin/with-own-control-groups /usr/bin/containerd' >"$root/etc/systemd/system/containerd.service.d/lab.conf"
  chroot "$root" systemctl --quiet disable docker.service docker.socket containerd.service
}

# As Ubuntu has it: NetworkManager manages what netplan gives it and nothing else, netplan gives it all
# interfaces. mgmt0 stays networkd's, so that nothing done to the fabric can cut the host off.
rootfs_configure_networkmanager() {
  local root=$1 unit
  printf 'network:\n  version: 2\n  renderer: NetworkManager\n' >"$root/etc/netplan/01-network-manager-all.yaml"
  chmod 0600 "$root/etc/netplan/01-network-manager-all.yaml"
  printf '[keyfile]\nunmanaged-devices=*,except:type:wifi,except:type:gsm,except:type:cdma\n' \
    >"$root/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf"
  printf '[device-mgmt0]\nmatch-device=interface-name:mgmt0\nmanaged=0\n' \
    >"$root/etc/NetworkManager/conf.d/90-mgmt.conf"
  # Its own rules take every veth for a container's.
  printf 'SUBSYSTEM=="net", ACTION=="add|change|move", ENV{INTERFACE}=="en*", ENV{NM_UNMANAGED}="0"\n' \
    >"$root/etc/udev/rules.d/86-lab.rules"
  chroot "$root" systemctl --quiet enable NetworkManager.service
  for unit in NetworkManager-wait-online.service wpa_supplicant.service ModemManager.service; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
}
