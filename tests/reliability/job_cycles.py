"""One job, one kill, and what is left on the hosts afterwards."""
import dataclasses
import random
import re
import shutil
import signal
import subprocess
import time

import leftovers
import nodes
from nodes import lab_hosts

KINDS = ("rank", "starter", "agent", "controller", "connection")
# When the kill comes: an agent reads the node for the preflight; a process starter runs; the struck host's rank has
# begun; all ranks listen.
MOMENTS = {"rank": ("starting", "running"),
           "starter": ("asking", "starting", "running"),
           "agent": ("preflight",),
           "controller": ("preflight", "asking", "starting", "running"),
           "connection": ("starting", "running")}
# At these moments the part's work may be done when the kill arrives: an agent answers within milliseconds, and then
# waits for the end of the preflight. The run then goes on, and nothing of it may stay either.
EARLY = ("preflight", "asking")
WAYS = {"starter": ("worker", "guardian"), "connection": ("cable", "session")}
CODES = {"rank": 10, "starter": 4, "agent": 4, "connection": 4}

# Until then, nothing may be left: 5 s after the controller was killed, 30 s after a connection was lost. In all
# other cases the time counts from the end of the run.
DEADLINES_S = {"rank": 15, "starter": 15, "agent": 15, "controller": 5, "connection": 30}
MOMENT_DEADLINE_S = 30
RUN_DEADLINE_S = 60
ADDRESS_DEADLINE_S = 30

PORT = 29601
IMAGE = "localhost/lab:1"
MAKE_IMAGE = """set -e; mkdir -p /root/tree/bin /root/tree/tmp /root/tree/etc; cp /bin/busybox /root/tree/bin/
for one in sh sleep setsid env nc; do ln -sf busybox /root/tree/bin/$one; done
tar -C /root/tree -c . | podman import -q - {image}; podman save -q -o /root/image.tar {image}; rm -rf /root/tree"""

# In one line, because ps shows it. Children in the background, in another session, without a parent, and without the
# mark in their environment. The last one listens: once it does, the others have begun.
RANK = ("{trap}sleep {time} & setsid sleep {time} & (setsid sleep {time} &); (env -i setsid sleep {time} &); "
        "{listen} & wait")
STUBBORN = "trap '' TERM; "
LISTEN = ("python3 -c 'import socket, time; s = socket.create_server((\"\", {port})); time.sleep({time})'")
LISTEN_IN_CONTAINER = "nc -l -p {port}"

CLUSTER = """version: 1
name: jobs
profile_env: {{HF_HOME: /mnt/models/hf}}
ssh: {{user: {user}}}
nodes:
{nodes}"""


@dataclasses.dataclass(frozen=True)
class Cycle:
    number: int
    kind: str
    way: str
    moment: str
    place: int        # The struck host's place in the list.
    contained: bool
    stubborn: bool    # The processes ignore SIGTERM.

    @property
    def time(self):
        """The processes of this cycle sleep for so many seconds: a number that no other cycle has."""
        return 70_000 + self.number

    @property
    def deadline_s(self):
        return DEADLINES_S[self.kind]

    def __str__(self):
        words = [f"cycle {self.number}: {self.way or self.kind}, {self.moment}, on spark-{self.place + 1:02}"]
        words += ["in containers"] * self.contained + ["SIGTERM ignored"] * self.stubborn
        return ", ".join(words)


def planned(seed, number, hosts, containers):
    """Depends on its arguments only. Each block of five cycles has every kind once."""
    block, place = divmod(number - 1, len(KINDS))
    kinds = list(KINDS)
    random.Random(f"{seed} block {block}").shuffle(kinds)
    draw = random.Random(f"{seed} cycle {number}")
    kind = kinds[place]
    way = draw.choice(WAYS.get(kind, ("",)))
    moment = draw.choice(MOMENTS[kind])
    struck = draw.randrange(hosts)
    contained = draw.random() < 0.25 and containers and kind != "agent"
    return Cycle(number, kind, way, moment, struck, contained, draw.random() < 0.5)


@dataclasses.dataclass
class Outcome:
    cycle: Cycle
    code: object = None
    needed: bool = True    # False: the struck part's work was done, and the run went on.
    clean_after_s: float = 0.0
    problems: list = dataclasses.field(default_factory=list)

    def __str__(self):
        ended = "killed" if self.cycle.kind == "controller" else f"exit {self.code}"
        end = "" if self.needed else "; its work was done"
        head = f"{self.cycle}: {ended}, nothing left after {self.clean_after_s:.1f} s{end}"
        return "\n  ".join([f"FAILED: {self.cycle}: {ended}{end}", *self.problems] if self.problems else [head])


