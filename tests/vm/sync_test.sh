#!/usr/bin/env bash
# `sparkplan sync` between two virtual machines whose disks are small, fill up, or give errors. The disks are those of
# the kernel's scsi_debug: memory, with sectors that cannot be read. find and sha256sum on the guests judge the result.
# One line "ok NAME" or "not ok NAME" per check; the last line is "N passed, N failed, N skipped".
#
#   tests/vm/sync_test.sh          SPARKPLAN_PROGRAM: the program, build/bin/sparkplan by default
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2154  # variables of two_sparks.sh
# shellcheck disable=SC2016  # expressions that are expanded on a guest
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/vm/two_sparks.sh
source tests/vm/two_sparks.sh

# The bad sectors are behind the file system's tables, which begin its first two groups of 128 MB. They are more than what
# the file and a sync's reserve of 64 MiB leave, so that a file of this size cannot avoid them.
readonly tree=/srv/models/tiny disk_mb=320 file_mb=240
readonly bad_sector=$((136 * 2048)) bad_sectors=$((94 * 2048))

# A file system on a disk of memory, at the directory. Reads of the bad sectors succeed until errors are switched on.
disk_made() { # I
  on "$1" "set -e; modprobe scsi_debug dev_size_mb=$disk_mb medium_error_start=$bad_sector medium_error_count=$bad_sectors opts=0 delay=0
    udevadm settle
    disk=\$(basename \"\$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)\")
    mkfs.ext4 -q -F -b 4096 -N 4096 -m 0 -O ^has_journal /dev/\$disk; mkdir -p $tree; mount /dev/\$disk $tree; rmdir $tree/lost+found; chown nvidia $tree"
}
errors() { # I on|off
  local opts=0
  [ "$2" = off ] || opts=2
  on "$1" "echo $opts >/sys/bus/pseudo/drivers/scsi_debug/opts; sync; echo 3 >/proc/sys/vm/drop_caches"
}
# Whether a file lies on the bad sectors, by the kernel's own word.
is_on_bad_sectors() { # I FILE
  on "$1" "! dd if=$2 of=/dev/null bs=1M 2>/dev/null"
}

source_made() { on 1 "cd $tree && head -c ${file_mb}M /dev/urandom >large && head -c 20k /dev/urandom >small && chown nvidia large small"; }
receiver_empty() { on 2 "find $tree -mindepth 1 -delete; rm -rf /var/lib/sparkplan/copy"; }

names_on() { on "$1" "cd $tree && find . -mindepth 1 -name .sparkplan-partial -prune -o ! -type d -print | sort"; }
digests_on() { on "$1" "cd $tree && find . -name .sparkplan-partial -prune -o -type f -print0 | sort -z | xargs -0r sha256sum"; }
equal_on_both() { same "the files" "$(digests_on 2)" "$(digests_on 1)"; }
# Each name on the receiver is whole: its digest is one of the source's. The test itself fills the disk with `others`.
nothing_torn() {
  digests_on 1 >"$work/right"
  ! digests_on 2 | grep -v '  ./others$' | grep -vxFf "$work/right"
}

# `sync` takes its file with -f alone.
run_sync() {
  HOME=$home "$vm" controller -- env -u SSH_AUTH_SOCK -u SPARKPLAN_CLUSTER COLUMNS=1000 \
    "$program" sync "$@" -f "$work/cluster.yaml"
}

# fails CODE WORDS...: the sync ends with CODE and prints WORDS, and nothing is torn.
fails() {
  local code=0 words
  run_sync >"$work/report" 2>&1 || code=$?
  cat "$work/report"
  same "exit status" "$code" "$1" || return
  for words in "${@:2}"; do grep -q "$words" "$work/report" || return; done
  nothing_torn
}

too_small() {
  on 2 "head -c 60M /dev/zero >$tree/others" || return
  fails 8 'too little space' || return
  same "names on the receiver" "$(names_on 2)" ./others
}

# The disk fills up after the sync has found enough space.
fills_up() {
  local code=0 sync
  run_sync --limit 16MB/s >"$work/report" 2>&1 &
  sync=$!
  becomes_true 2 "grep -q '^C ' $tree/.sparkplan-partial/journal" || return
  on 2 "dd if=/dev/zero of=$tree/others bs=1M 2>/dev/null"
  wait "$sync" || code=$?
  cat "$work/report"
  same "exit status" "$code" 8 && grep -q 'No space left on device' "$work/report" && nothing_torn
}

resumes() {
  on 2 "rm -f $tree/others" || return
  run_sync && equal_on_both
}

# The source lies on the bad sectors: it is named, and the receiver has nothing of that file.
source_gives_errors() {
  errors 1 on && is_on_bad_sectors 1 "$tree/large" || return
  local right=0
  # Its digests are not known, so that every byte is read.
  on 1 'rm -rf /var/lib/sparkplan/copy'
  fails 4 'spark-01' 'Input/output error' 'large' || right=1
  on 2 "! test -e $tree/large" || right=1
  errors 1 off
  return "$right"
}

# The receiver's disk takes the bytes and does not return them. What it wrote is read again before a file gets its name.
receiver_gives_errors() {
  errors 2 on || return
  local right=0
  fails 4 'spark-02' 'Input/output error' 'large' || right=1
  on 2 "! test -e $tree/large" || right=1
  errors 2 off
  return "$right"
}

two_sparks
check "the machines have identities of their own" without_nvme_names
cat >>"$work/cluster.yaml" <<YAML
models: [{path: $tree, from: spark-01}]
YAML
check "a disk of memory for each" eval 'disk_made 1 && disk_made 2'
check "first apply" exits 0 apply --yes
check "the source's files" source_made
check "a disk that is too small: nothing is sent" too_small
check "room again" receiver_empty
check "a disk that fills up during the sync: named, and nothing torn" fills_up
check "with room again, the next sync brings the rest" resumes
check "the receiver is empty" receiver_empty
check "the source's disk gives errors" source_gives_errors
check "the next sync brings everything" resumes
check "the receiver is empty again" receiver_empty
check "the receiver's disk gives errors" receiver_gives_errors
check "the sync after that brings everything" resumes
check "the next has nothing to do" eval 'run_sync | grep -q "nothing to do"'
finish
