#!/usr/bin/env bash
# `sparkplan sync` against rsync over ssh between two hosts, from memory to memory or from disk to disk. Run it inside of
# two_hosts.sh, which makes the hosts and a cluster.yaml; a GPU is not needed, but the cores and the memory of such a
# machine are:
#
#   tests/gpu/two_hosts.sh "$PWD/tests/gpu/sync_speed.sh" "$PWD/build/bin/sparkplan"
#
# GIGABYTES (10) is the size of all files, FILES (1) their number, ROUNDS (3) the number of runs. DISK is a folder on a
# disk for the files of both hosts; without it they are in memory. With SOURCE_IN_MEMORY only the receiver's files are on
# the disk, as if each host had a disk of its own. Needs rsync and python3. Prints a table with medians.
# What must hold: both bring the same bytes. No speed is asserted.
set -euo pipefail
sparkplan=$(realpath "$1")
gigabytes=${GIGABYTES:-10} number_of_files=${FILES:-1} rounds=${ROUNDS:-3} disk=${DISK:-} streams=4
readonly source=192.168.100.11 tcp_port=5300 ssh_port=2222 # spark-01 on the fabric, as two_hosts.sh wires it
work=$(mktemp -d -p /dev/shm sparkplan-speed-XXXXXX)
readonly work tree=$work/tree
files=
[ -z "$disk" ] || files=$(mktemp -d -p "$disk" sparkplan-speed-XXXXXX)
readonly files medium=${files:+disk} source_in_memory=${SOURCE_IN_MEMORY:-}
trap 'rm -rf "$work" ${files:+"$files"}' EXIT
command -v rsync >/dev/null || { echo "sync_speed: rsync is not installed" >&2 && exit 1; }

options=(-i "$(realpath ..)/controller" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR)
on() { # HOST COMMAND
  ssh -n "${options[@]}" "root@10.88.$1.2" "$2"
}

# The hosts share this machine's file system, so each mounts its own memory or folder over the directory. The sshd of
# two_hosts.sh does not listen on the fabric, which rsync is to use as sync does.
prepare() {
  local number
  mkdir "$tree"
  for number in 1 2; do
    if [ -n "$files" ] && { [ "$number" = 2 ] || [ -z "$source_in_memory" ]; }; then
      mkdir "$files/$number"
      on "$number" "mount --bind $files/$number $tree"
    else
      on "$number" "mount -t tmpfs -o size=$((gigabytes + 2))G speed $tree"
    fi
  done
  on 1 "for i in \$(seq $number_of_files); do head -c $((gigabytes * 1000000000 / number_of_files)) /dev/urandom >$tree/weights-\$i; done"
  right=$(on 1 "cat $tree/weights-* | sha256sum")
  on 1 "$(command -v sshd) -f $(realpath ..)/sshd-1.conf -p $ssh_port -o ListenAddress=$source:$ssh_port"
}

empty() {
  on 2 "find $tree -mindepth 1 -delete; rm -rf /var/lib/sparkplan/copy"
  on 1 "rm -rf /var/lib/sparkplan/copy"
  settle
}

# Seconds that COMMAND takes.
seconds() { # COMMAND...
  local begin=$EPOCHREALTIME
  "$@" >"$work/output" 2>&1 || { cat "$work/output" >&2 && return 1; }
  awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", end - begin }'
}

# The receiver fetches, as in a sync. The key is readable there, because the hosts share the file system.
by_rsync() {
  local rsync ssh
  rsync=$(command -v rsync) ssh="$(command -v ssh) -p $ssh_port ${options[*]}"
  on 2 "$rsync -a --whole-file --rsync-path=$rsync -e '$ssh' root@$source:$tree/ $tree/"
}

# Plain TCP from memory to memory, without a digest and without a file: the most that the path and these cores carry.
cat >"$work/tcp.py" <<'PYTHON'
import multiprocessing, socket, sys

role, address, port, streams, size = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
EACH, PIECE = size // streams, 1 << 20


def send(connection):
    piece = bytes(PIECE)
    for begin in range(0, EACH, PIECE):
        connection.sendall(memoryview(piece)[:EACH - begin])


def receive(_):
    connection, room, left = socket.create_connection((address, port), timeout=60), bytearray(PIECE), EACH
    while left > 0:
        count = connection.recv_into(room)
        if count == 0:
            sys.exit("the connection ended early")
        left -= count


if role == "serve":
    listener = socket.create_server((address, port))
    listener.settimeout(60)
    print("ready", flush=True)
    ends = [multiprocessing.Process(target=send, args=(listener.accept()[0],)) for _ in range(streams)]
