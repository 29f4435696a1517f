"""Kills the agent before its N-th system call of a kind, for every kind that changes something."""
import dataclasses
import re

import sweep
import verdict
from nodes import AGENT

RENAMES = ("rename", "renameat", "renameat2")
SYNCS = ("fsync", "fdatasync")
REMOVALS = ("unlink", "unlinkat", "rmdir")
WRITES = ("write", "pwrite64", "ftruncate")
MESSAGES = ("sendmsg", "sendto")
MODES = ("fchmod", "fchmodat", "fchown", "mkdir", "mkdirat", "link", "linkat", "symlinkat")
CALLS = (*RENAMES, *SYNCS, "openat", "openat2", "open", *REMOVALS, *WRITES, *MESSAGES, *MODES)
OPENS = ("openat", "openat2", "open")
GROUPS = {**dict.fromkeys(RENAMES, "rename"), **dict.fromkeys(SYNCS, "fsync"), **dict.fromkeys(OPENS, "open to write"),
          **dict.fromkeys(REMOVALS, "unlink"), **dict.fromkeys(WRITES, "write"),
          **dict.fromkeys(MESSAGES, "sendmsg"), **dict.fromkeys(MODES, "mode, owner, directory")}

TYPES = (("90-sparkplan.conf", "limits.d", "limits"), ("sysctl", "", "sysctl"), ("limits.d", "", "limits"),
         ("sparkplan-env", "", "profile_env"), ("nccl", "", "nccl_env"), ("/etc/hosts", "", "hosts"),
         ("/ssh/", "", "ssh_trust"), ("ssh_trust", "", "ssh_trust"), ("/.ssh/", "", "ssh_trust"),
         ("/etc/systemd/", "", "systemd_unit"), ("systemd_unit", "", "systemd_unit"), ("netplan", "", "netplan"))

LAUNCH = """n=1; while ! mkdir /run/lab/connection-$n; do n=$((n + 1)); done
shift 2
{only}exec /usr/bin/sudo -n -- strace -q -s 400 -o /run/lab/trace-$n {options} -- "$@"
exec /usr/bin/sudo -n -- "$@"
"""
LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")
TOLD = re.compile(r'progress\\":\\"([^"\\]+)')
KILLED = "+++ killed by SIGKILL +++"


@dataclasses.dataclass(frozen=True)
class Point:
    connection: int
    call: str
    number: int
    about: str


def type_of(told):
    """The resource type of a step, derived from the agent's progress message."""
    for word, also, name in TYPES:
        if word in told and also in told:
            return name
    return told


def calls_of(trace):
    """(process, call, arguments) in order; an interrupted call counts at the position where it began."""
    for line in trace.splitlines():
        found = LINE.match(line)
        if found:
            yield found.groups()


def points_of(trace, connection):
    """The crash points of a trace. The trace begins with the agent's process; its child programs end with the agent."""
    points, counts, about, agent = [], {}, "before the first step", None
    for process, call, arguments in calls_of(trace):
        agent = agent or process
        if process != agent or call not in CALLS:
            continue
        counts[call] = counts.get(call, 0) + 1
        told = TOLD.search(arguments) if call == "write" else None
        if told:
            about = type_of(told.group(1))
        elif call == "write" and 'reply\\":' in arguments and about != "before the first step":
            about = "after the last step"
        # A call that only reads, or that finds its target already there, changes nothing.
        reads = call in OPENS and not re.search(r"O_WRONLY|O_RDWR", arguments)
        if not reads and not arguments.endswith("= -1 EEXIST (File exists)"):
            points.append(Point(connection, call, counts[call], about))
    return points


# strace counts calls per process: a program that the agent starts is killed at its own N-th call. With -f every call of
# every program stops, so -f is used only up to this number.
CALLS_OF_PROGRAMS = 8


# Without --seccomp-bpf, because strace injects no signals with it.
def launch(options, only_connection=None):
    only = f"[ $n -ne {only_connection} ] || " if only_connection else ""
    return LAUNCH.format(only=only, options=options)


def record(node, direction):
    """The points of one undisturbed run."""
    node.go_to(direction.begin)
    node.watch(launch("-f --seccomp-bpf -e trace=" + ",".join(CALLS)))
    run = node.go(direction)
    if run.code != 0:
        raise RuntimeError(f"{direction} under strace ended with {run.code}: {run.said}")
    points = []
    connection = 1
    while (trace := node.ask("read", f"/run/lab/trace-{connection}")) is not None:
        points += points_of(trace, connection)
        connection += 1
    node.watch(None)
    if not points:
        raise RuntimeError(f"{direction}: strace has seen nothing")
    return points


def strike(node, direction, point):
    outcome = sweep.Outcome(direction.name, GROUPS[point.call], point.number, point.about)
    follow = "-f " if point.number <= CALLS_OF_PROGRAMS else ""
    node.watch(launch(f"{follow}-e trace={point.call} -e inject={point.call}:signal=KILL:when={point.number}",
                      point.connection))
    run = node.finish(node.start(direction.version, *direction.command))
    trace = node.ask("read", f"/run/lab/trace-{point.connection}") or ""
    outcome.hit = KILLED in trace
    outcome.code = run.code
    if run.code not in sweep.DOCUMENTED:
        outcome.untrue.append(f"the run ended with {run.code}: {run.said[-600:]}")
    if run.code == 0 and verdict.differs(node.ask("tree"), node.trees[direction.end]):
        outcome.untrue.append("the run says that all is done, and it is not")
    if run.code not in (0, None) and node.name not in run.said:
        outcome.untrue.append(f"the run does not name the node: {run.said[-300:]}")
    return sweep.judge(node, direction, outcome)
