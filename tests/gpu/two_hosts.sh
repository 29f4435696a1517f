#!/usr/bin/env bash
# Makes two hosts of this machine and runs COMMAND as their controller. A host is a set of namespaces (network, mounts,
# host name, processes) with an sshd of its own, so NCCL and PyTorch take the hosts for two machines. With two GPUs each host has
# one; with one GPU both share it. With GPUS=all each host has all GPUs.
#
#   tests/gpu/two_hosts.sh COMMAND...       root; needs sshd, ssh-keygen and ip; PROGRAMS may name a directory with them
#
# The hosts are reachable at 10.88.1.2 and 10.88.2.2 as root. Between them are two cables, named as on a DGX Spark:
# enp1s0f1np1 (192.168.100.11 and .12) and enP2p1s0f1np1 (192.168.101.11 and .12), with MTU 9000. COMMAND runs in an empty
# directory with a cluster.yaml. There is no systemd in a host, so `apply` of units or networks is for the lab.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2 && exit 1; }
export PATH="${PROGRAMS:+$PROGRAMS:}$PATH:/usr/sbin:/sbin"
work=$(mktemp -d)
readonly work
keepers=()

cleanup() {
  local pid
  # unshare ignores SIGTERM while it waits; its child ends with it.
  for pid in "${keepers[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  ip link delete management1 2>/dev/null || true
  ip link delete management2 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# Waits up to ten seconds for COMMAND to succeed.
await() { # WHAT COMMAND...
  local what=$1 end=$((SECONDS + 10))
  shift
  until "$@" 2>/dev/null; do
    ((SECONDS < end)) || { echo "two_hosts: $what did not come up in time" >&2 && return 1; }
    sleep 0.05
  done
}

answers() { (exec 3<>"/dev/tcp/10.88.$1.2/22"); }

gpus() { find /dev -maxdepth 1 -name 'nvidia[0-9]*' | sort; }

# What a host runs, in its namespaces, until it is stopped.
host_main() { # NUMBER
  local number=$1 directory
  hostname "spark-0$number"
  for directory in /var/lib/sparkplan /run/sparkplan /usr/local/libexec; do
    mkdir -p "$directory"
    mount -t tmpfs tmpfs "$directory"
  done
  printf '%032x\n' "$number" >"$work/machine-id-$number"
  [ -e /etc/machine-id ] || touch /etc/machine-id
  mount --bind "$work/machine-id-$number" /etc/machine-id
  if [ "$(gpus | wc -l)" -gt 1 ] && [ "${GPUS:-}" != all ]; then mount --bind /dev/null "/dev/nvidia$((2 - number))"; fi
  ip link set lo up
  touch "$work/ready-$number"
  await "the network of host $number" test -e "$work/wired"
  exec "$(command -v sshd)" -D -e -f "$work/sshd-$number.conf"
}

configure_host() { # NUMBER
  local number=$1
  ssh-keygen -q -t ed25519 -N '' -f "$work/host-$number"
  cat >"$work/sshd-$number.conf" <<CONF
ListenAddress 10.88.$number.2
HostKey $work/host-$number
AuthorizedKeysFile $work/controller.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
${HOST_ENVIRONMENT:+SetEnv $HOST_ENVIRONMENT}
CONF
  printf '10.88.%s.2 %s\n' "$number" "$(cut -d' ' -f1,2 "$work/host-$number.pub")" >>"$work/home/.ssh/known_hosts"
}

in_host() { # NUMBER COMMAND...
  local pid=${keepers[$(($1 - 1))]}
  shift
  nsenter --target "$pid" --net -- "$@"
}

address() { # NUMBER INTERFACE ADDRESS MTU
  in_host "$1" ip link set "$2" mtu "$4" up
  in_host "$1" ip address add "$3" dev "$2"
}

wire() {
  local number half name
  for number in 1 2; do
    ip link add "management$number" type veth peer name mgmt0 netns "${keepers[$((number - 1))]}"
    ip address add "10.88.$number.1/24" dev "management$number"
    ip link set "management$number" up
    address "$number" mgmt0 "10.88.$number.2/24" 1500
  done
  half=100
  for name in enp1s0f1np1 enP2p1s0f1np1; do
    in_host 1 ip link add "$name" mtu 9000 type veth peer name "$name" mtu 9000 netns "${keepers[1]}"
    for number in 1 2; do address "$number" "$name" "192.168.$half.1$number/24" 9000; done
    half=$((half + 1))
  done
}

mkdir -p "$work/home/.ssh" /run/sshd
grep -q '^sshd:' /etc/passwd || printf 'sshd:x:998:65534::/run/sshd:/usr/sbin/nologin\n' >>/etc/passwd
ssh-keygen -q -t ed25519 -N '' -f "$work/controller"
for number in 1 2; do
  configure_host "$number"
  export -f host_main gpus await
  export work
  unshare --net --mount --uts --pid --fork --kill-child --mount-proc -- bash -c "host_main $number" 2>"$work/host-$number.log" &
  keepers+=($!)
done
for number in 1 2; do await "host $number" test -e "$work/ready-$number"; done
wire
touch "$work/wired"
for number in 1 2; do await "the sshd of host $number" answers "$number"; done

mkdir "$work/cluster"
cat >"$work/cluster/cluster.yaml" <<YAML
version: 1
name: two-hosts
ssh: {user: root, identity: $work/controller, become: none}
fabric: {topology: direct, port: 1}
nccl: {mode: socket, env: {NCCL_NVLS_ENABLE: 0}}
nodes:
  - {name: spark-01, address: 10.88.1.2}
  - {name: spark-02, address: 10.88.2.2}
YAML
cd "$work/cluster"
HOME=$work/home "$@"
