"""Strikes the connection, or kills the controller, at every frame of the protocol."""
import dataclasses

import sweep
import verdict

ACTIONS = ("cut", "truncate", "delay", "kill the controller")
HELD_DEADLINE_S = 30

LAUNCH = """exec python3 /run/lab/frame_relay.py {action} {number} /usr/bin/sudo "$@"
"""


@dataclasses.dataclass(frozen=True)
class Point:
    action: str
    number: int
    about: str  # The frame's sender and kind.


def record(node, direction):
    """One point for every action at every frame of an undisturbed run."""
    node.go_to(direction.begin)
    node.watch(LAUNCH.format(action="record", number=0))
    run = node.go(direction)
    if run.code != 0:
        raise RuntimeError(f"{direction} through the relay ended with {run.code}: {run.said}")
    frames = frames_of(node)
    node.watch(None)
    if not frames:
        raise RuntimeError(f"{direction}: the relay has seen no frame")
    return [Point(action, number, about) for number, about in enumerate(frames, 1) for action in ACTIONS]


def frames_of(node):
    return (node.ask("read", "/run/lab/frames") or "").splitlines()


def hold(node, direction, number):
    """Starts a run and holds it at that frame; returns the process, and whether the frame was reached."""
    node.watch(LAUNCH.format(action="hold", number=number))
    process = node.start(direction.version, *direction.command)
    held = node.ask("there_within", "/run/lab/held", HELD_DEADLINE_S)
    return process, held is not None


def let_go(node):
    node.ask("write", "/run/lab/proceed", "", 0o644)


def kill_controller(node, direction, point, outcome):
    process, held = hold(node, direction, point.number)
    outcome.hit = held
    process.kill()
    process.communicate()
    # The held frame is delivered, but no controller waits for the reply.
    let_go(node)
    outcome.code = None


def disturb(node, direction, point, outcome):
    node.watch(LAUNCH.format(action=point.action, number=point.number))
    run = node.finish(node.start(direction.version, *direction.command))
    outcome.code = run.code
    outcome.hit = len(frames_of(node)) >= point.number
    documented = (0,) if point.action == "delay" else sweep.DOCUMENTED
    if run.code not in documented:
        outcome.untrue.append(f"the run ended with {run.code}: {run.said[-600:]}")
    if run.code not in (0, None) and node.name not in run.said:
        outcome.untrue.append(f"the run does not name the node: {run.said[-300:]}")
    if run.code == 0 and verdict.differs(node.ask("tree"), node.trees[direction.end]):
        outcome.untrue.append("the run says that all is done, and it is not")


def strike(node, direction, point):
    outcome = sweep.Outcome(direction.name, point.action, point.number, point.about)
    if point.action == "kill the controller":
        kill_controller(node, direction, point, outcome)
    else:
        disturb(node, direction, point, outcome)
    return sweep.judge(node, direction, outcome)
