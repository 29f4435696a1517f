#!/usr/bin/env python3
"""Measures sparkplan on the lab's hosts, and compares it with OpenSSH, Ansible and the time of a bare connection.

usage: bench.py [--rounds N] [--slow-rounds N] [--skip-ansible] [--skip-64] [--write FILE]

Needs root, a release build, and Ansible for the comparison. All figures of a table come from one run. Compared programs
run in turn, and the table shows medians. --write puts the table between the marks in FILE (docs/performance.md).
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import types

import lab_hosts
import written
from lab_hosts import ROOT, Failed, Sample, address, boot, environment, lab, settle, start

SPARKPLAN = str(ROOT / "build/bin/sparkplan")
FLOOR = str(ROOT / "build/tests/connect_floor")
PLAYBOOK = str(ROOT / "tests/bench/playbook.yaml")
PROXY = str(ROOT / "tests/bench/delay_proxy.py")
PROXY_ADDRESS = "10.77.0.254"
FIRST_PROXY_PORT = 2201
ONE_WAY_MS = 25

SECTIONS = """version: 1
name: bench
profile: dgx-spark
fabric: {topology: switch, port: 1}
sysctl: {net.core.rmem_max: null, net.core.wmem_max: null, net.core.somaxconn: 8192, net.ipv4.tcp_rmem: 4096 131072 67108864}
limits: [{domain: "*", item: memlock, type: both, value: 4096}, {domain: root, item: memlock, type: both, value: 4096}]
profile_env: {HF_HOME: /mnt/models/hf}
units:
  - name: tune.service
    content: |
      [Service]
      Type=oneshot
      RemainAfterExit=yes
      ExecStart=/bin/true
      [Install]
      WantedBy=multi-user.target
    enabled: true
    state: started
ssh_trust: {users: [operator]}
"""


class Figures:
    """Samples by case, and the table's rows."""

    def __init__(self):
        self.samples = collections.defaultdict(list)

    def add(self, case, sample):
        self.samples[case].append(sample)
        print(f"  {case}: {sample.wall:.3f} s", file=sys.stderr)

    def median(self, case, of="wall"):
        return statistics.median(getattr(sample, of) for sample in self.samples[case])

    def spread(self, case):
        walls = sorted(sample.wall for sample in self.samples[case])
        return f"{walls[0]:.3f} - {walls[-1]:.3f}"

    def count(self, case):
        return len(self.samples[case])


