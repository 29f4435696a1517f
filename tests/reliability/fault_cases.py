"""Full disks, file systems and files that cannot be written, revoked sudo, two controllers, a clock that steps. Each
fault is named, leaves nothing half-done, and a run succeeds once its cause is removed."""
import dataclasses

import frame_points
import verdict
from nodes import BY_NAME, first_line_with

CHANGE = BY_NAME["change"]
LOCK_DEADLINE_S = 20

# Directories with managed files, and one managed file in each.
PLACES = (("/etc/sysctl.d", "/etc/sysctl.d/90-sparkplan.conf"),
          ("/etc/security/limits.d", "/etc/security/limits.d/90-sparkplan.conf"),
          ("/etc/profile.d", "/etc/profile.d/sparkplan-env.sh"),
          ("/etc/systemd/system", "/etc/systemd/system/sparkplan-test.service"),
          ("/etc/netplan", "/etc/netplan/60-sparkplan-fabric.yaml"),
          ("/etc/ssh", "/etc/ssh/ssh_known_hosts"),
          ("/root/.ssh", "/root/.ssh/authorized_keys"),
          ("/var/lib/sparkplan", "/var/lib/sparkplan/manifest.json"))
WHOLE_FILES = ("/etc/hosts", "/etc/nccl.conf")

FULL = """set -e; cp -a {place} /run/lab/copy
mount -t tmpfs -o mode=$(stat -c %a {place}),size=$(($(du -sk {place} | cut -f 1) + 64))k tmpfs {place}
cp -a /run/lab/copy/. {place}/; rm -rf /run/lab/copy
dd if=/dev/zero of={place}/zz-lab-filler bs=4k 2>/dev/null || true
dd if=/dev/zero of={place}/zz-lab-filler bs=1 count=4096 oflag=append conv=notrunc 2>/dev/null || true"""
READ_ONLY = "mount --bind {place} {place} && mount -o remount,bind,ro {place}"
# Lazy: a session of the last run may end only now, with its home directory still in use.
FREE = "umount --lazy {place}"


@dataclasses.dataclass
class Case:
    name: str
    about: str
    code: object = None
    said: str = ""
    problems: list = dataclasses.field(default_factory=list)

    def expect(self, is_so, otherwise):
        if not is_so:
            self.problems.append(otherwise)

    def __str__(self):
        return "\n  ".join([f"{self.name}, {self.about}: exit {self.code}", *self.problems])


def judge_states(node, case, begin="a", end="b"):
    case.problems += [f"torn: {line}" for line in
                      verdict.torn(node.ask("tree"), node.trees[begin], node.trees[end])]


def judge_the_end(node, case, direction=CHANGE):
    """With the cause removed, the same run succeeds, and nothing is left to change or to clean up."""
    run = node.go(direction)
    if run.code != 0:
        case.problems.append(f"with the cause gone, {direction.command[0]} ended with {run.code}: {run.said[-900:]}")
    else:
        node.ask("agent_gone_within", LOCK_DEADLINE_S)
        case.problems += [f"left: {line}" for line in
                          verdict.left_over(node.ask("tree"), node.trees[direction.end])]
        plan = node.sparkplan(direction.version, "plan", "--json", "--detailed-exitcode")
        case.expect(plan.code == 0, f"with the cause gone, plan ended with {plan.code}: {plan.said[-600:]}")
    if case.problems:
        node.put_back()


def judge_refusal(node, case, run, words, codes=(4, 7)):
    case.code = run.code
    case.said = next((line for line in (first_line_with(word, run.said) for word in words) if line), "")
    case.expect(run.code in codes, f"ended with {run.code}: {run.said[-900:]}")
    for word in words:
        case.expect(word in run.said, f"says nothing of \"{word}\": {run.said[-900:]}")


def obstructed(node, name, about, obstruct, free, words):
    """A run that meets an obstacle in one place."""
    case = Case(name, about)
    node.go_to("a")
    node.shell(obstruct)
    try:
        run = node.sparkplan("b", "apply", "--yes", "--confirm-timeout", "20s")
        judge_refusal(node, case, run, words)
        node.ask("agent_gone_within", LOCK_DEADLINE_S)
        judge_states(node, case)
        left = [path for path in node.ask("tree") if verdict.TEMPORARY.search(path)]
        case.expect(not left, f"temporary files stay: {left}")
    finally:
        node.shell(free)
    judge_the_end(node, case)
    return case


