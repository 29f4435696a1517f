"""What a host shows of processes, listening ports, files and containers, and what of it a job has left.

Only ps, ss, find and podman of the host are asked, from outside, through the probe. Sparkplan is not asked.
"""
import dataclasses
import re
import shlex
import time

# Files that a job, the process starter, the agent or a container engine could leave.
PLACES = "/dev/shm /tmp /var/tmp /run/lock /run/sparkplan /var/lib/sparkplan /usr/local /home /root"
CONTAINERS = "podman ps --all --quiet --no-trunc 2>/dev/null || echo podman-does-not-answer"
# The parent of the shell is the probe.
LOOK = f"""echo $PPID; ps -ww -eo pid=,ppid=,args=
echo '== ports'; ss -Hlntu
echo '== files'; find {PLACES} 2>/dev/null
echo '== containers'; {{containers}}"""

# The machine's own: it starts them at any time. The end of a cut connection's sshd is a matter of sshd and the kernel.
OF_THE_MACHINE = re.compile(r"^(sshd[-a-z]*: |\S*/sshd\b|\S*systemd\S*( |$)|\(\S+\)|"
                            r"\S*/(agetty|cron|CRON|rsyslogd|dbus-daemon)\b)")
# Files of others. A podman or a runtime of containers that is killed in the middle of a start leaves one of its own:
# podman then removes the container, and not that file.
OF_OTHERS = re.compile(r"/systemd-private-|^/tmp/crun\.\w+$|^/var/tmp/\d+$")

AGENT = "/usr/local/libexec/sparkplan/agent --stdio"
STARTER = "/usr/local/libexec/sparkplan/sparkplan-job --stdio"
SSHD = re.compile(r"^sshd[-a-z]*: ")


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    args: str


class Look:
    """One look at a host."""

    def __init__(self, host, containers=False):
        _, text = host.ask("shell", LOOK.format(containers=CONTAINERS if containers else "true"))
        processes, ports, files, engine = re.split(r"^== (?:ports|files|containers)\n", text, flags=re.MULTILINE)
        probe, _, listed = processes.partition("\n")
        found = [line.split(None, 2) for line in listed.splitlines()]
        self.processes = [Process(int(one[0]), int(one[1]), one[2]) for one in found
                          if len(one) == 3 and one[0].isdigit() and one[1].isdigit()]
        own = {one.pid for one in self.below(int(probe))} | {int(probe)}
        self.processes = [one for one in self.processes if one.pid not in own]
        # "tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:*"
        self.ports = {f"{words[0]} {words[4]}" for words in map(str.split, ports.splitlines()) if len(words) > 4}
        self.files = {path for path in files.splitlines() if not OF_OTHERS.search(path)}
        self.containers = set(engine.split())

    def below(self, root):
        """The processes below `root`."""
        family, size = {root}, 0
        while len(family) != size:
            size = len(family)
            family |= {one.pid for one in self.processes if one.parent in family}
        return [one for one in self.processes if one.pid in family and one.pid != root]

    def process(self, pid):
        return next((one for one in self.processes if one.pid == pid), None)

    def started_as(self, words):
        return [one for one in self.processes if one.args.startswith(words)]

    def guardians(self):
        """The upper of the two processes of each process starter."""
        starters = self.started_as(STARTER)
        pids = {one.pid for one in starters}
        parents = {one.parent for one in starters}
        return [one for one in starters if one.parent not in pids and one.pid in parents]

    def workers(self):
        """The lower one. A rank that has not been executed yet looks like it, one level below."""
        guardians = {one.pid for one in self.guardians()}
        return [one for one in self.started_as(STARTER) if one.parent in guardians]

    def session_of(self, pid):
        """The sshd of the connection over which that process was started; None without one."""
        one = self.process(pid)
        while one and not SSHD.match(one.args):
            one = self.process(one.parent)
        return one

    def listens(self, port):
        return any(one.startswith("tcp ") and one.endswith(f":{port}") for one in self.ports)


class Baseline:
    """The state of a host without a job. Processes and ports are those before the first job. Files and containers are
    those after it, because it installs programs, and an engine makes files of its own once."""

    def __init__(self, host):
        self.host = host
        before = Look(host)
        self.args = {one.args for one in before.processes}
        self.ports = before.ports
        self.files, self.containers = before.files, set()

    def learn_files(self, containers):
        after = Look(self.host, containers)
        self.files, self.containers = after.files, after.containers

    def processes_left(self, look):
        return [one for one in look.processes
                if one.args not in self.args and not OF_THE_MACHINE.match(one.args)]

    def left(self, look):
        """Everything that is not there without a job, one line each."""
        name = self.host.name
        return ([f"{name}: process {one.pid}: {one.args[:160]}" for one in self.processes_left(look)] +
                [f"{name}: port {port}" for port in sorted(look.ports - self.ports)] +
                [f"{name}: file {path}" for path in sorted(look.files - self.files)] +
                [f"{name}: container {one}" for one in sorted(look.containers - self.containers)])

    def clear(self, containers):
        """Ends what is left, so that the next cycle is not judged by it."""
        if containers:
            self.host.ask("shell", "podman rm --force --all")
        look = Look(self.host)
        pids = " ".join(str(one.pid) for one in self.processes_left(look))
        if pids:
            self.host.ask("shell", f"kill -KILL {pids}")
        files = " ".join(shlex.quote(path) for path in sorted(look.files - self.files))
        if files:
            self.host.ask("shell", f"rm -rf -- {files}")


def nothing_left_within(seconds, since, left):
    """Polls left() until it is empty: (the seconds since `since`, []), or (None, what is left) at the deadline."""
    while True:
        found = left()
        took = time.monotonic() - since
        if not found and took <= seconds:
            return took, []
        if took > seconds:
            return None, found or ["something was left until after the deadline"]
