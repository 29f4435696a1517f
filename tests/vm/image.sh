# The guests' disk image, kernel and initial RAM disk. Made once per machine; this
# file's own text is part of the cache key.
# shellcheck shell=bash disable=SC2154  # variables of vm.sh

readonly image_packages=(
  linux-image-amd64 initramfs-tools zstd
  systemd systemd-sysv udev dbus libpam-systemd openssh-server netplan.io
  iproute2 iputils-ping sudo procps kmod ethtool
  rdma-core ibverbs-utils ibverbs-providers perftest nvme-cli
)

# Units that slow the boot down or wait for what is not there.
readonly image_masked=(
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer man-db.timer
  e2scrub_all.timer e2scrub_reap.service fstrim.timer motd-news.timer
  systemd-networkd-wait-online.service systemd-timesyncd.service getty.target
  systemd-hwdb-update.service ldconfig.service systemd-pstore.service systemd-binfmt.service
  sys-kernel-debug.mount sys-kernel-tracing.mount
)

# Drivers that no guest has the hardware for: half of the image.
readonly image_left_out=(
  '/lib/modules/*/kernel/drivers/gpu/*' '/lib/modules/*/kernel/drivers/media/*'
  '/lib/modules/*/kernel/drivers/net/wireless/*' '/lib/modules/*/kernel/net/wireless/*'
  '/lib/modules/*/kernel/drivers/ata/*' '/lib/modules/*/kernel/drivers/block/floppy.ko'
  '/lib/modules/*/kernel/sound/*'
  '/usr/share/man/*' '/usr/share/doc/*' '/usr/share/locale/*'
)

readonly max_guests=3

guest_name() { printf 'spark-%02d' "$1"; }
guest_address() { printf '10.78.0.%d' "$1"; }

# guest_mac HALF I: HALF is m (management), a or b.
guest_mac() { printf '52:54:00:%02x:00:%02x' "'$1" "$2"; }

image_path() {
  local hash
  hash=$({ cat "$here/image.sh"; rootfs_codename; } | sha256sum)
  printf '%s/%s' "$cache" "${hash:0:16}"
}

# Removes what killed builds have left; a build holds the lock.
image_sweep() {
  local leftover
  for leftover in "$cache"/.build-*; do
    [[ ! -e $leftover ]] ||
      flock --nonblock "$cache/.lock-build" rm -rf --one-file-system "$leftover" || true
  done
}

# Sets `image`, a directory with disk.img, vmlinuz and initrd.img.
image_ensure() {
  image=$(image_path)
  [[ ! -d $image ]] || return 0
  exec 8>"$cache/.lock-build"
  flock -w 1200 8 || die "another build of the disk image does not end"
  if [[ ! -d $image ]]; then
    local build
    build=$(mktemp -d "$cache/.build-XXXXXX")
    image_build "$build"
    mv -T "$build/image" "$image"
    rm -rf --one-file-system "$build"
  fi
  exec 8>&-
}