def full_disk(place, file):
    return lambda node: obstructed(node, "full disk", place, FULL.format(place=place), FREE.format(place=place),
                                   ("No space left on device", place))


def read_only(place, file):
    return lambda node: obstructed(node, "read-only file system", place, READ_ONLY.format(place=place),
                                   FREE.format(place=place), ("Read-only file system", place))


def immutable(file):
    return lambda node: obstructed(node, "immutable file", file, f"chattr +i {file}", f"chattr -i {file}",
                                   ("Operation not permitted", file))


def everything_read_only(node):
    places = " ".join(["/etc", "/root", "/home", "/var"])
    obstruct = f"for place in {places}; do mount --bind $place $place && mount -o remount,bind,ro $place || exit 1; done"
    return obstructed(node, "read-only file system", "/etc, /root, /home, /var", obstruct,
                      FREE.format(place=places), ("Read-only file system",))


SUDOERS = "/etc/sudoers.d/operator"
REVOKE, GRANT = f"mv {SUDOERS} /run/lab/sudoers", f"mv /run/lab/sudoers {SUDOERS}"


def no_sudo_between_runs(node):
    case = Case("sudo revoked", "between two runs")
    node.go_to("a")
    node.shell(REVOKE)
    try:
        judge_refusal(node, case, node.sparkplan("b", "apply", "--yes", "--confirm-timeout", "20s"), ("sudo", node.name))
        found = node.ask("tree")
    finally:
        node.shell(GRANT)
    case.expect(not verdict.differs({**found, SUDOERS: node.trees["a"][SUDOERS]}, node.trees["a"]),
                "something was written")
    judge_the_end(node, case)
    return case


def number_of_frame(node, frame):
    """The position of that frame in a run from a to b."""
    node.go_to("a")
    node.watch(frame_points.LAUNCH.format(action="record", number=0))
    node.go(CHANGE)
    frames = frame_points.frames_of(node)
    node.go_to("a")
    return frames.index(frame) + 1


def no_sudo_within_a_run(node):
    """Root privileges of a running agent remain. A further connection is refused, and then nothing may be half-done."""
    case = Case("sudo revoked", "while steps are carried out")
    number = number_of_frame(node, "agent progress") + 5
    process, held = frame_points.hold(node, CHANGE, number)
    case.expect(held, "the run never came to its steps")
    node.shell(REVOKE)
    try:
        frame_points.let_go(node)
        run = node.finish(process)
        node.watch(None)
        case.code = run.code
        case.said = first_line_with("sudo", run.said) if run.code else "done: the agent is root already"
        # A node that the controller can no longer ask rolls back the change on trial by itself.
        case.expect(run.code in (0, 4, 7), f"ended with {run.code}: {run.said[-900:]}")
        node.ask("lock_free_within", LOCK_DEADLINE_S)
        plan = node.sparkplan("b", "plan", "--detailed-exitcode")
        case.expect(plan.code == 4 and "sudo" in plan.said, f"the next plan ended with {plan.code}: {plan.said[-600:]}")
    finally:
        node.shell(GRANT)
    judge_states(node, case)
    judge_the_end(node, case)
    return case


def second_controller(timeout, codes):
    def run_case(node):
        case = Case("two controllers", f"the second gives --lock-timeout {timeout}" if timeout else
                    "the second does not wait")
        number = number_of_frame(node, "agent progress") + 3
        first, held = frame_points.hold(node, CHANGE, number)
        case.expect(held, "the first run never came to its steps")
        node.ask("shell", "rm -f /run/lab/launch")  # The second run is not struck.
        second = node.start("b", "apply", "--yes", "--confirm-timeout", "20s",
                            *(("--lock-timeout", timeout) if timeout else ()))
        if timeout:
            line = ""
            while "locked by" not in line and second.poll() is None:
                line = second.stderr.readline()
            case.expect("locked by" in line, "the second does not say whom it waits for")
            frame_points.let_go(node)
        run = node.finish(second)
        case.code = run.code
        case.said = line.strip() if timeout else first_line_with("locked by", run.said)
        case.expect(run.code in codes, f"the second ended with {run.code}: {run.said[-900:]}")
        case.expect("locked by" in case.said and "@" in case.said, "the holder is not named")
        frame_points.let_go(node)
        won = node.finish(first)
        case.expect(won.code == 0, f"the first ended with {won.code}: {won.said[-900:]}")
        node.state = "b"
        node.watch(None)
        judge_the_end(node, case, CHANGE)
        return case
    return run_case


