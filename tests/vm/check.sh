# Checks quickly, and without leaving traces, whether this machine can run the virtual machines.
# shellcheck shell=bash disable=SC2154  # variables of vm.sh

vm_check() {
  local tool missing=() available
  ((EUID == 0)) || { echo "not root"; return 1; }
  [[ $(rootfs_distribution)/$(dpkg --print-architecture) == debian/amd64 ]] ||
    { echo "the guests are made of Debian's packages for amd64, and this is another system"; return 1; }
  for tool in qemu-system-x86_64 qemu-img mmdebstrap mkfs.ext4 ip nsenter unshare setpriv setsid flock \
    ssh ssh-keygen base64 awk chroot apt-config; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  ((${#missing[@]} == 0)) ||
    { echo "missing: ${missing[*]} (tests/install-dependencies.sh vm)"; return 1; }

  unshare --net sh -ec '
    ip link add br0 mtu 9000 type bridge
    ip tuntap add dev tap0 mode tap
    ip link set tap0 mtu 9000 master br0' 2>/dev/null ||
    { echo "cannot create bridges and tap devices in a network namespace"; return 1; }

  available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  ((available > 2600)) || { echo "less than 2.6 GB of memory available"; return 1; }

  if [[ ! -d $(image_path) ]]; then
    [[ -n $(rootfs_codename) && -n $(rootfs_sources) ]] ||
      { echo "no package sources to make a disk image from"; return 1; }
    (($(df --output=avail -k /var/cache | tail -n 1) > 4000000)) ||
      { echo "less than 4 GB free in /var/cache"; return 1; }
  fi
}

rootfs_distribution() {
  # shellcheck source=/dev/null
  (source /etc/os-release && printf '%s' "${ID:-}")
}

# A simple processor model: "max" has five levels of page tables, which slow down every TLB miss under emulation.
readonly vm_processor=qemu64,-svm

# Prints "kvm" if the guests' kernel really runs under it, else "tcg": /dev/kvm may exist and not work. The kernel ends
# when its first program ends, and QEMU with it.
acceleration_find() {
  [[ -w /dev/kvm ]] || { echo tcg; return; }
  if timeout -k 1 10 qemu-system-x86_64 -accel kvm -cpu "$vm_processor" -m 256 -nodefaults -display none \
    -no-reboot -kernel "$image/vmlinuz" -initrd "$image/initrd.img" -append 'rdinit=/bin/true panic=-1' \
    </dev/null >/dev/null 2>&1; then
    echo kvm
  else
    echo tcg
  fi
}
