#!/usr/bin/env bash
# examples/storage-nvme-tcp.yaml on two virtual machines: guest 2 exports two volumes over NVMe-TCP (nvmet), guest 1
# mounts them with cluster.yaml. The test covers the first apply, reboots, outages and removal. The results are checked
# with findmnt, nvme, systemctl and the kernel. Speed is not asserted. One line "ok NAME" or "not ok NAME" per check;
# the last line is "N passed, N failed, N skipped".
#
#   tests/vm/storage_test.sh       SPARKPLAN_PROGRAM: the program, build/bin/sparkplan by default
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2154  # variables of two_sparks.sh
# shellcheck disable=SC2016  # expressions that are expanded on a guest
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/vm/two_sparks.sh
source tests/vm/two_sparks.sh

readonly volumes='llm-models raid5-data'

# Makes the volumes once: ext4 with a file that is large enough for measurements.
volumes_made() {
  on 2 "modprobe nvmet-tcp && modprobe loop && mkdir -p /srv/volumes && cd /srv/volumes || exit
    for v in $volumes; do
      mkdir \$v.tree && head -c 16M /dev/urandom >\$v.tree/weights && echo \$v >\$v.tree/name &&
        mkfs.ext4 -q -d \$v.tree \$v.img 64M || exit
    done"
}

# Exports the volumes, as a server does after its boot. The kernel generates a new UUID for a namespace without one, and
# a client treats a volume with another UUID as another disk.
server_starts() {
  on 2 "modprobe nvmet-tcp && modprobe loop && cd /sys/kernel/config/nvmet || exit
    for v in $volumes; do
      mkdir -p subsystems/\$v/namespaces/1 && echo 1 >subsystems/\$v/attr_allow_any_host &&
        blkid --match-tag UUID --output value /srv/volumes/\$v.img >subsystems/\$v/namespaces/1/device_uuid &&
        losetup --find --show /srv/volumes/\$v.img >subsystems/\$v/namespaces/1/device_path &&
        echo 1 >subsystems/\$v/namespaces/1/enable || exit
    done
    mkdir ports/1 && cd ports/1 || exit
    echo tcp >addr_trtype; echo ipv4 >addr_adrfam; echo 0.0.0.0 >addr_traddr; echo 4420 >addr_trsvcid
    for v in $volumes; do ln -s /sys/kernel/config/nvmet/subsystems/\$v subsystems/\$v || exit; done"
}

