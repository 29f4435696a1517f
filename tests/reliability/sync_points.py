"""Strikes a sync at random points: its programs, its controller and its connections. After each strike no file of a
receiver may be torn. The next sync must bring the rest, and may send at most one chunk per connection a second time."""
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import subprocess
import time

import host_processes
import sweep
from nodes import address
from sync_tree import CHUNK

HERE = pathlib.Path(__file__).resolve().parent
TREE = "/srv/struck/model"
MAKER = "/run/lab/sync_tree.py"
HOSTS = 3
CLUSTER = """version: 1
name: struck
fabric: {{topology: switch, port: 1}}
models: [{{path: {tree}, from: spark-01}}]
ssh: {{user: root}}
nodes:
{nodes}"""
NODE = "  - {{name: spark-{number:02}, address: {address}}}\n"

# What is struck; the nodes form one chain.
KINDS = ("sender", "middle", "last", "controller", "SSH connection", "fabric connections")
PLACES = {"sender": 0, "middle": 1, "last": 2}
# With a limit there are fewer connections: see SyncRun::transfer_to.
LIMIT = ("--limit", "60MB/s")
CONNECTIONS, CONNECTIONS_WITH_LIMIT = min(16, max(8, (os.cpu_count() or 1) - 1)), 2
# One that arrives. The one before, whose digest has not arrived, is in the unfinished file already.
CHUNKS = 1
# Small ones: the counters of the interfaces then show what the programs have taken, not what the kernel has in store.
BUFFER = 256 << 10
OVERHEAD = 1.03  # Of headers and of acknowledgements.
SLACK = 2_000_000
GONE_DEADLINE_S = 20
RUN_DEADLINE_S = 120
STRIKE_DEADLINE_S = 10
ATTEMPTS = 3  # To strike one point.
FILES = f"cd {TREE} 2>/dev/null || exit 0; find . -mindepth 1 -path ./.sparkplan-partial -prune -o "


@dataclasses.dataclass(frozen=True)
class Point:
    number: int
    kind: str
    place: int     # Of the struck node in the chain.
    watched: int   # The place of the receiver whose progress decides about the moment.
    phase: str     # "before" its first byte, "during" the transfer, "after" its last byte
    part: float    # Of the phase.
    old: bool      # The receivers have an earlier version.
    forget: bool   # The source has to compute its digests again.
    flags: tuple
    share: float   # Of the connections.

    def about(self):
        begin = "from an earlier version" if self.old else "from nothing"
        words = [f"{self.part:.0%} of the time {self.phase} it receives" if self.phase != "during" else
                 f"{self.part:.0%} received", f"by spark-{self.watched + 1:02}", begin, *self.flags]
        if self.kind not in PLACES and self.kind != "controller":
            words.append(f"of spark-{self.place + 1:02}")
        return " ".join(words)

    @property
    def connections(self):
        return CONNECTIONS_WITH_LIMIT if LIMIT[0] in self.flags else CONNECTIONS


def random_point(number, chance):
    kind = KINDS[number % len(KINDS)]
    place = PLACES.get(kind, chance.randrange(HOSTS))
    phase = chance.choices(("before", "during", "after"), (10, 75, 15))[0]
    old = chance.random() < 0.3
    flags = ("--yes",) if old else ()
    flags += LIMIT if chance.random() < 0.7 else ()
    flags += ("--encrypt",) if chance.random() < 0.25 else ()
    # A source receives nothing, and the controller is no node.
    watched = place if place > 0 and kind != "controller" else chance.randrange(1, HOSTS)
    return Point(number, kind, place, watched, "during" if kind == "fabric connections" else phase,
                 0.95 * chance.random(), old, chance.random() < 0.5, flags, chance.choice((0, 0.5, 1)))


def random_points(seed, count):
    chance = random.Random(seed)
    return [random_point(number, chance) for number in range(count)]


@dataclasses.dataclass
class Outcome(sweep.Outcome):
    again: int = 0  # Bytes that one node received a second time, at most.


@dataclasses.dataclass
class Undisturbed:
    """A sync without a strike: bytes per node by its counters, seconds until the first ones arrive and after the last."""
    received: list
    before: float
    after: float


def each(hosts, work):
    with concurrent.futures.ThreadPoolExecutor(len(hosts)) as pool:
        return list(pool.map(work, hosts))


def names_of(text):
    """By name: kind, mode, owner, time and link's target. Times and modes of directories are set last."""
    found = {}
    for record in text.split("\0")[:-1]:
        kind, mode, owner, size, changed, target, name = record.split(" ", 6)
        found[name] = (kind,) if kind == "d" else (kind, target) if kind == "l" else (kind, mode, owner, size, changed)
        if kind == "d":
            found[name] += (mode, owner)
    return found