else:
    ends = [multiprocessing.Process(target=receive, args=(i,)) for i in range(streams)]
for end in ends:
    end.start()
for end in ends:
    end.join()
sys.exit(any(end.exitcode for end in ends))
PYTHON

by_tcp() {
  local arguments="$source $tcp_port $streams $((gigabytes * 1000000000))" server line
  coproc SERVER { on 1 "python3 $work/tcp.py serve $arguments"; }
  server=$SERVER_PID
  read -r -t 30 line <&"${SERVER[0]}"
  [ "$line" = ready ]
  seconds on 2 "python3 $work/tcp.py receive $arguments"
  wait "$server"
}

# The receiver's disk alone, with as many writers as TCP has streams. They write to as many files as a sync does: the
# kernel lets one thread at a time write to a file.
by_writing() {
  local each=$((gigabytes * 1000000000 / streams / 8388608))
  on 2 "pids=; for i in \$(seq $streams); do
      dd if=/dev/zero of=$tree/part-\$((i % $number_of_files)) bs=8M seek=\$((i * $each)) count=$each conv=fsync,notrunc status=none & pids=\"\$pids \$!\"
    done; for pid in \$pids; do wait \$pid || exit; done"
}

# The source's file is read from its disk, and what the last case has written is not written meanwhile.
settle() {
  [ -n "$files" ] || return 0
  sync -f "$files"
  [ -n "$source_in_memory" ] || on 1 "for file in $tree/weights-*; do dd of=\$file oflag=nocache conv=notrunc,fdatasync count=0 status=none; done"
}

same() { # WHO
  [ "$(on 2 "cat $tree/weights-* | sha256sum")" = "$right" ] || { echo "FAILED: $1 brought other bytes" && exit 1; }
}

median() { sort -n "$work/$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

row() { # TEXT CASE
  printf '| %s | %s s | %s - %s | %s |\n' "$1" "$(median "$2")" "$(sort -n "$work/$2" | head -n 1)" \
    "$(sort -n "$work/$2" | tail -n 1)" "$(awk -v s="$(median "$2")" -v g="$gigabytes" 'BEGIN { printf "%.2f GB/s", g / s }')"
}

ratio() { # TEXT CASE BY WANTED
  printf '| %s | %s | %s |\n' "$1" "$(awk -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { printf "%.2f", a / b }')" "$4"
}

for node in spark-01 spark-02; do "$sparkplan" trust "$node" --yes >/dev/null; done
printf 'models: [{path: %s, from: spark-01}]\n' "$tree" >>cluster.yaml
run_sync=("$sparkplan" --quiet sync)
prepare
empty
"${run_sync[@]}" # Installs the programs.
for ((round = 0; round < rounds; round++)); do
  empty
  seconds "${run_sync[@]}" >>"$work/sync"
  same sync
  seconds "${run_sync[@]}" >>"$work/again"
  empty
  seconds "${run_sync[@]}" --encrypt >>"$work/encrypted"
  same "sync --encrypt"
  empty
  seconds by_rsync >>"$work/rsync"
  same rsync
  by_tcp >>"$work/tcp"
  empty
  seconds by_writing >>"$work/written"
done
# Of each round, the slower of the two.
paste "$work/tcp" "$work/written" | awk '{ print ($1 > $2 ? $1 : $2) }' >"$work/slower"

printf '%s, %s x%s, %s, Linux %s\n\n' "$(date -I)" "$(nproc)" "$(sed -n 's/^model name\t*://p' /proc/cpuinfo | head -n 1)" \
  "$(awk '/^MemTotal:/ { printf "%d GB", $2 / 1048576 }' /proc/meminfo)" "$(uname -r)"
from=${medium:-memory}
[ -z "$source_in_memory" ] || from=memory
printf '| %s GB, files: %s, from %s to %s | median | min - max | rate |\n|---|---|---|---|\n' "$gigabytes" "$number_of_files" "$from" "${medium:-memory}"
row "sync" sync
row "sync --encrypt" encrypted
row "rsync over ssh" rsync
row "TCP, $streams streams, without files" tcp
row "written to the receiver's ${medium:-memory}, $streams writers, without a network" written
printf '| sync, nothing to do | %s s | | |\n\n| figure | value | wanted |\n|---|---|---|\n' "$(median again)"
ratio "rsync over ssh, to sync" rsync sync "at least 5"
ratio "TCP, to sync" tcp sync ""
ratio "the slower of TCP and of writing, to sync" slower sync "at least 0.9"
ratio "sync, to sync --encrypt" sync encrypted "the price of encryption"
