#!/usr/bin/env bash
# The profile dgx-spark on two virtual Sparks: the smallest cluster.yaml, from first plan to a reboot. The results are
# checked with ip, netplan, ping, ibv_devinfo, ssh, getent and perftest. One line "ok NAME" or "not ok NAME" per check;
# the last line is "N passed, N failed, N skipped".
#
#   tests/vm/profile_test.sh       SPARKPLAN_PROGRAM: the program, build/bin/sparkplan by default
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2016  # expressions that are expanded on a guest
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/vm/two_sparks.sh
source tests/vm/two_sparks.sh

readonly ssh=(ssh -o BatchMode=yes -o ConnectTimeout=20 -o StrictHostKeyChecking=yes -o UserKnownHostsFile=/dev/null)

# Lists everything that shows that a file was written, even with the same content.
files_of_guests() {
  local i
  for i in 1 2; do
    on "$i" "find /etc /root /home -printf '$i %p %i %m %U:%G %s %T@ %C@\\n' | sort" || return
  done
}

unchanged_files_after() { # COMMAND...
  local before after
  before=$(files_of_guests) && "$@" && after=$(files_of_guests) || return
  [ -n "$before" ] && [ "$before" = "$after" ] && return
  diff <(printf '%s\n' "$before") <(printf '%s\n' "$after")
  return 1
}

same_on_both() { # LINE EXPECTED
  local i
  for i in 1 2; do
    same "guest $i" "$(on "$i" "$1")" "$2" || return
  done
}

healthy() { same_on_both 'systemctl is-system-running; systemctl --failed --no-legend' running; }

untouched() {
  same_on_both 'cat /proc/sys/net/core/[rw]mem_max; ls /etc/netplan; getent hosts spark-02-fabric
    ip -o -4 address show dev enp1s0f1np1; cat /sys/class/net/enP2p1s0f1np1/mtu' '212992
212992
1500' && [ "$(login nvidia@1 'ulimit -l')" != unlimited ]
}

buffers() { same_on_both 'sysctl -n net.core.rmem_max net.core.wmem_max' $'268435456\n268435456'; }

locked_memory() {
  local i user
  for i in 1 2; do
    for user in nvidia root; do
      same "$user on guest $i" "$(login "$user@$i" 'ulimit -S -l; ulimit -H -l')" $'unlimited\nunlimited' || return
    done
  done
}