def race(number):
    """Two runs at the same time, with neither of them held: both may succeed only one after the other."""
    def run_case(node):
        case = Case("two controllers", "a race")
        node.go_to("a")
        both = [node.start("b", "apply", "--yes", "--confirm-timeout", "20s") for _ in range(2)]
        runs = [node.finish(process) for process in both]
        codes = sorted(run.code for run in runs)
        case.code = " and ".join(map(str, codes))
        case.expect(codes[0] == 0 and codes[1] in (0, 5, 6), f"race {number}: {codes}: {runs[0].said}{runs[1].said}")
        loser = next((run for run in runs if run.code == 6), None)
        case.expect(loser is None or "locked by" in loser.said or "waits for confirmation" in loser.said, "the holder is not named")
        node.state = "b" if codes[0] == 0 else "a"
        judge_the_end(node, case, CHANGE)
        return case
    return run_case


STEP = r"""
import datetime, json, pathlib, re, os
hours = {hours}
def moved(found):
    time = datetime.datetime.strptime("".join(found.group(1, 2)), "%Y%m%d%H%M%S") + datetime.timedelta(hours=hours)
    return time.strftime("%Y%m%d") + found.group(0)[8] + time.strftime("%H%M%S")
state = pathlib.Path("/var/lib/sparkplan")
manifest = json.loads((state / "manifest.json").read_text())
before = manifest["last_run"]
manifest["last_run"] = re.sub(r"^(\d{{8}})\D(\d{{6}})", moved, before)
assert manifest["last_run"] != before
time = datetime.datetime.fromisoformat(manifest["last_run_time"].rstrip("Z")) + datetime.timedelta(hours=hours)
manifest["last_run_time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
(state / "manifest.json").write_text(json.dumps(manifest))
for journal in (state / "journal").glob("*.jsonl"):
    journal.rename(journal.with_name(re.sub(r"^(\d{{8}})\D(\d{{6}})", moved, journal.name)))
newest = max((state / "journal").glob("*.jsonl"))
for i in range(60):
    (state / "journal" / f"{{newest.stem[:15]}}-{{i:08x}}.jsonl").write_bytes(newest.read_bytes())
for file in state.rglob("*"):
    when = file.stat().st_mtime + 3600 * hours
    os.utime(file, (when, when))
"""


def clock_step(hours, about):
    """State after a step of the clock: its times are in the future or in the distant past."""
    def run_case(node):
        case = Case("clock", about)
        node.go_to("a")
        node.shell("cat >/run/lab/step.py <<'STEP'\n" + STEP.format(hours=hours) + "STEP\npython3 /run/lab/step.py")
        plan = node.sparkplan("a", "plan", "--detailed-exitcode")
        case.expect(plan.code == 0, f"plan ended with {plan.code}: {plan.said[-600:]}")
        run = node.sparkplan("b", "apply", "--yes", "--confirm-timeout", "20s", "--json")
        case.code = run.code
        case.said = "done"
        case.expect(run.code == 0, f"apply ended with {run.code}: {run.said[-900:]}")
        last = node.shell("python3 -c 'import json; "
                          "print(json.load(open(\"/var/lib/sparkplan/manifest.json\"))[\"last_run\"])'").strip()
        case.expect(node.ask("read", f"/var/lib/sparkplan/journal/{last}.jsonl"), "the run's own journal is gone")
        count = int(node.shell("ls /var/lib/sparkplan/journal | wc -l"))
        case.expect(count <= 51, f"{count} journals are kept")
        node.state = "b" if run.code == 0 else "a"
        judge_the_end(node, case, CHANGE)
        return case
    return run_case


def all_cases(full):
    cases = [full_disk(*place) for place in PLACES]
    cases += [read_only(*place) for place in PLACES] + [everything_read_only]
    cases += [immutable(file) for _, file in PLACES] + [immutable(file) for file in WHOLE_FILES]
    cases += [no_sudo_between_runs, no_sudo_within_a_run]
    cases += [second_controller(None, (6,)), second_controller("60s", (0, 5))]
    cases += [race(number) for number in range(30 if full else 4)]
    cases += [clock_step(1, "state of an hour ahead: the clock was set back"),
              clock_step(-1, "state of an hour before: the clock was set ahead"),
              clock_step(24 * 365, "state of a year ahead")]
    return cases


def run(node, index, count, full, tell):
    """Runs this node's share of the cases, one after the other."""
    for case in all_cases(full)[index::count]:
        tell(case(node))
    node.go_to("bare")
