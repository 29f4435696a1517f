"""One strike against one run, and the state of the node afterwards: the same procedure for all kinds of strikes."""
import dataclasses
import time

import verdict
from nodes import DIRECTIONS

# Allowed exit codes of the struck run. It may succeed, if the struck part was no longer needed. It may report a failed
# node, a state that differs from the planned one, or a rolled-back network.
DOCUMENTED = (0, 4, 5, 7)
LOCK_DEADLINE_S = 20
TRIAL_DEADLINE_S = 45  # The window, and the promised time after it.


@dataclasses.dataclass
class Outcome:
    direction: str
    action: str      # "write", "cut"
    number: int
    about: str       # The resource type, or the kind of frame.
    code: int = 0
    hit: bool = True
    lock_s: float = 0.0
    torn: list = dataclasses.field(default_factory=list)
    untrue: list = dataclasses.field(default_factory=list)
    stuck: list = dataclasses.field(default_factory=list)
    left: list = dataclasses.field(default_factory=list)

    @property
    def good(self):
        return not (self.torn or self.untrue or self.stuck or self.left)

    def __str__(self):
        found = [f"{word}: {line}" for word in ("torn", "untrue", "stuck", "left") for line in getattr(self, word)]
        return "\n  ".join([f"{self.direction}, {self.action} {self.number} ({self.about})", *found])


def judge_plan(node, direction, outcome):
    """`plan` must work, and must detect whether changes are left."""
    plan = node.sparkplan(direction.version, "plan", "--json", "--detailed-exitcode")
    if plan.code not in (0, 2) or plan.report() is None:
        outcome.untrue.append(f"plan ended with {plan.code}: {plan.said[-600:]}")
    elif plan.code == 0 and verdict.differs(node.ask("tree"), node.trees[direction.version]):
        outcome.untrue.append("plan sees nothing to do, and something is not as it asks for")


def converge(node, direction, outcome):
    run = node.go(direction)
    if run.code != 0:
        outcome.stuck.append(f"the next {direction.command[0]} ended with {run.code}: {run.said[-900:]}")
        return
    # The controller does not wait until the agent has cleaned up.
    node.ask("agent_gone_within", LOCK_DEADLINE_S)
    outcome.left += verdict.left_over(node.ask("tree"), node.trees[direction.end])
    live, wanted = node.ask("live"), node.lives[direction.end]
    outcome.left += [f"{key}: {live.get(key)} instead of {wanted.get(key)}"
                     for key in sorted({*live, *wanted}) if live.get(key) != wanted.get(key)]
    if direction.end == "bare":
        return
    plan = node.sparkplan(direction.version, "plan", "--json", "--detailed-exitcode")
    if plan.code != 0:
        outcome.stuck.append(f"after that, plan ended with {plan.code}: {plan.said[-600:]}")


def judge(node, direction, outcome):
    """Judges the node after the strike, with its cause removed."""
    waited = node.ask("lock_free_within", LOCK_DEADLINE_S)
    outcome.lock_s = waited if waited is not None else LOCK_DEADLINE_S
    if waited is None:
        outcome.stuck.append(f"the lock is still held after {LOCK_DEADLINE_S} s")
    if node.ask("agent_gone_within", LOCK_DEADLINE_S) is None:
        outcome.stuck.append(f"an agent still runs after {LOCK_DEADLINE_S} s")
    if node.ask("trial_over_within", TRIAL_DEADLINE_S) is None:
        outcome.stuck.append(f"a change is still on trial after {TRIAL_DEADLINE_S} s")
    outcome.torn += verdict.torn(node.ask("tree"), node.trees[direction.begin], node.trees[direction.end])
    node.watch(None)
    judge_plan(node, direction, outcome)
    converge(node, direction, outcome)
    if not outcome.good:
        show_files(node, outcome)
        node.put_back()
    return outcome


def show_files(node, outcome):
    """Adds the contents of wrong files to the problems, because put_back() removes the files."""
    for problems in (outcome.torn, outcome.left):
        for i, problem in enumerate(problems):
            path = problem.split(": ")[0]
            text = node.ask("read", path) if ": file " in problem and not path.startswith("/run/") else None
            problems[i] += f"\n    {text[-700:]!r}" if text is not None and "PRIVATE KEY" not in text else ""


def go_round(node, queues, strike, report):
    """Processes the points of all directions: each run ends in the state that the next one begins in."""
    while any(queues.values()):
        ways = [way for way in DIRECTIONS if way.begin == node.state]
        # The longest queue first, so that few runs are made without a strike.
        ways.sort(key=lambda way: -len(queues[way.name]))
        way = ways[0]
        if not queues[way.name]:
            # No points for this state: moves to the nearest state that has some. Only state a has two directions.
            way = ways[0] if node.state != "a" else next(w for w in ways if w.name == (
                "change" if queues["back"] else "release"))
            node.go_to(way.end)
            continue
        begun = time.monotonic()
        outcome = strike(node, way, queues[way.name].pop())
        report(outcome, time.monotonic() - begun)