addresses() {
  local i half actual expected
  for i in 1 2; do
    actual=$(on "$i" 'for interface in enp1s0f1np1 enP2p1s0f1np1; do
      ip -o -4 address show dev $interface | awk "{ print \$2, \$4 }"
      ip -o link show dev $interface | grep -o " mtu [0-9]*\|[<,]UP[,>]"
      done')
    expected=
    for half in 0 1; do
      expected+="${interfaces[half]} ${networks[half]}.1$i/24"$'\n,UP,\n mtu 9000\n'
    done
    same "guest $i" "$actual" "${expected%$'\n'}" || return
  done
}

netplan_get() {
  local i
  for i in 1 2; do
    same "netplan get, guest $i" \
      "$(on "$i" 'netplan get ethernets' | tr -d '"' | grep -E "^[^ ]+:|^ +- |^ +mtu:" | tr -d ' ' | sort)" \
      "$(printf '%s\n' {enp1s0f1np1,enP2p1s0f1np1}: -192.168.10{0,1}.1"$i"/24 mtu:9000 mtu:9000 | sort)" || return
  done
}

# 8972 bytes and the headers of IP and ICMP: 9000. One byte more must not fit.
pings() {
  local half
  for half in 0 1; do
    on 1 "ping -M do -s 8972 -c 3 -i 0.2 -W 5 ${networks[half]}.12" || return
    on 2 "ping -M do -s 8972 -c 3 -i 0.2 -W 5 ${networks[half]}.11" || return
    if on 1 "ping -M do -s 8973 -c 1 -W 5 ${networks[half]}.12"; then return 1; fi
  done
}

rdma_ports() {
  local i half shown
  for i in 1 2; do
    for half in 0 1; do
      shown=$(on "$i" "ibv_devinfo -v -d ${devices[half]}")
      printf '%s\n' "$shown"
      grep -q 'state:.*PORT_ACTIVE' <<<"$shown" && grep -Eq 'active_mtu:\s+4096 ' <<<"$shown" &&
        grep -Eq "GID\[ *[0-9]+\]:\s+::ffff:${networks[half]}\.1$i, RoCE v2" <<<"$shown" || return
    done
  done
}

# Checks which guest answers, and at which of its addresses.
logs_in() { # FROM TO DESTINATION ADDRESS
  same "from guest $1 to $3" \
    "$("$vm" exec "$1" -- runuser -u nvidia -- "${ssh[@]}" "$3" 'set -- $SSH_CONNECTION; echo $(hostname) $(id -un) $3')" \
    "spark-0$2 nvidia $4"
}

logins() {
  logs_in 1 2 spark-02-fabric 192.168.100.12 && logs_in 2 1 spark-01-fabric 192.168.100.11 &&
    logs_in 1 2 192.168.101.12 192.168.101.12 && logs_in 2 1 spark-01 10.78.0.1 &&
    logs_in 1 1 spark-01-fabric 192.168.100.11
}

# ssh must refuse a host key that differs from the recorded one.
refuses_wrong_key() {
  on 2 'mkdir -p /run/wrong && ssh-keygen -q -t ed25519 -N "" -f /run/wrong/key &&
    $(command -v sshd) -p 2222 -h /run/wrong/key -o PidFile=/run/wrong/pid' || return
  local said
  said=$("$vm" exec 1 -- runuser -u nvidia -- "${ssh[@]}" -p 2222 -o HostKeyAlias=spark-02-fabric spark-02-fabric true 2>&1)
  on 2 'kill $(cat /run/wrong/pid); rm -r /run/wrong'
  grep -q 'Host key verification failed' <<<"$said" || same "ssh to a stranger" "$said" "Host key verification failed"
}

nccl() {
  same_on_both 'su -l nvidia -c "printenv NCCL_IB_HCA"; grep ^NCCL_IB_HCA /etc/nccl.conf' \
    $'=rocep1s0f1,roceP2p1s0f1\nNCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1'
}

names() {
  same_on_both 'getent hosts spark-01-fabric spark-02-fabric | awk "{ print \$1, \$2 }"' \
    $'192.168.100.11 spark-01-fabric\n192.168.100.12 spark-02-fabric'
}

# Runs as nvidia, who could not lock memory before. The packets must have left through that very device.
writes_over() { # HALF
  local device=${devices[$1]} other=${devices[1 - $1]} port=$((18515 + $1)) server code=0 before after
  local count="cat /sys/class/infiniband/{$device,$other}/ports/1/hw_counters/sent_pkts"
  local -a transfer=(ib_write_bw -d "$device" -x 1 -s 65536 -n 100 -p "$port")
  before=$(on 2 "$count") || return
  "$vm" ssh nvidia@1 -- timeout 100 "${transfer[@]}" >"$work/server" 2>&1 &
  server=$!
  becomes_true 1 "ss -H -t -l -n sport = :$port | grep -q ." || code=1
  [ "$code" -ne 0 ] || login nvidia@2 "timeout 60 ${transfer[*]} ${networks[$1]}.11" || code=1
  [ "$code" -eq 0 ] || kill "$server"
  wait "$server" || code=1
  cat "$work/server"
  after=$(on 2 "$count") || return
  printf 'packets sent by %s and %s before: %s, after: %s\n' "$device" "$other" "${before/$'\n'/, }" "${after/$'\n'/, }"
  # 100 messages of 64 KiB in packets of 4 KiB are 1600.
  [ "$code" -eq 0 ] && [ $((${after%$'\n'*} - ${before%$'\n'*})) -ge 1600 ] &&
    [ $((${after#*$'\n'} - ${before#*$'\n'})) -lt 100 ]
}

drift_is_mended() { # LINE-THAT-DAMAGES NAME-IN-THE-REPORT LINE-THAT-JUDGES EXPECTED
  on 2 "$1" || return
  local report
  report=$(exits 2 drift 2>&1) || { printf '%s\n' "$report"; return 1; }
  grep -q "$2" <<<"$report" || { printf '%s does not name %s\n' "$report" "$2"; return 1; }
  exits 0 apply --yes && same "guest 2 after apply" "$(on 2 "$3")" "$4" && exits 0 drift
}

reboot_first_guest() {
  local before after
  before=$(on 1 'cat /proc/sys/kernel/random/boot_id') && "$vm" reboot 1 || return
  after=$(on 1 'cat /proc/sys/kernel/random/boot_id')
  [ -n "$after" ] && [ "$after" != "$before" ]
}

# Conditions that must hold after every apply.
holds() { # NAME-SUFFIX
  check "plan is in sync$1" exits 0 plan --detailed-exitcode
  check "socket buffers are 256 MiB$1" buffers
  check "logins of nvidia and root may lock all memory$1" locked_memory
  check "both halves have their addresses and an MTU of 9000$1" addresses
  check "frames of 9000 bytes pass over both halves, both ways$1" pings
  check "both HCAs are active, with an MTU of 4096 and the IPv4 GID for RoCE v2$1" rdma_ports
  check "login shells and nccl.conf name both HCAs$1" nccl
  check "the fabric's names resolve$1" names
  check "nvidia gets from node to node over the fabric, host keys checked$1" logins
  check "no unit has failed$1" healthy
}

two_sparks
check "the guests share no NVMe host name" without_nvme_names
check "validate accepts the smallest file" exits 0 validate
check "nothing of it holds before" untouched
check "plan shows changes, and makes none" unchanged_files_after exits 2 plan --detailed-exitcode
check "apply" exits 0 apply --yes
holds ""
check "netplan knows the addresses and the MTU" netplan_get
check "a second apply writes no file" unchanged_files_after exits 0 apply --yes
check "a wrong host key keeps nvidia out" refuses_wrong_key
check "RDMA writes over half A" writes_over 0
check "RDMA writes over half B" writes_over 1
check "a socket buffer changed by hand is found and mended" drift_is_mended \
  'sysctl -q -w net.core.rmem_max=212992' net.core.rmem_max 'sysctl -n net.core.rmem_max' 268435456
check "an MTU changed by hand is found and mended" drift_is_mended \
  'ip link set enP2p1s0f1np1 mtu 1500' enP2p1s0f1np1 'cat /sys/class/net/enP2p1s0f1np1/mtu' 9000
check "a guest reboots" reboot_first_guest
holds " after a reboot"
finish
