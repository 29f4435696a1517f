# Checks quickly, and without leaving traces, whether this machine can run the lab.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

lab_check() {
  local tool missing=() top
  ((EUID == 0)) || { echo "not root"; return 1; }
  for tool in systemd-nspawn mmdebstrap ip nsenter unshare setpriv setsid flock ssh ssh-keygen \
    ps chroot awk dpkg apt-config; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  ((${#missing[@]} == 0)) ||
    { echo "missing: ${missing[*]} (tests/install-dependencies.sh lab)"; return 1; }

  unshare --net --mount --pid --fork true 2>/dev/null ||
    { echo "cannot create network, mount and pid namespaces"; return 1; }
  unshare --net sh -ec '
    ip link add br0 type bridge
    ip link add veth0 mtu 9000 type veth peer name veth1 mtu 1500' 2>/dev/null ||
    { echo "cannot create bridges and veth pairs"; return 1; }
  unshare --net --mount --propagation private sh -c 'mount -t sysfs sysfs /sys' 2>/dev/null ||
    { echo "cannot mount sysfs for another network namespace"; return 1; }
  unshare --mount --propagation private sh -ec '
    mount -t tmpfs tmpfs /mnt
    mkdir /mnt/lower /mnt/upper /mnt/work /mnt/root
    mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
    ' 2>/dev/null ||
    { echo "cannot mount overlayfs"; return 1; }

  top=$(cgroup_hierarchies | head -n 1)
  [[ -n $top ]] || { echo "no control group file system is mounted"; return 1; }
  while read -r top; do
    { mkdir -p "$top/sparklab-check-$$" && rmdir "$top/sparklab-check-$$"; } 2>/dev/null ||
      { echo "cannot create control groups in $top"; return 1; }
  done < <(cgroup_hierarchies)

  emulation_check || return 1
  if [[ ! -d $(rootfs_path) ]]; then
    [[ -n $(rootfs_codename) && -n $(rootfs_sources) ]] ||
      { echo "no package sources to make a root file system of '$(rootfs_codename)' for $arch from"; return 1; }
    (($(df --output=avail -k /var/cache | tail -n 1) > 1000000)) ||
      { echo "less than 1 GB free in /var/cache"; return 1; }
  fi
}