server_stops() {
  on 2 'cd /sys/kernel/config/nvmet && rm ports/1/subsystems/* && rmdir ports/1 &&
    for s in subsystems/*; do echo 0 >$s/namespaces/1/enable; rmdir $s/namespaces/1 $s; done && losetup --detach-all'
}

# Writes the example with these machines' addresses; of its two nodes, the one with both volumes.
write_example() {
  sed -e "s/192\.168\.0\.100/$("$vm" address 2)/; s/192\.168\.0\.188/$("$vm" address 1)/; /name: spark-02/d" \
    examples/storage-nvme-tcp.yaml >"$work/cluster.yaml"
  sparkplan_types | grep -q '^package ' || sed -i '/^packages:/d' "$work/cluster.yaml"
}
sparkplan_types() { "$program" types; }

# mounted TARGET NQN OPTION...: findmnt lists the target with these options, from that subsystem.
mounted() {
  on 1 "set -e; shown=\$(findmnt --noheadings --types ext4 --output OPTIONS $1)
    for option in ${*:3}; do case ,\$shown, in *,\$option,*) ;; *) echo \"\$shown\"; exit 1;; esac; done
    device=\$(findmnt --noheadings --output SOURCE $1)
    test \"\$(cat /sys/class/block/\${device#/dev/}/device/subsysnqn)\" = $2; test \"\$(cat $1/name)\" = $2"
}
both_mounted() { mounted /mnt/rosa-models llm-models ro noatime norecovery && mounted /mnt/rosa-storage raid5-data rw noatime; }
both_come() { # once the server is there
  becomes_true 1 'findmnt /mnt/rosa-models && findmnt /mnt/rosa-storage' && both_mounted
}

connected_by_name() {
  same "what nvme lists" "$(on 1 'nvme list-subsys -o json' | python3 -c 'import json, sys
text = json.load(sys.stdin)
hosts = text if isinstance(text, list) else [text]
print(" ".join(sorted(s["NQN"] for h in hosts for s in h["Subsystems"])))')" "$volumes"
}
# The boot is over, and no storage unit has failed. On a busy machine other units of the guest may have failed.
settled() {
  on 1 'systemctl is-system-running | grep -x -e running -e degraded && ! systemctl --failed --no-legend "sparkplan-*" "mnt-*" | grep .'
}
units_are_right() {
  on 1 '! systemd-analyze verify --man=no /etc/systemd/system/mnt-*.mount /etc/systemd/system/sparkplan-nvme-*.service 2>&1 |
    grep -e sparkplan -e mnt- && systemctl is-enabled sparkplan-nvme-llm-models.service sparkplan-nvme-raid5-data.service' &&
    settled
}

# Both machines were made from one image, including /etc/nvme.
shared_identity_is_named() {
  cp "$work/cluster.yaml" "$work/cluster.yaml.before"
  printf '  - {name: spark-02, address: %s}\n' "$("$vm" address 2)" >>"$work/cluster.yaml"
  local right=0 code=0
  sparkplan plan >"$work/report" 2>&1 || code=$?
  cat "$work/report"
  same "exit status" "$code" 3 && grep -q 'spark-01 and spark-02 have the same NVMe host name' "$work/report" || right=1
  mv "$work/cluster.yaml.before" "$work/cluster.yaml"
  on 2 'rm /etc/nvme/hostnqn /etc/nvme/hostid'
  on 1 'rm /etc/nvme/hostnqn /etc/nvme/hostid'
  return "$right"
}
identity_is_made() {
  on 1 'grep -qx "nqn.2014-08.org.nvmexpress:uuid:$(cat /etc/nvme/hostid)" /etc/nvme/hostnqn'
}

# refused CODE SED WORDS...: with cluster.yaml changed by SED, an apply ends with CODE and prints WORDS; no data is
# lost.
refused() {
  cp "$work/cluster.yaml" "$work/cluster.yaml.before"
  sed -i "$2" "$work/cluster.yaml"
  local right=0 code=0 words
  sparkplan apply --yes --yes-prune >"$work/report" 2>&1 || code=$?
  cat "$work/report"
  same "exit status" "$code" "$1" || right=1
  for words in "${@:3}"; do grep -q "$words" "$work/report" || right=1; done
  mv "$work/cluster.yaml.before" "$work/cluster.yaml"
  return "$right"
}

verified() {
  sparkplan verify --level storage --json >"$work/report" || return
  python3 -c 'import json, sys
checks = {c["id"]: c for c in json.load(open(sys.argv[1]))["checks"]}
for target in ("rosa-models", "rosa-storage"):
    assert checks["storage/spark-01/mnt/" + target]["status"] == "pass", checks
    assert checks["storage/spark-01/mnt/" + target + "/read"]["value"] > 0, checks' "$work/report"
}
not_verified() { # ROW'S WORDS
  local code=0
  sparkplan verify --level storage --json >"$work/report" || code=$?
  cat "$work/report"
  same "exit status" "$code" 8 && grep -q "$1" "$work/report"
}

# Deletes cluster.yaml and lets `init` write it again from the machine.
comes_back() {
  mv "$work/cluster.yaml" "$work/cluster.yaml.before"
  local right=0
  HOME=$home "$vm" controller -- env -u SSH_AUTH_SOCK -u SPARKPLAN_CLUSTER \
    "$program" init -o "$work/cluster.yaml" "nvidia@$("$vm" address 1)" || right=1
  cat "$work/cluster.yaml"
  grep -q 'subsystem: raid5-data' "$work/cluster.yaml" && exits 0 plan --detailed-exitcode || right=1
  mv "$work/cluster.yaml.before" "$work/cluster.yaml"
  return "$right"
}

drifts() {
  on 1 'mount -o remount,rw,noatime /mnt/rosa-models 2>/dev/null || umount /mnt/rosa-models' &&
    exits 2 drift && exits 0 apply --yes && both_mounted && exits 0 plan --detailed-exitcode
}

busy_stays() {
  on 1 'systemd-run --quiet --unit=reader --working-directory=/mnt/rosa-models sleep infinity' || return
  local right=0
  refused 9 '/rosa-models/,/^nodes/{/^nodes/!d}; s/^storage:$//' 'in use by sleep' && both_mounted || right=1
  on 1 'systemctl stop reader'
  return "$right"
}

reboots() { "$vm" reboot 1 && both_come && exits 0 plan --detailed-exitcode; }

server_restarts() {
  "$vm" reboot 2 && becomes_true 1 'grep -qx connecting /sys/class/nvme/nvme*/state' &&
    not_verified 'does not answer' && exits 0 plan --detailed-exitcode &&
    server_starts && becomes_true 1 '! grep -vx live /sys/class/nvme/nvme*/state' && both_mounted && verified
}

# The server stops while the client reboots, so the client finds no server after its boot.
server_gone_at_boot() {
  "$vm" reboot 1 &
  local reboot=$!
  becomes_true 2 'test -z "$(ss -Htn state established "( sport = :4420 )")"' && server_stops || return
  wait "$reboot" || return
  on 1 '! findmnt /mnt/rosa-models && systemctl is-active multi-user.target' && settled &&
    not_verified 'is not connected' && server_starts && both_come && exits 0 plan --detailed-exitcode
}

