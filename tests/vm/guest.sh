# Guests: their network, their files, their boot, and ways to run commands on them.
# shellcheck shell=bash disable=SC2154  # variables of vm.sh

# One namespace for the guests and the controller: three bridges and a tap device per cable. The machine's own network
# does not change.
readonly netns=/run/netns/$prefix

network_make() {
  local i
  ip netns add "$prefix"
  {
    printf 'link set lo up\n'
    printf 'link add brm type bridge mcast_snooping 0\n'
    printf 'link add br%s mtu 9000 type bridge mcast_snooping 0\n' a b
    for ((i = 1; i <= $1; i++)); do
      printf 'tuntap add dev %s mode tap\n' "m$i" "a$i" "b$i"
      printf 'link set m%d master brm up\n' "$i"
      printf 'link set %s mtu 9000 master %s up\n' "a$i" bra "b$i" brb
    done
    printf 'addr add 10.78.0.254/24 dev brm\n'
    printf 'link set %s up\n' brm bra brb
  } | ip -n "$prefix" -batch -
}

# Kills all processes in the namespace: only these scripts have started processes there.
network_remove() {
  local pid tries
  [[ -e $netns ]] || return 0
  for ((tries = 0; tries < 200; tries++)); do
    [[ -n $(ip netns pids "$prefix" 2>/dev/null) ]] || break
    for pid in $(ip netns pids "$prefix"); do
      kill -KILL "$pid" 2>/dev/null || true
    done
    sleep 0.05
  done
  ip netns del "$prefix"
}

controller_home_make() {
  mkdir -m 0700 "$state/home" "$state/home/.ssh"
  ssh-keygen -q -t ed25519 -N '' -C "$prefix-controller" -f "$state/home/.ssh/id_ed25519"
  install -m 0600 /dev/null "$state/home/.ssh/known_hosts"
}

# guest_prepare I: its disk, a layer over the image, and its own files. They are passed as a credential from which
# systemd-tmpfiles creates files. Files that already exist, because this is not the first boot, do not change.
guest_prepare() {
  local i=$1 directory=$state/guests/$1 name type
  name=$(guest_name "$i")
  mkdir "$directory"
  qemu-img create -q -f qcow2 -b "$image/disk.img" -F raw "$(guest_disk "$i")"
  tr -d '-' </proc/sys/kernel/random/uuid >"$directory/machine-id"
  for type in ed25519 ecdsa; do
    ssh-keygen -q -t "$type" -N '' -C "root@$name" -f "$directory/ssh_host_${type}_key"
    printf '%s,%s %s\n' "$(guest_address "$i")" "$name" \
      "$(cut -d ' ' -f 1,2 "$directory/ssh_host_${type}_key.pub")" >>"$state/home/.ssh/known_hosts"
  done
  {
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" | guest_file /etc/hosts 0644 root
    printf '%s\n' "$name" | guest_file /etc/hostname 0644 root
    for type in ed25519 ecdsa; do
      guest_file "/etc/ssh/ssh_host_${type}_key" 0600 root <"$directory/ssh_host_${type}_key"
      guest_file "/etc/ssh/ssh_host_${type}_key.pub" 0644 root <"$directory/ssh_host_${type}_key.pub"
    done
    printf 'd %s/.ssh 0700 %s %s\n' /root root root /home/nvidia nvidia nvidia
    guest_file /root/.ssh/authorized_keys 0600 root <"$state/home/.ssh/id_ed25519.pub"
    guest_file /home/nvidia/.ssh/authorized_keys 0600 nvidia <"$state/home/.ssh/id_ed25519.pub"
  } >"$directory/files"
}

# guest_file PATH MODE OWNER: a line of tmpfiles.d(5), with the content from stdin.
guest_file() { printf 'f~ %s %s %s %s - %s\n' "$1" "$2" "$3" "$3" "$(base64 --wrap=0)"; }

guest_disk() { printf '%s/disk-%s-%s.qcow2' "$cache" "$vm" "$1"; }

guest_start() {
  local i=$1
  guest_run "$i" </dev/null >"$state/guests/$i/log" 2>&1 &
  process_record $! "$state/guests/$i/qemu"
  disown
}

