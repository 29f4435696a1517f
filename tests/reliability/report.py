"""The tables of docs/reliability.md."""
import collections
import datetime
import os
import pathlib
import re

import sync_points

BEGIN, END = "<!-- reliability.py -->\n", "<!-- end of reliability.py -->\n"
WAYS = (("first", "first apply"), ("change", "a to b"), ("back", "b to a"), ("release", "release"))


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in row) + " |\n" for row in lines)


def counts(outcomes):
    return [len(outcomes), *(sum(bool(getattr(outcome, what)) for outcome in outcomes)
                             for what in ("torn", "untrue", "stuck", "left"))]


def grouped(outcomes, key):
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome)].append(outcome)
    return groups


def by(outcomes, key, first, order=None):
    """A row for each group: the number of points per direction, and their outcomes."""
    groups = grouped(outcomes, key)
    names = [name for name in order or () if name in groups] + sorted(set(groups) - set(order or ()))
    rows = []
    for name in [*names, "all"]:
        of_it = outcomes if name == "all" else groups[name]
        ways = [sum(outcome.direction == way for outcome in of_it) for way, _ in WAYS]
        rows.append([name, *ways, *counts(of_it)])
    head = [first, *(text for _, text in WAYS), "tried", "torn", "misreported", "not converged", "left over"]
    return table(head, rows)


def machine(load):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) >> 20
    return (f"{datetime.date.today()}, {os.cpu_count()} x {model.group(1) if model else os.uname().machine}, {memory} GB, "
            f"{system.group(1)}, Linux {os.uname().release.split('-')[0]}, load average before: {load:.1f}.\n")


def crash_text(outcomes, total, seconds):
    killed = sum(outcome.hit for outcome in outcomes)
    codes = ", ".join(f"{number} x exit {code}" for code, number in
                      sorted(collections.Counter(outcome.code for outcome in outcomes).items(), key=str))
    return (f"\n### The agent killed before a system call\n{len(outcomes)} of {total} points tried in {seconds:.0f} s; "
            f"the agent was killed at {killed}. The struck runs ended with: {codes}.\n\n"
            + by(outcomes, lambda outcome: outcome.action, "system call")
            + "\nBy the work of the agent:\n\n"
            + by(outcomes, lambda outcome: outcome.about, "at work on"))


def frames_text(outcomes, total, seconds):
    slowest = max((outcome.lock_s for outcome in outcomes), default=0)
    return (f"\n### The connection struck, and the controller killed, at a frame\n{len(outcomes)} of {total} points tried "
            f"in {seconds:.0f} s. The lock was free {slowest:.1f} s after the strike, at the latest.\n\n"
            + by(outcomes, lambda outcome: outcome.action, "what happened")
            + "\nBy the frame:\n\n"
            + by(outcomes, lambda outcome: outcome.about, "frame of the"))


def sync_text(outcomes, total, seconds):
    groups = grouped(outcomes, lambda outcome: outcome.action)
    rows = [[kind, *counts(groups[kind]), f"{max(outcome.again for outcome in groups[kind]) / 1e6:.1f} MB"]
            for kind in sync_points.KINDS if kind in groups]
    rows.append(["all", *counts(outcomes), f"{max((outcome.again for outcome in outcomes), default=0) / 1e6:.1f} MB"])
    head = ["what was struck", "tried", "torn", "misreported", "not converged", "left over", "received twice, at most"]
    return (f"\n### A sync struck at random points\n{len(outcomes)} of {total} points tried in {seconds:.0f} s; "
            f"{sum(outcome.hit for outcome in outcomes)} struck.\n\n" + table(head, rows))


def cases_text(cases):
    rows, shown = [], grouped(cases, lambda case: (case.name, case.about))
    for (name, about), same in shown.items():
        good = sum(not case.problems for case in same)
        codes = ", ".join(sorted({str(case.code) for case in same}))
        said = same[0].said.replace("|", "\\|")[:160]
        rows.append([name, about, codes, f"{good} of {len(same)}", said])
    rows.sort(key=lambda row: row[:2])
    head = ["case", "where", "exit", "passed", "message"]
    lines = [head, ["---"] * len(head), *rows]
    body = "".join("| " + " | ".join(str(cell) for cell in row) + " |\n" for row in lines)
    return f"\n### Cases\n{len(cases)} tried, {sum(not case.problems for case in cases)} passed.\n\n" + body


def text(tally, totals, load):
    parts = [machine(load)]
    for part, words in (("crash", crash_text), ("frames", frames_text), ("sync", sync_text)):
        if tally.outcomes[part]:
            parts.append(words(tally.outcomes[part], totals[part], tally.seconds[part]))
    if tally.cases:
        parts.append(cases_text(tally.cases))
    return "".join(parts)


def replace_between_marks(path, new):
    before, rest = path.read_text().split(BEGIN, 1)
    path.write_text(before + BEGIN + new + END + rest.split(END, 1)[1])