class Scene:
    """The hosts, the two cluster.yaml (an ordinary user's and root's) and the state without a job."""

    def __init__(self, count, work, containers):
        self.work, self.containers = work, containers
        self.env = lab_hosts.environment()
        self.hosts = [nodes.Host(number) for number in range(1, count + 1)]
        self.baselines = [leftovers.Baseline(host) for host in self.hosts]
        lines = "".join(f"  - {{name: {host.name}, address: {lab_hosts.address(host.number)}}}\n"
                        for host in self.hosts)
        for user in ("operator", "root"):
            (work / f"{user}.yaml").write_text(CLUSTER.format(user=user, nodes=lines))
        if containers:
            self.make_image()
        self.warm_up()
        for baseline in self.baselines:
            baseline.learn_files(containers)

    def make_image(self):
        """An image has the time of its making in it, so all hosts get the first one's."""
        first, *others = self.hosts
        first.shell(MAKE_IMAGE.format(image=IMAGE))
        root = lab_hosts.lab("root", str(first.number))
        for host in others:
            shutil.copyfile(f"{root}/root/image.tar", f"{lab_hosts.lab('root', str(host.number))}/root/image.tar")
            host.shell("podman load -q -i /root/image.tar")

    def warm_up(self):
        """Installs the programs and makes all nodes equal to the file, as a job needs it."""
        for user in ("root", "operator") if self.containers else ("operator",):
            self.must(user, "apply", "--yes")
            self.must(user, "run", "--", "true")
        if self.containers:
            self.must("root", "run", "--image", IMAGE, "--", "sh", "-c", "true")
        problem = leftovers.nothing_left_within(20, time.monotonic(), lambda: self.processes_left())[1]
        if problem:
            raise lab_hosts.Failed("after a job without a kill: " + "; ".join(problem))

    def must(self, user, *arguments):
        run = nodes.finish(nodes.start_sparkplan(self.work / f"{user}.yaml", arguments, self.work, self.env))
        if run.code != 0:
            raise lab_hosts.Failed(f"{' '.join(arguments)} ended with {run.code}:\n{run.said}")

    def start(self, cycle):
        listen = LISTEN_IN_CONTAINER if cycle.contained else LISTEN
        line = RANK.format(trap=STUBBORN if cycle.stubborn else "", time=cycle.time,
                           listen=listen.format(port=PORT, time=cycle.time))
        image = ("--image", IMAGE) if cycle.contained else ()
        user = "root" if cycle.contained else "operator"
        arguments = ("run", "--grace", "1s", *image, "--", "sh", "-c", line)
        return nodes.start_sparkplan(self.work / f"{user}.yaml", arguments, self.work, self.env)

    def processes_left(self):
        return [f"{one.host.name}: {process.args[:160]}" for one in self.baselines
                for process in one.processes_left(leftovers.Look(one.host))]

    def left(self, containers):
        return [line for one in self.baselines for line in one.left(leftovers.Look(one.host, containers))]

    def left_of_ranks(self, cycle):
        """Without the process starter and the clients of the engine: what the ranks themselves have started."""
        found = []
        for one in self.baselines:
            look = leftovers.Look(one.host)
            found += [f"{one.host.name}: process {process.pid}: {process.args[:160]}" for process in look.processes
                      if process.args == f"sleep {cycle.time}"]
            found += [f"{one.host.name}: port {PORT}"] * look.listens(PORT)
        return found

    def all_listen(self):
        return all(leftovers.Look(host).listens(PORT) for host in self.hosts)

    def end(self):
        for host in self.hosts:
            host.end()


def rank_of(look, cycle):
    """The shell of the rank. For a moment, each process that it starts looks like it."""
    shells = [one for one in look.started_as("sh -c ") if re.search(rf"\bsleep {cycle.time}\b", one.args)]
    pids = {one.pid for one in shells}
    return next((one for one in shells if one.parent not in pids), None)


def victim(look, cycle):
    """The process to kill; None: it is not there yet."""
    if cycle.kind == "rank":
        return rank_of(look, cycle)
    if cycle.kind == "starter":
        # The newest one: that of the preflight may be about to end.
        return max(look.guardians() if cycle.way == "guardian" else look.workers(),
                   key=lambda one: one.pid, default=None)
    if cycle.kind == "agent":
        return next(iter(look.started_as(leftovers.AGENT)), None)
    starter = max(look.workers(), key=lambda one: one.pid, default=None)
    return look.session_of(starter.pid) if starter else None