def listing(node):
    """Everything in the directory, without the folder of unfinished files."""
    # The link's target is the only field that could have spaces; these trees have none in it.
    names = names_of(node.shell(FILES + r"-printf '%y %m %u:%g %s %T@ %l %P\0'"))
    digests = node.shell(FILES + r"-type f -print0 | xargs -0r sha256sum -z")
    for record in digests.split("\0")[:-1]:
        digest, name = record.split("  ", 1)
        names[name.removeprefix("./")] += (digest,)
    return names


def torn(found, before, right):
    """Names with a content or a property that is neither the earlier nor the right one."""
    problems = []
    for name, now in found.items():
        wanted = (before.get(name), right.get(name))
        if now not in wanted and not (now[0] == "d" and any(one and one[0] == "d" for one in wanted)):
            problems.append(f"{name!r}: {now}, which is neither {wanted[0]} nor {wanted[1]}")
    return problems + [f"{name!r} has vanished" for name in before if name not in found]


def differences(found, right):
    return [f"{name!r}: {found.get(name)} instead of {right.get(name)}"
            for name in sorted({*found, *right}) if found.get(name) != right.get(name)]


class Sync:
    """The cluster of the struck syncs: a source and two receivers."""

    def __init__(self, hosts):
        if len(hosts) < HOSTS:
            raise RuntimeError(f"the syncs need {HOSTS} hosts")
        self.hosts = hosts[:HOSTS]
        self.source, self.receivers = hosts[0], hosts[1:HOSTS]
        nodes = "".join(NODE.format(number=host.number, address=address(host.number)) for host in self.hosts)
        (self.source.directory / "sync.yaml").write_text(CLUSTER.format(tree=TREE, nodes=nodes))
        maker = (HERE / "sync_tree.py").read_text()
        for host in self.hosts:
            host.ask("write", MAKER, maker, 0o644)
            host.shell(f"sysctl -qw net.ipv4.tcp_rmem='4096 131072 {BUFFER}'")
        self.sparkplan("apply", "--yes")
        self.source.shell(f"python3 {MAKER} {TREE} new")
        self.right = listing(self.source)
        self.undisturbed = {old: self.record(old) for old in (False, True)}

    # Runs.

    def start(self, *flags):
        return self.source.start("sync", "sync", "--json", *flags)

    def sparkplan(self, *arguments):
        run = self.source.sparkplan("sync", *arguments)
        if run.code != 0:
            raise RuntimeError(f"sparkplan {' '.join(arguments)} ended with {run.code}: {run.said[-900:]}")
        return run

    def counters(self):
        return each(self.hosts, lambda host: host.ask("received"))

    def received_since(self, begin):
        return [now - then for now, then in zip(self.counters(), begin)]

    def reset(self, old, forget):
        """Brings the receivers to the begin of a point. Returns what they have then."""
        def one(host):
            host.shell(f"rm -rf {TREE} /var/lib/sparkplan/copy")
            if old:
                host.shell(f"python3 {MAKER} {TREE} old")
            return listing(host)
        if forget:
            self.source.shell("rm -rf /var/lib/sparkplan/copy")
        return each(self.receivers, one)

    def record(self, old):
        self.reset(old, False)
        begin = self.counters()
        begun = time.monotonic()
        process = self.start("--yes")
        first = last = begun
        seen = begin[2]
        while process.poll() is None:
            now = self.receivers[1].ask("received")
            if now > seen + CHUNK / 100:
                first = time.monotonic() if first == begun else first
                last, seen = time.monotonic(), now
            wait(process, 0.002)
        end = time.monotonic()
        run = self.source.finish(process)
        if run.code != 0:
            raise RuntimeError(f"an undisturbed sync ended with {run.code}: {run.said[-900:]}")
        wrong = [line for host in self.receivers for line in differences(listing(host), self.right)]
        if wrong:
            raise RuntimeError("an undisturbed sync brought something else: " + "; ".join(wrong[:3]))
        return Undisturbed(self.received_since(begin), first - begun, end - last)

    # The strike.

    def moment_comes(self, point, process, counter):
        """False if the sync ended first."""
        undisturbed = self.undisturbed[point.old]
        if point.phase == "before":
            return wait(process, point.part * undisturbed.before)
        part = point.part if point.phase == "during" else 0.99
        wanted = counter + int(part * undisturbed.received[point.watched])
        while self.hosts[point.watched].ask("received_within", wanted, 0.2) is None:
            if process.poll() is not None:
                return False
        return point.phase == "during" or wait(process, point.part * undisturbed.after)

    def strike(self, point, process):
        """True if something was struck."""
        if point.kind == "controller":
            process.kill()
            return True
        number = self.hosts[point.place].number
        strikes = {"SSH connection": lambda: host_processes.end_login(number),
                   "fabric connections": lambda: host_processes.end_connections(number, point.share, point.number)}
        strike = strikes.get(point.kind, lambda: host_processes.kill_copy(number))
        end = time.monotonic() + STRIKE_DEADLINE_S
        while time.monotonic() < end and process.poll() is None:
            if strike():
                return True
            wait(process, 0.002)
        return False

    # The verdict.

    def judge_report(self, point, run, found, outcome):
        """A run that was struck may fail. It names what was struck, and claims nothing false."""
        outcome.code = run.code
        if point.kind == "controller":
            return
        struck = self.hosts[point.place].name
        # Ended connections are made again.
        allowed = (0,) if point.kind == "fabric connections" else (0, 4)
        if run.code not in allowed:
            outcome.untrue.append(f"the sync ended with {run.code}: {run.said[-900:]}")
        elif run.code != 0 and struck not in run.said:
            outcome.untrue.append(f"the sync does not name {struck}: {run.said[-600:]}")
        nodes = ((run.report() or {}).get("items") or [{}])[0].get("nodes") or []
        states = {node["name"]: node["status"] for node in nodes}
        for host, names in zip(self.receivers, found):
            claims = run.code == 0 or states.get(host.name) in ("sent", "present")
            # Those behind a node that failed receive from another one.
            must = point.kind != "sender" and point.place > 0 and host.name != struck
            missing = differences(names, self.right) if claims or must else []
            if missing:
                outcome.untrue.append(f"{host.name} is {states.get(host.name)} at the end, and lacks " +
                                      "; ".join(missing[:3]))

    def resume(self, point, outcome, begin):
        half = self.counters()
        run = self.source.finish(self.start(*point.flags), RUN_DEADLINE_S)
        if run.code != 0:
            outcome.stuck.append(f"the next sync ended with {run.code}: {run.said[-900:]}")
            return
        got, got_in_all = self.received_since(half), self.received_since(begin)
        for host, names in zip(self.receivers, each(self.receivers, listing)):
            outcome.left += [f"{host.name}: {line}" for line in differences(names, self.right)]
            if host.shell(f"ls -d {TREE}/.sparkplan-partial 2>/dev/null || true"):
                outcome.left.append(f"{host.name}: the folder of unfinished files")
        told = {node["name"]: node["bytes_sent"] for node in run.report()["items"][0]["nodes"]}
        for place, host in enumerate(self.receivers, 1):
            if not told[host.name] <= got[place] <= told[host.name] * OVERHEAD + SLACK:
                outcome.untrue.append(f"{host.name} received {got[place]} bytes in the next sync, which reports "
                                      f"{told[host.name]}")
            again = got_in_all[place] - self.undisturbed[point.old].received[place]
            outcome.again = max(outcome.again, again)
            allowed = point.connections * (CHUNKS * CHUNK + BUFFER) * OVERHEAD + SLACK
            if again > allowed:
                outcome.stuck.append(f"{host.name} received {again} bytes a second time; {allowed:.0f} are {CHUNKS} chunk "
                                     f"for each of {point.connections} connections")
        self.judge_rest(outcome)

    def judge_rest(self, outcome):
        """A third sync has nothing to do."""
        run = self.source.sparkplan("sync", "sync", "--json")
        if run.code != 0:
            outcome.stuck.append(f"a third sync ended with {run.code}: {run.said[-900:]}")
            return
        for node in run.report()["items"][0]["nodes"]:
            if node["status"] != "present" or node["bytes_sent"] != 0:
                outcome.stuck.append(f"a third sync still had to do: {node}")
        if each(self.hosts, listing) != [self.right] * HOSTS:
            outcome.left.append("the third sync has changed something")

    def attempt(self, point):
        outcome = Outcome("sync", point.kind, point.number, point.about())
        before = self.reset(point.old, point.forget)
        begin = self.counters()
        process = self.start(*point.flags)
        outcome.hit = self.moment_comes(point, process, begin[point.watched]) and self.strike(point, process)
        run = self.source.finish(process, RUN_DEADLINE_S)
        gone = each(self.hosts, lambda host: host.ask("programs_gone_within", GONE_DEADLINE_S))
        outcome.lock_s = max(GONE_DEADLINE_S if waited is None else waited for waited in gone)
        if None in gone:
            outcome.stuck.append(f"a program still runs on a host after {GONE_DEADLINE_S} s")
        found = each(self.receivers, listing)
        for host, names, then in zip(self.receivers, found, before):
            outcome.torn += [f"{host.name}: {line}" for line in torn(names, then, self.right)]
        if listing(self.source) != self.right:
            outcome.torn.append("the source's own files have changed")
        self.judge_report(point, run, found, outcome)
        self.resume(point, outcome, begin)
        return outcome


def wait(process, seconds):
    """False if the process ends within that time."""
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        return True


def run(hosts, seed, count, tell):
    sync = Sync(hosts)
    for point in random_points(seed, count):
        begun = time.monotonic()
        outcome = sync.attempt(point)
        for _ in range(ATTEMPTS - 1):
            if outcome.hit or not outcome.good:
                break
            # The sync had ended already: earlier then.
            point = dataclasses.replace(point, part=point.part / 4)
            outcome = sync.attempt(point)
        tell(outcome, time.monotonic() - begun)