nothing_is_left() {
  on 1 '! findmnt /mnt/rosa-models && ! findmnt /mnt/rosa-storage && ! ls /mnt/rosa-models /mnt/rosa-storage 2>/dev/null &&
    ! ls /sys/class/nvme/* 2>/dev/null && ! ls /etc/systemd/system/mnt-rosa* /etc/systemd/system/*/sparkplan-nvme* \
      /etc/systemd/system/sparkplan-nvme* /etc/udev/rules.d/*sparkplan* /etc/nvme/hostnqn /etc/nvme/hostid 2>/dev/null' &&
    settled
}

# The server is reached at an address that only this apply configures on both machines.
behind_the_fabric() {
  cat >"$work/cluster.yaml" <<YAML
version: 1
name: rosa
ssh: {user: nvidia}
fabric: {topology: direct, port: 1}
nodes:
  - name: spark-01
    address: $("$vm" address 1)
    storage: [{target: /mnt/rosa-models, type: ext4, options: [ro], source: {nvme_tcp: {address: 192.168.100.12, subsystem: llm-models}}}]
  - {name: spark-02, address: $("$vm" address 2)}
YAML
  exits 0 apply --yes && mounted /mnt/rosa-models llm-models ro && exits 0 plan --detailed-exitcode &&
    on 1 'grep -q traddr=192.168.100.12, /sys/class/nvme/nvme*/address'
}

# A second target on guest 2, at an address of its own. It answers for any subsystem, and names the one that the apply
# has mounted.
false_server_starts() {
  false_server=$("$vm" address 2)9  # 10.78.0.29
  login root@2 "ip address add $false_server/24 dev mgmt0 &&
    base64 -d >/root/false_nvme_target.py <<<$(base64 -w 0 tests/vm/false_nvme_target.py) &&
    systemd-run --quiet --unit=false-target python3 /root/false_nvme_target.py 4421 llm-models" &&
    becomes_true 2 'ss -Hltn "( sport = :4421 )" | grep -q .'
}
connect_to_false() { on 1 "nvme connect --transport=tcp --nqn=$1 --traddr=$false_server --trsvcid=4421"; }
paths_of_models() { on 1 'grep -lx llm-models /sys/class/nvme/nvme*/subsysnqn | wc -l'; }

# Without our unit, the kernel takes the false target for a second way to the same volume.
false_path_is_shown() {
  connect_to_false scratch && same "paths to the models" "$(paths_of_models)" 2 &&
    sparkplan plan >"$work/report" && grep -q "connected to $false_server port 4421" "$work/report" && exits 2 drift &&
    on 1 'for c in /sys/class/nvme/nvme*; do grep -q trsvcid=4421 $c/address && echo 1 >$c/delete_controller; done; true' &&
    exits 0 plan --detailed-exitcode
}

false_server_is_refused() {
  refused 4 "s/^nodes:/  - {target: \/mnt\/scratch, type: ext4, source: {nvme_tcp: {address: $false_server, port: 4421, subsystem: scratch}}}\n&/" \
    'names another subsystem than scratch' && same "paths to the models" "$(paths_of_models)" 1 && both_mounted &&
    on 1 'systemctl show --property=ActiveState --value sparkplan-nvme-scratch.service | grep -x -e failed -e inactive'
}

# As nvme-cli does when a server lists more of its subsystems.
false_path_is_removed() {
  connect_to_false scratch-2 || true
  becomes_true 1 'test "$(grep -lx llm-models /sys/class/nvme/nvme*/subsysnqn | wc -l)" = 1' && both_mounted &&
    exits 0 apply --yes --yes-prune && exits 0 plan --detailed-exitcode && verified
}

two_sparks
check "a server offers two volumes" volumes_made
check "over TCP" server_starts
check "the example, with these addresses" write_example
check "is valid" exits 0 validate
check "two machines of one image are one host to the server: both are named" shared_identity_is_named
check "a subsystem that the server does not have, and a port at which nothing listens: said in words" \
  refused 4 's/llm-models/no-such-models/; s/subsystem: raid5-data/port: 4421, &/' \
  'refuses no-such-models' 'nothing listens at .* port 4421' '/mnt/rosa-models .*not done'
check "another file system than declared: not mounted, never formatted" \
  refused 9 's/type: ext4/type: xfs/' 'holds the file system ext4, not xfs'
check "first apply" exits 0 apply --yes
check "both are mounted, each from its subsystem, read only without the journal" both_mounted
check "nvme lists both" connected_by_name
check "the host has an identity of its own" identity_is_made
check "the units are right, and systemd content" units_are_right
check "a second plan has nothing to do" exits 0 plan --detailed-exitcode
check "verify: mounted, the right device, readable, a throughput" verified
check "a target that names the subsystem of another server starts" false_server_starts
check "a second path, made by hand, is drift" false_path_is_shown
check "the apply disconnects it, says why, and leaves the other server's volume as it is" false_server_is_refused
check "from then on, a rule removes such a path, whoever makes it" false_path_is_removed
check "init writes the file anew, and nothing is left to do" comes_back
check "what somebody has changed is drift, and mended" drifts
check "a mount that somebody uses is not taken away" busy_stays
check "the client reboots" reboots
check "the server restarts: readers wait, and go on" server_restarts
check "the server is gone at boot: the boot completes, the mounts come later" server_gone_at_boot
sed -i '/^storage:/,/^nodes:/{/^nodes:/!d}; /    storage:/,$d' "$work/cluster.yaml"
check "out of cluster.yaml" exits 0 apply --yes --yes-prune
check "unmounted, disconnected, nothing left" nothing_is_left
check "a server behind the fabric: the apply that makes the fabric mounts it" behind_the_fabric
finish