def has_come(cycle, scene, look):
    """True at the moment of the cycle."""
    if cycle.moment == "preflight":
        return bool(look.started_as(leftovers.AGENT))
    if cycle.moment == "asking":
        return bool(look.workers())
    if cycle.moment == "starting":
        return rank_of(look, cycle) is not None
    return look.listens(PORT) and scene.all_listen()


def strike(cycle, scene, job):
    """Waits for the moment and kills. Returns the time of the kill; None: the moment has not come."""
    host = scene.hosts[cycle.place]
    end = time.monotonic() + MOMENT_DEADLINE_S
    while time.monotonic() < end and job.poll() is None:
        look = leftovers.Look(host)
        if not has_come(cycle, scene, look):
            continue
        if cycle.kind == "controller":
            job.kill()
            return time.monotonic()
        if cycle.way == "cable":
            lab_hosts.lab("cut", str(host.number))
            return time.monotonic()
        found = victim(look, cycle)
        if found and host.ask("shell", f"kill -KILL {found.pid}")[0] == 0:
            return time.monotonic()
    return None


def await_end(cycle, scene, job, outcome):
    """The end of the run. A run whose struck part was no longer needed goes on, and is ended by Ctrl-C."""
    end = time.monotonic() + RUN_DEADLINE_S
    while cycle.moment in EARLY and time.monotonic() < end:
        try:
            job.wait(timeout=0.1)
            break
        except subprocess.TimeoutExpired:
            pass
        if scene.all_listen():
            outcome.needed = False
            job.send_signal(signal.SIGINT)
            break
    run = nodes.finish(job, RUN_DEADLINE_S)
    outcome.code = run.code
    return run


def judge_run(cycle, scene, run, outcome):
    """A struck part whose work was done ends no run. It may also be the newest one, that of the job itself."""
    if not outcome.needed and run.code == 10:
        return
    if run.code != CODES[cycle.kind]:
        outcome.problems.append(f"the run ended with {run.code} instead of {CODES[cycle.kind]}: {run.said[-600:]}")
    elif scene.hosts[cycle.place].name not in run.said:
        outcome.problems.append(f"the run does not name {scene.hosts[cycle.place].name}: {run.said[-600:]}")


def judge_hosts(cycle, scene, since, outcome):
    if cycle.contained:
        left = leftovers.nothing_left_within(DEADLINES_S[cycle.kind], since, lambda: scene.left_of_ranks(cycle))[1]
        outcome.problems += [f"left of a rank after {DEADLINES_S[cycle.kind]} s: {line}" for line in left]
    took, left = leftovers.nothing_left_within(cycle.deadline_s, since, lambda: scene.left(cycle.contained))
    outcome.clean_after_s = took or 0.0
    outcome.problems += [f"left after {cycle.deadline_s} s: {line}" for line in left]


def plug_in(host):
    """networkd removes the address with the cable, and sets it again."""
    lab_hosts.lab("join", str(host.number))
    end = time.monotonic() + ADDRESS_DEADLINE_S
    while lab_hosts.address(host.number) + "/" not in host.shell("ip -4 -oneline address show dev mgmt0"):
        if time.monotonic() > end:
            raise lab_hosts.Failed(f"{host.name} has no address {ADDRESS_DEADLINE_S} s after its cable is back")


def after_the_kill(cycle, scene, job, struck_at, outcome):
    if cycle.way == "cable":
        try:
            judge_hosts(cycle, scene, struck_at, outcome)
        finally:
            plug_in(scene.hosts[cycle.place])
        judge_run(cycle, scene, await_end(cycle, scene, job, outcome), outcome)
    elif cycle.kind == "controller":
        job.communicate()
        judge_hosts(cycle, scene, struck_at, outcome)
    else:
        run = await_end(cycle, scene, job, outcome)
        judge_run(cycle, scene, run, outcome)
        judge_hosts(cycle, scene, struck_at if cycle.kind == "connection" else time.monotonic(), outcome)


def run_cycle(cycle, scene):
    outcome = Outcome(cycle)
    # What came back after the end of the cycle before.
    outcome.problems += [f"there before the job: {line}" for line in scene.left(scene.containers)]
    job = scene.start(cycle)
    try:
        struck_at = strike(cycle, scene, job)
        if struck_at is None:
            job.kill()
            run = nodes.finish(job)
            outcome.problems.append(f"the moment to kill did not come: {run.said[-600:]}")
        else:
            after_the_kill(cycle, scene, job, struck_at, outcome)
    finally:
        if job.poll() is None:
            job.kill()
            job.communicate()
    if outcome.problems:
        for baseline in scene.baselines:
            baseline.clear(scene.containers)
    return outcome
