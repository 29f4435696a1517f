#!/usr/bin/env python3
"""Measures `sparkplan sync` on the lab's hosts: seven receivers against one, against an rsync daemon and scp, and with
nothing to do.

usage: sync_speed.py [--rounds N] [--megabytes N] [--limit RATE] [--receivers N] [--in-place GB] [--write FILE]

Needs root, a release build, and rsync on this machine. All figures of a table come from one run. Compared programs run
in turn, and the table shows medians. --write puts the table between the marks in FILE (docs/performance.md).
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import lab_hosts
import written
from lab_hosts import ROOT, Failed, Sample, address, boot, environment, lab, settle

SPARKPLAN = str(ROOT / "build/bin/sparkplan")
FABRIC = "enp1s0f1np1"
HOME = "/srv/speed"
PROGRAMS = "/opt/speed"  # On the hosts, with the machine's own rsync and its libraries.
SMALL = 100_000
DAEMON_DEADLINE_S = 20
CLUSTER = """version: 1
name: speed
fabric: {topology: switch, port: 1}
models: [{path: /srv/speed/tree, from: spark-01}]
ssh: {user: root}
nodes:
"""
DAEMON = f"""use chroot = no
uid = root
gid = root
[speed]
path = {HOME}
read only = yes
"""
MAKE = {"one": "head -c {bytes} /dev/urandom >one",
        "many": "head -c {bytes} /dev/urandom | split -b {small} -a 5 -d - file-"}


def on(number, line):
    return lab("exec", str(number), "--", "sh", "-c", line)


def on_each(numbers, line):
    with concurrent.futures.ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(lambda number: on(number, line), numbers))


def put_rsync(number):
    """Copies this machine's rsync to a host. Both have the same distribution; the host lacks some of its libraries."""
    folder = pathlib.Path(lab("root", str(number)) + PROGRAMS)
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("rsync")
    shutil.copy(program, folder / "rsync")
    for library in re.findall(r"=> (/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout):
        if not re.match(r"(libc|libm|libpthread|libdl)\.so", pathlib.Path(library).name):
            shutil.copy(library, folder)


class Speed:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.bytes = options.megabytes * 1_000_000
        self.samples = collections.defaultdict(list)
        self.never_idle = 0
        self.load_before = os.getloadavg()[0]
        self.receivers = list(range(2, options.receivers + 2))

    # The hosts.

    def prepare(self):
        count = self.options.receivers + 1
        boot(count)
        self.env = environment()
        nodes = "".join(f"  - {{name: spark-{i:02}, address: {address(i)}}}\n" for i in range(1, count + 1))
        (self.work / "cluster.yaml").write_text(CLUSTER + nodes)
        self.untimed([SPARKPLAN, "--quiet", "apply", "--yes"])
        self.source = on(1, f"ip -4 -br address show {FABRIC}").split()[2].split("/")[0]
        for number in (1, 2):
            put_rsync(number)
        key = pathlib.Path(lab("root", "2") + "/root/.ssh/speed")
        shutil.copy(lab("key"), key)
        key.chmod(0o600)
        self.start_daemon()

    def start_daemon(self):
        pathlib.Path(lab("root", "1") + PROGRAMS + "/rsyncd.conf").write_text(DAEMON)
        on(1, f"systemd-run --quiet --unit=speed --setenv=LD_LIBRARY_PATH={PROGRAMS} {PROGRAMS}/rsync --daemon "
              f"--no-detach --address={self.source} --config={PROGRAMS}/rsyncd.conf")
        end = time.monotonic() + DAEMON_DEADLINE_S
        while True:
            try:
                on(2, f"LD_LIBRARY_PATH={PROGRAMS} {PROGRAMS}/rsync rsync://{self.source}/")
                return
            except Failed:
                if time.monotonic() > end:
                    raise

    def make(self, what):
        on(1, f"rm -rf {HOME} && mkdir -p {HOME}/tree && cd {HOME}/tree && " +
           MAKE[what].format(bytes=self.bytes, small=SMALL))
        self.wanted = self.there(1)

    @staticmethod
    def there(number):
        """Number and bytes of the files on a host."""
        return on(number, f"find {HOME}/tree -type f -printf '%s\\n' | "
                          "awk '{ n++; s += $1 } END { printf \"%d %.0f\", n, s }'")

    def reset(self):
        """The receivers have nothing, and no one knows a digest."""
        on(1, "rm -rf /var/lib/sparkplan/copy")
        on_each(self.receivers, f"rm -rf {HOME} /var/lib/sparkplan/copy && mkdir -p {HOME}")

    # The cases.

    def untimed(self, argv):
        return Sample(argv, self.env, self.work)

    def run(self, case, argv, receivers):
        if not settle():
            self.never_idle += 1
        self.samples[case].append(Sample(argv, self.env, self.work).wall)
        print(f"  {case}: {self.samples[case][-1]:.3f} s", file=sys.stderr)
        for number in receivers:
            if self.there(number) != self.wanted:
                raise Failed(f"{case}: host {number} has {self.there(number)} instead of {self.wanted}")

    def sync(self, case, receivers, *flags):
        only = [word for number in (1, *receivers) for word in ("--only", f"spark-{number:02}")]
        self.run(case, [SPARKPLAN, "--quiet", "sync", *only, *flags], receivers)

    def on_receiver(self, case, line):
        """A program on the first receiver, started over SSH as sync starts its own."""
        known = pathlib.Path(self.env["HOME"]) / ".ssh/known_hosts"
        self.run(case, ["ssh", "-F", "/dev/null", "-i", lab("key"), "-o", "BatchMode=yes", "-o",
                        f"UserKnownHostsFile={known}", f"root@{address(2)}", line], [2])

    def rsync(self, case):
        self.on_receiver(case, f"LD_LIBRARY_PATH={PROGRAMS} {PROGRAMS}/rsync -a rsync://{self.source}/speed/ {HOME}/")

    def scp(self, case):
        self.on_receiver(case, "scp -q -r -p -i /root/.ssh/speed -o BatchMode=yes -o StrictHostKeyChecking=no "
                               f"-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@{self.source}:{HOME}/tree {HOME}")

    def compared(self, what):
        self.make(what)
        for _ in range(self.options.rounds):
            self.reset()
            self.sync(f"{what} sync", [2])
            self.sync(f"{what} sync again", [2])
            self.reset()
            self.rsync(f"{what} rsync")
            self.rsync(f"{what} rsync again")
            self.reset()
            self.scp(f"{what} scp")

    def fan_out(self):
        self.make("one")
        for _ in range(self.options.rounds):
            for case, receivers in (("to one", [2]), ("to all", self.receivers)):
                self.reset()
                self.sync(case, receivers, "--limit", self.options.limit)

    def in_place(self):
        """Both hosts have one large hole, so that it takes no memory. The first sync reads both."""
        self.reset()
        on_each((1, 2), f"rm -rf {HOME} && mkdir -p {HOME}/tree && truncate -s {self.options.in_place}GB {HOME}/tree/hole "
                        f"&& touch -d @0 {HOME}/tree/hole {HOME}/tree")
        self.wanted = self.there(1)
        self.untimed([SPARKPLAN, "--quiet", "sync", "--only", "spark-01", "--only", "spark-02"])
        for _ in range(self.options.rounds):
            self.sync("in place again", [2])

    # The table.

    def median(self, case):
        return statistics.median(self.samples[case])

    def table(self):
        size = f"{self.options.megabytes / 1000:g} GB"
        many = f"{self.bytes // SMALL:,} x {SMALL // 1000} KB"
        limit = f"--limit {self.options.limit}"
        rows = [(f"sync, 1 x {size}, to one node, {limit}", "to one"),
                (f"the same to {self.options.receivers} nodes", "to all")]
        for what, text in (("one", f"1 x {size}"), ("many", many)):
            rows += [(f"sync, {text}", f"{what} sync"), (f"rsync daemon, {text}", f"{what} rsync"),
                     (f"scp, {text}", f"{what} scp"), (f"sync, {text}, nothing to do", f"{what} sync again"),
                     (f"rsync daemon, {text}, nothing to do", f"{what} rsync again")]
        if self.options.in_place > 0:
            rows.append((f"sync, 1 x {self.options.in_place} GB that are in place, nothing to do", "in place again"))
        lines = []
        for text, case in rows:
            found = self.samples[case]
            rate = "" if case.endswith("again") else f"{self.bytes / 1e6 / self.median(case):.0f}"
            lines.append((text, f"{self.median(case):.3f} s", f"{min(found):.3f} - {max(found):.3f}", str(len(found)), rate))
        return written.table(("what", "median", "min - max", "runs", "MB/s per node"), lines)

    def ratios(self):
        found = []

        def ratio(text, over, under, wanted):
            found.append((text, f"{self.median(over) / self.median(under):.2f}", wanted))

        ratio(f"{self.options.receivers} receivers, to one", "to all", "to one", "at most 1.25")
        for what, text in (("one", "one file"), ("many", "small files")):
            ratio(f"{text}: sync, to the rsync daemon", f"{what} sync", f"{what} rsync", "at most 1")
            ratio(f"{text}: sync, to scp", f"{what} sync", f"{what} scp", "at most 1")
        if self.options.in_place > 0:
            found.append((f"{self.options.in_place} GB that are in place", f"{self.median('in place again'):.3f} s",
                          "less than 1 s"))
        return written.table(("figure", "value", "wanted"), found)

    def report(self):
        head = [f"{written.machine()}, load average before: {self.load_before:.1f}. Controller and hosts share these CPUs, "
                "and the hosts' disks are in memory.", ""]
        tail = ["", "sync computes digests, compares them, writes to the disk and reads it again; rsync and scp do not."]
        if self.never_idle:
            tail.append(f"{self.never_idle} runs began while the machine had other work.")
        return "\n".join(head + self.table() + [""] + self.ratios() + tail) + "\n"


def main():
    arguments = argparse.ArgumentParser(description="Measures `sparkplan sync` on the lab's hosts.")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--megabytes", type=int, default=1000, help="of each directory")
    arguments.add_argument("--limit", default="25MB/s", help="per node and direction, for seven receivers against one")
    arguments.add_argument("--receivers", type=int, default=7)
    arguments.add_argument("--in-place", type=int, default=200, metavar="GB", help="0: without this case")
    arguments.add_argument("--write", type=pathlib.Path)
    options = arguments.parse_args()
    if options.rounds < 1 or options.receivers < 1 or options.megabytes < 1 or options.in_place < 0:
        arguments.error("--rounds, --receivers and --megabytes are at least 1, --in-place is not negative")
    if shutil.which("rsync") is None:
        sys.exit("rsync is not installed: tests/install-dependencies.sh bench")
    with tempfile.TemporaryDirectory() as work:
        speed = Speed(options, pathlib.Path(work))
        try:
            speed.prepare()
            speed.fan_out()
            speed.compared("one")
            speed.compared("many")
            if options.in_place > 0:
                speed.in_place()
            report = speed.report()
        finally:
            lab_hosts.lab("down")
    written.finish("sync_speed.py", report, options.write)


if __name__ == "__main__":
    main()