# mmdebstrap runs in mount and pid namespaces of its own that end with this
# shell, however it ends: its mounts of /proc, /sys and /dev never outlive it.
image_build() {
  local build=$1 started=$SECONDS include pattern
  local -a sources left_out=()
  mapfile -t sources < <(rootfs_sources)
  ((${#sources[@]})) || die "no package sources below /etc/apt"
  rootfs_apt_options >"$build/apt.conf"
  include=$(IFS=,; printf '%s' "${image_packages[*]}")
  for pattern in "${image_left_out[@]}"; do
    left_out+=(--dpkgopt="path-exclude=$pattern")
  done
  # Before the kernel is installed: what is needed to find the disk, and nothing else.
  mkdir -p "$build/initramfs/conf.d" "$build/image"
  printf 'MODULES=list\nCOMPRESS=zstd\nRESUME=none\n' >"$build/initramfs/conf.d/vm.conf"
  printf '%s\n' virtio_pci virtio_blk ext4 >"$build/initramfs/modules"

  say "making the disk image, once (one or two minutes)"
  setpriv --pdeathsig KILL \
    unshare --fork --pid --mount-proc --kill-child=KILL --propagation private -- \
    mmdebstrap --mode=root --variant=minbase --format=directory --quiet \
    --include="$include" --aptopt="$build/apt.conf" \
    --aptopt='APT::Install-Recommends "false"' "${left_out[@]}" \
    --setup-hook="mkdir -p \"\$1/etc\" && cp -r '$build/initramfs' \"\$1/etc/initramfs-tools\"" \
    "$(rootfs_codename)" "$build/tree" "${sources[@]}" \
    >"$build/log" 2>&1 </dev/null 8>&- 9>&- &
  wait $! ||                          # in the background: signals are answered at once
    { tail -n 30 "$build/log" >&2; rm -rf --one-file-system "$build"; die "mmdebstrap failed"; }
  image_configure "$build/tree"
  cp "$build"/tree/boot/vmlinuz-* "$build/image/vmlinuz"
  cp "$build"/tree/boot/initrd.img-* "$build/image/initrd.img"
  rm -f "$build"/tree/boot/*
  mkfs.ext4 -q -d "$build/tree" -L root "$build/image/disk.img" 3G >>"$build/log" 2>&1 ||
    { tail -n 5 "$build/log" >&2; die "mkfs.ext4 failed"; }
  say "disk image made in $((SECONDS - started)) s"
}

image_configure() {
  local root=$1 unit
  find "$root/etc/apt" "$root/var/lib/apt/lists" "$root/var/cache/apt" -type f -delete
  rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/hosts" "$root/etc/hostname" "$root/etc/resolv.conf"
  : >"$root/etc/machine-id"           # the kernel command line has it
  rm -f "$root/var/lib/dbus/machine-id"
  mkdir -p "$root/etc/netplan" "$root"/etc/systemd/{journald,logind}.conf.d

  for unit in "${image_masked[@]}"; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  printf '[Journal]\nStorage=volatile\n' >"$root/etc/systemd/journald.conf.d/vm.conf"
  # Else each login waits for a new service manager of the user, seconds under emulation.
  printf '[Login]\nUserStopDelaySec=infinity\n' >"$root/etc/systemd/logind.conf.d/vm.conf"
  image_network "$root"
  image_rdma "$root"
  chroot "$root" systemctl --quiet enable systemd-networkd.service ssh.service rdma-over-ethernet.service
  chroot "$root" systemctl --quiet disable ssh.socket 2>/dev/null || true

  printf 'DGX_NAME="DGX Spark"\nDGX_PRETTY_NAME="NVIDIA DGX Spark"\n' >"$root/etc/dgx-release"
  chroot "$root" useradd --uid 1000 --user-group --create-home --shell /bin/bash nvidia
  printf 'nvidia ALL=(ALL:ALL) NOPASSWD: ALL\n' >"$root/etc/sudoers.d/nvidia"
  chmod 0440 "$root/etc/sudoers.d/nvidia"
}

# Names as on a Spark, by MAC address, which also says which guest this is, and so its
# address. 90: 10-netplan-* wins over it.
image_network() {
  local root=$1 directory=$1/etc/systemd/network half i
  local -A names=([a]=enp1s0f1np1 [b]=enP2p1s0f1np1 [m]=mgmt0)
  for half in "${!names[@]}"; do
    {
      printf '[Match]\n'
      for ((i = 1; i <= max_guests; i++)); do printf 'MACAddress=%s\n' "$(guest_mac "$half" "$i")"; done
      printf '\n[Link]\nName=%s\n' "${names[$half]}"
    } >"$directory/10-${names[$half]}.link"
  done
  for ((i = 1; i <= max_guests; i++)); do
    printf '[Match]\nMACAddress=%s\n\n[Network]\nAddress=%s/24\nIPv6AcceptRA=no\n' \
      "$(guest_mac m "$i")" "$(guest_address "$i")" >"$directory/90-mgmt-$i.network"
  done
}

image_rdma() {
  # Without the modules for storage over RDMA, which take seconds to load.
  printf 'ib_uverbs\nrdma_ucm\n' >"$1/etc/rdma/modules/rdma.conf"
  cat >"$1/etc/systemd/system/rdma-over-ethernet.service" <<'UNIT'
[Unit]
Description=RDMA devices on both halves of the port, named like those of a Spark
Wants=sys-subsystem-net-devices-enp1s0f1np1.device sys-subsystem-net-devices-enP2p1s0f1np1.device
After=sys-subsystem-net-devices-enp1s0f1np1.device sys-subsystem-net-devices-enP2p1s0f1np1.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=modprobe rdma_rxe
ExecStart=rdma link add rocep1s0f1 type rxe netdev enp1s0f1np1
ExecStart=rdma link add roceP2p1s0f1 type rxe netdev enP2p1s0f1np1

[Install]
WantedBy=multi-user.target
UNIT
}
