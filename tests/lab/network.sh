# Network: one namespace with the bridges ("switch"), one for the controller, one per host. The machine's own network
# does not change.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

# Interfaces of a host and, for each, the letter of its bridge and switch port: both QSFP ports of a Spark, each with
# its two halves.
readonly -A cable_letter=([mgmt0]=m [enp1s0f1np1]=a [enP2p1s0f1np1]=b [enp1s0f0np0]=e [enP2p1s0f0np0]=f)

netns_name() { printf '%s-%s' "$prefix" "$1"; }
netns_path() { printf '/run/netns/%s-%s' "$prefix" "$1"; }

network_make() {
  local switch
  switch=$(netns_name switch)
  ip netns add "$switch"
  ip netns add "$(netns_name controller)"
  ip -n "$switch" -batch - <<BATCH
link add brm type bridge mcast_snooping 0
link add bra mtu 9000 type bridge mcast_snooping 0
link add brb mtu 9000 type bridge mcast_snooping 0
link add bre mtu 9000 type bridge mcast_snooping 0
link add brf mtu 9000 type bridge mcast_snooping 0
link set brm up
link set bra up
link set brb up
link set bre up
link set brf up
link add controller type veth peer name eth0 netns $(netns_name controller)
link set controller master brm up
BATCH
  ip -n "$(netns_name controller)" -batch - <<'BATCH'
link set lo up
addr add 10.77.0.254/24 dev eth0
link set eth0 up
BATCH
}

# A fresh namespace with fresh interfaces at each boot: no setting of the previous boot survives (sysctl net.*, MTU,
# addresses, routes, firewall rules).
network_plug() {
  local i=$1 interface letter link_state
  local name mac
  name=$(netns_name "$i")
  network_unplug "$i"
  ip netns add "$name"
  ip -n "$name" link set lo up
  for interface in "${!cable_letter[@]}"; do
    letter=${cable_letter[$interface]}
    link_state=up
    [[ ! -e $state/hosts/$i/cut-$interface ]] || link_state=down
    printf -v mac '02:5a:%02x:00:00:%02x' "'$letter" "$i"
    local mtu=9000
    [[ $letter != m ]] || mtu=1500
    printf 'link add %s%s mtu %s type veth peer name %s mtu 1500 address %s netns %s\n' \
      "$letter" "$i" "$mtu" "$interface" "$mac" "$name"
    printf 'link set %s%s master br%s %s\n' "$letter" "$i" "$letter" "$link_state"
  done | ip -n "$(netns_name switch)" -batch -
  # NetworkManager does not activate software interfaces by itself, as it does with hardware.
  if networkmanager_renders; then
    for interface in "${!cable_letter[@]}"; do
      [[ $interface == mgmt0 ]] || ip -n "$name" link set "$interface" up
    done
  fi
  # networkd does not work under emulation.
  ! emulated || ip -n "$name" -batch - <<BATCH
addr add $(host_address "$i")/24 dev mgmt0
link set mgmt0 up
BATCH
}

# Deletes the links first: links of a deleted namespace disappear only some time later.
network_unplug() {
  local i=$1 letter
  for letter in "${cable_letter[@]}"; do
    ip -n "$(netns_name switch)" link del "$letter$i" 2>/dev/null || true
  done
  [[ ! -e $(netns_path "$i") ]] || ip netns del "$(netns_name "$i")"
}

# cable_set HOST INTERFACE up|down: also remembered for later boots.
cable_set() {
  local i=$1 interface=$2 wanted=$3
  local letter=${cable_letter[$interface]:-}
  [[ -n $letter ]] || die "no such cable: '$interface' (${!cable_letter[*]})"
  if [[ $wanted == down ]]; then
    touch "$state/hosts/$i/cut-$interface"
  else
    rm -f "$state/hosts/$i/cut-$interface"
  fi
  # A switched-off host has no cable in the switch.
  [[ ! -e $(netns_path "$i") ]] || ip -n "$(netns_name switch)" link set "$letter$i" "$wanted"
}

# cable_narrow HOST INTERFACE MTU: until the host's next boot.
cable_narrow() {
  local i=$1 interface=$2 mtu=$3
  local letter=${cable_letter[$interface]:-}
  [[ -n $letter ]] || die "no such cable: '$interface' (${!cable_letter[*]})"
  [[ $mtu =~ ^[0-9]+$ ]] || die "no MTU: '$mtu'"
  ip -n "$(netns_name switch)" link set "$letter$i" mtu "$mtu"
}

# cable_plug HOST INTERFACE LIKE: until the host's next boot.
cable_plug() {
  local i=$1 interface=$2 like=$3
  local letter=${cable_letter[$interface]:-} bridge=${cable_letter[$like]:-}
  [[ -n $letter && -n $bridge ]] || die "no such cables: '$interface', '$like' (${!cable_letter[*]})"
  ip -n "$(netns_name switch)" link set "$letter$i" master "br$bridge"
}