# Becomes QEMU. A reboot of the guest happens inside it.
guest_run() {
  local i=$1 fd half slot=4 directory=$state/guests/$1
  local -a cables=() parameters
  for fd in /proc/self/fd/*; do              # pipes of the caller of "up", locks
    fd=${fd##*/}
    ((fd <= 2 || fd == 255)) || eval "exec $fd>&-"
  done
  for half in m a b; do                      # A has a lower PCI address than B
    cables+=(
      -netdev "tap,id=$half,ifname=$half$i,script=no,downscript=no"
      -device "virtio-net-pci,netdev=$half,mac=$(guest_mac "$half" "$i"),romfile=,addr=$((slot++))"
    )
  done
  parameters=(
    root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off
    "systemd.hostname=$(guest_name "$i")" "systemd.machine_id=$(<"$directory/machine-id")"
  )
  cd /
  exec setsid nsenter --net="$netns" -- \
    qemu-system-x86_64 -name "$prefix-$i" -accel "$(<"$state/acceleration")" -cpu "$vm_processor" -smp 1 -m 900 \
    -nodefaults -display none -serial "file:$directory/console" \
    -kernel "$image/vmlinuz" -initrd "$image/initrd.img" \
    -append "${parameters[*]}" \
    -fw_cfg "name=opt/io.systemd.credentials/tmpfiles.extra,file=$directory/files" \
    -drive "file=$(guest_disk "$i"),if=virtio,format=qcow2,cache=unsafe" \
    -device virtio-rng-pci "${cables[@]}"
}

# guest_ssh USER I LINE [OPTION...]: ignores the calling user's own configuration.
guest_ssh() {
  nsenter --net="$netns" -- ssh -F /dev/null -i "$state/home/.ssh/id_ed25519" \
    -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o LogLevel=ERROR \
    -o UserKnownHostsFile="$state/home/.ssh/known_hosts" -o GlobalKnownHostsFile=/dev/null \
    -o StrictHostKeyChecking=yes -o ConnectTimeout=10 \
    -o ServerAliveInterval=10 -o ServerAliveCountMax=3 "${@:4}" \
    "$1@$(guest_address "$2")" "$3"
}

# guest_exec I LINE [OPTION...]: reuses one login, because a new login takes a second under emulation.
guest_exec() {
  guest_ssh root "$1" "$2" -o ControlMaster=auto -o ControlPersist=yes \
    -o ControlPath="$state/guests/$1/connection" "${@:3}"
}

# guest_wait I [OLD_BOOT_ID]: waits until a login works, the boot is over, and the boot id has changed.
guest_wait() {
  local i=$1 old=${2:-} deadline=$((SECONDS + ready_seconds)) id
  while ((SECONDS < deadline)); do
    process_recorded "$state/guests/$i/qemu" >/dev/null || return 1
    id=$(guest_ssh root "$i" \
      'timeout 60 systemctl is-system-running --wait >/dev/null
       test ! -e /run/nologin && cat /proc/sys/kernel/random/boot_id' </dev/null 2>/dev/null) || id=
    [[ -z $id || $id == "$old" ]] || return 0
    sleep 0.2
  done
  return 1
}

# guests_wait "I..." [OLD_BOOT_ID]
guests_wait() {
  local i failed=()
  local -A waiter=()
  for i in $1; do
    guest_wait "$i" "${2:-}" 9>&- &
    waiter[$i]=$!
  done
  for i in $1; do
    wait "${waiter[$i]}" || failed+=("$i")
  done
  ((${#failed[@]} > 0)) || return 0
  say "cannot be logged in to: guest ${failed[*]}"
  for i in "${failed[@]}"; do
    say "QEMU and the console of guest $i said last:"
    tail -n 20 "$state/guests/$i/log" "$state/guests/$i/console" >&2 || true
  done
  exit 1
}

guest_reboot() {
  local before
  guest_exec "$1" '' -O exit 2>/dev/null || true
  before=$(guest_ssh root "$1" 'cat /proc/sys/kernel/random/boot_id; systemctl reboot' </dev/null) ||
    [[ -n $before ]] || die "guest $1 cannot be logged in to"
  guests_wait "$1" "$before"
}