class Bench:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.figures = Figures()
        self.notes = []
        self.never_idle = 0
        self.env = {}

    # The files that the programs read.

    def write_cluster(self, count, name="cluster.yaml", proxied=False):
        lines = [SECTIONS]
        lines.append("ssh: {user: root, host_keys: accept-new}\n" if proxied else "ssh: {user: root}\n")
        lines.append("nodes:\n")
        for i in range(1, count + 1):
            where = f"address: {address(i)}"
            if proxied:
                where = f"address: {PROXY_ADDRESS}, ssh: {{port: {FIRST_PROXY_PORT + i - 1}}}"
            lines.append(f"  - {{name: spark-{i:02}, {where}}}\n")
        (self.work / name).write_text("".join(lines))

    def write_inventory(self, count):
        known = pathlib.Path(self.env["HOME"]) / ".ssh/known_hosts"
        lines = ["[sparks]\n"]
        for i in range(1, count + 1):
            lines.append(f"spark-{i:02} ansible_host={address(i)} ansible_user=root id={i}\n")
        lines.append(f"[sparks:vars]\nansible_ssh_private_key_file={lab('key')}\n"
                     f"ansible_ssh_common_args=-F /dev/null -o UserKnownHostsFile={known}\n")
        (self.work / "inventory").write_text("".join(lines))

    def write_ssh_loop(self, count):
        hosts = " ".join(address(i) for i in range(1, count + 1))
        known = pathlib.Path(self.env["HOME"]) / ".ssh/known_hosts"
        (self.work / "ssh.sh").write_text(
            f"for host in {hosts}; do ssh -F /dev/null -i {lab('key')} -o BatchMode=yes "
            f"-o UserKnownHostsFile={known} root@$host true & done\nwait\n")

    # The cases. Letters as in docs/performance.md.

    def run(self, case, argv, expected=(0,)):
        if not settle():
            self.never_idle += 1
        self.figures.add(case, Sample(argv, self.env, self.work, expected))
        return self.figures.samples[case][-1]

    def sparkplan(self, case, *arguments, expected=(0,)):
        return self.run(case, [SPARKPLAN, "--quiet", *arguments], expected)

    def fresh(self, count):
        boot(count)
        self.env = environment()
        # Ansible must not reuse its connections to the hosts of the previous boot.
        self.env["ANSIBLE_SSH_CONTROL_PATH_DIR"] = tempfile.mkdtemp(dir=self.work)
        self.write_cluster(count)
        self.write_inventory(count)
        self.write_ssh_loop(count)

    def fast_cases(self):
        self.fresh(8)
        Sample([SPARKPLAN, "apply", "--yes", "--quiet"], self.env, self.work)
        # Installs the process starter.
        Sample([SPARKPLAN, "--quiet", "exec", "--", "true"], self.env, self.work)
        floor = [FLOOR, "root", *(address(i) for i in range(1, 9))]
        for _ in range(self.options.rounds):
            self.run("ssh", ["sh", "ssh.sh"])
            self.run("floor", floor)
            self.sparkplan("plan", "plan", "--detailed-exitcode")
            self.sparkplan("exec", "exec", "--", "true")
            self.sparkplan("job", "run", "--", "true")
            self.preflight()
            lab("exec", "3", "--", "sysctl", "-qw", "net.core.somaxconn=128")
            self.sparkplan("drift", "drift", expected=(2,))
            lab("exec", "3", "--", "sysctl", "-qw", "net.core.somaxconn=8192")
            self.sparkplan("validate", "validate")

    def preflight(self):
        """Measures from the start of `run` to the start of its last rank, which prints the time. Its hosts have this
        machine's clock."""
        if not settle():
            self.never_idle += 1
        begun = time.time()
        sample = Sample([SPARKPLAN, "run", "--", "date", "+begun %s.%N"], self.env, self.work)
        ranks = [float(at) for at in re.findall(r"begun (\d+\.\d{9})", sample.output)]
        if len(ranks) != 8:
            raise Failed(f"{len(ranks)} of 8 ranks printed a time:\n{sample.output}")
        self.figures.add("preflight", types.SimpleNamespace(wall=max(ranks) - begun))

    def push(self):
        """Measures the first plan of a node, which includes sending the agent."""
        for _ in range(self.options.rounds):
            lab("exec", "1", "--", "rm", "-f", "/usr/local/libexec/sparkplan/agent")
            self.sparkplan("plan1_push", "plan", "--only", "spark-01")
            self.sparkplan("plan1", "plan", "--only", "spark-01")

    def wire(self):
        self.write_cluster(8, "proxied.yaml", proxied=True)
        targets = [address(i) for i in range(1, 9)]
        self.connections = []
        for delay, case in ((0, "wire0"), (ONE_WAY_MS, "wire")):
            proxy = start([sys.executable, PROXY, str(delay), PROXY_ADDRESS, str(FIRST_PROXY_PORT), *targets],
                          stdout=subprocess.PIPE, text=True)
            try:
                proxy.stdout.readline()
                for _ in range(self.options.rounds):
                    self.sparkplan(case, "plan", "proxied.yaml")
                    counts = [[int(n) for n in proxy.stdout.readline().split()[1:]] for _ in targets]
                    if delay:
                        self.connections += counts
            finally:
                proxy.kill()
                proxy.wait()

    def from_bare(self):
        for _ in range(self.options.slow_rounds):
            self.fresh(8)
            self.sparkplan("apply", "apply", "--yes")
            if self.ansible():
                self.fresh(8)
                self.play("ansible_bare")

    def ansible(self):
        return not self.options.skip_ansible and shutil.which("ansible-playbook") is not None

    def play(self, case, *more):
        sample = self.run(case, ["ansible-playbook", "-i", "inventory", PLAYBOOK, *more])
        return {int(n) for n in re.findall(r"changed=(\d+)", sample.output)}

    def ansible_in_sync(self):
        if not self.ansible():
            self.notes.append("Ansible is not installed here or was left out.")
            return
        self.play("ansible_settle")
        for _ in range(self.options.slow_rounds):
            for case, more in (("ansible_run", []), ("ansible_check", ["--check", "--diff"])):
                if self.play(case, *more) != {0}:
                    raise Failed("a playbook in sync reports changes")

    def sixty_four(self):
        if self.options.skip_64:
            return
        self.fresh(64)
        Sample([SPARKPLAN, "apply", "--yes", "--quiet"], self.env, self.work)
        for _ in range(self.options.rounds):
            self.sparkplan("nodes1", "plan", "--only", "spark-01")
            self.sparkplan("nodes8", "plan", *(word for i in range(1, 9) for word in ("--only", f"spark-{i:02}")))
            self.sparkplan("nodes64", "plan")

    # The table.

    def table(self):
        f = self.figures
        rows = []

        def row(letter, text, case):
            if f.count(case):
                rows.append((letter, text, f"{f.median(case):.3f} s", f.spread(case), str(f.count(case))))

        row("a", "8 x `ssh host true` at once (OpenSSH)", "ssh")
        row("b", "8 x connect, start the agent, its greeting: the floor", "floor")
        row("c", "`sparkplan plan` of 8 nodes, all types, nothing to do", "plan")
        row("d", "`sparkplan drift` of 8 nodes, one changed", "drift")
        row("e", "`sparkplan apply` of 8 bare nodes", "apply")
        row("", "`sparkplan exec -- true` on 8 nodes", "exec")
        row("f", "Ansible, 8 nodes in sync, `--check --diff`", "ansible_check")
        row("", "Ansible, 8 nodes in sync, a run", "ansible_run")
        row("", "Ansible, 8 bare nodes", "ansible_bare")
        row("", "`sparkplan run -- true` on 8 nodes: the preflight, and the job", "job")
        row("g", "its part up to the start of the last rank: connections and preflight", "preflight")
        row("", "`sparkplan validate` of 8 nodes, cold process", "validate")
        row("", "`sparkplan plan` of 1 node", "plan1")
        row("", "the same with the agent's first push", "plan1_push")
        row("", "`sparkplan plan` of 8 nodes through a relay", "wire0")
        row("", f"the same with {2 * ONE_WAY_MS} ms more round-trip time", "wire")
        row("", "1 of 64 nodes", "nodes1")
        row("", "8 of 64 nodes", "nodes8")
        row("", "64 of 64 nodes", "nodes64")
        return written.table(("", "what", "median", "min - max", "runs"), rows)

    def ratios(self):
        f = self.figures
        found = []

        def ratio(text, over, under, wanted):
            if f.count(over) and f.count(under):
                found.append((text, f"{f.median(over) / f.median(under):.2f}", wanted))

        ratio("c / a: plan, to 8 x `ssh true`", "plan", "ssh", "at most 0.36")
        ratio("c / b: plan, to the floor", "plan", "floor", "at most 1.5")
        ratio("f / c: Ansible's check, to plan", "ansible_check", "plan", "at least 50")
        ratio("f / e: Ansible from bare, to apply", "ansible_bare", "apply", "at least 15")
        ratio("64 nodes, to 8", "nodes64", "nodes8", "at most 9")
        if f.count("plan1_push"):
            found.append(("first push of the agent", f"{f.median('plan1_push') - f.median('plan1'):.3f} s", "at most 0.5 s"))
        if f.count("preflight") and f.count("floor"):
            found.append(("g - b: the preflight without the connections",
                          f"{f.median('preflight') - f.median('floor'):.3f} s", "at most 2 s"))
        if f.count("validate"):
            found.append(("validate", f"{1000 * f.median('validate'):.1f} ms", "at most 15 ms"))
        if f.count("wire"):
            extra = (f.median("wire") - f.median("wire0")) / (2 * ONE_WAY_MS / 1000)
            sent, received, turns = (statistics.median(column) for column in zip(*self.connections))
            found.append(("round trips of a plan, from the time they take", f"{extra:.1f}", "at most 11"))
            found.append(("turns of one connection's conversation", f"{turns:.0f}", ""))
            found.append(("bytes per node, sent / received", f"{sent:.0f} / {received:.0f}", ""))
        if f.count("plan"):
            found.append(("CPU of the controller for c", f"{f.median('plan', 'cpu'):.3f} s", ""))
            found.append(("peak memory of the controller for c", f"{f.median('plan', 'peak'):.1f} MB", "at most 40 MB"))
        for agent in sorted((ROOT / "build/bin").glob("sparkplan-agent*.stripped")):
            size = f"{agent.stat().st_size / 1e6:.2f} MB"
            found.append((f"size of {agent.name} (static PIE, hardened)", size, "at most 4.3 MB"))
        return written.table(("figure", "value", "wanted"), found)

    def report(self):
        head = [f"{written.machine()}, load average before: {self.load_before:.1f}. Controller and hosts share these CPUs."]
        if not shutil.which("pyinfra"):
            self.notes.append("pyinfra is not installed here.")
        if self.never_idle:
            self.notes.append(f"{self.never_idle} runs began while the machine had other work.")
        return "\n".join(head + [""] + self.table() + [""] + self.ratios() + [""] + self.notes) + "\n"

    def all(self):
        self.load_before = os.getloadavg()[0]
        self.from_bare()
        self.fast_cases()
        self.push()
        self.wire()
        self.ansible_in_sync()
        self.sixty_four()


def main():
    arguments = argparse.ArgumentParser(description="Measures sparkplan on the lab's hosts.")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--slow-rounds", type=int, default=20, help="of applies and Ansible")
    arguments.add_argument("--skip-ansible", action="store_true")
    arguments.add_argument("--skip-64", action="store_true")
    arguments.add_argument("--write", type=pathlib.Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, pathlib.Path(work))
        try:
            bench.all()
            report = bench.report()
        finally:
            lab_hosts.lab("down")
    written.finish("bench.py", report, options.write)


if __name__ == "__main__":
    main()
