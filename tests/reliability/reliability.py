#!/usr/bin/env python3
"""Kills, cuts and fills disks on the lab's hosts, with the shipped agent, and checks that nothing stays half-done.

usage: reliability.py [--full] [--crash-points N] [--frame-points N] [--first-point N] [--sync-points N] [--seed N]
                      [--only PART...] [--hosts N] [--write FILE]

Needs root and a release build. Without --full every k-th point is tried, from --first-point on. The points of
the syncs are random; --seed repeats those of an earlier run. --write puts the tables between the marks in FILE
(docs/reliability.md). The last line is "N passed, N failed, N skipped", counted in
points.
"""
import argparse
import collections
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

import crash_points
import fault_cases
import frame_points
import lab_hosts
import nodes
import report
import sweep
import sync_points

PARTS = ("crash", "frames", "cases", "sync")
# Numbers of points without --full.
CRASH_POINTS = 16
FRAME_POINTS = 12
SYNC_POINTS = len(sync_points.KINDS)
SYNC_POINTS_IN_FULL = 200
GIVE_UP_AFTER = 40


class Tally:
    """Collects the outcomes and prints each one as it arrives."""

    def __init__(self):
        self.outcomes = {"crash": [], "frames": [], "sync": []}
        self.cases = []
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.seconds = {}

    def add(self, part, outcome, seconds):
        with self.lock:
            self.outcomes[part].append(outcome)
            done = len(self.outcomes[part])
            if not outcome.good:
                print(f"FAILED: {outcome}", flush=True)
            elif done % 50 == 0:
                print(f"{part}: {done} points, {time.monotonic() - self.begun:.0f} s", flush=True)

    def add_case(self, case):
        with self.lock:
            self.cases.append(case)
            if case.problems:
                print(f"FAILED: {case}", flush=True)

    def failed(self):
        return sum(not outcome.good for part in self.outcomes.values() for outcome in part) + \
            sum(bool(case.problems) for case in self.cases)

    def passed(self):
        return sum(len(part) for part in self.outcomes.values()) + len(self.cases) - self.failed()


def every_kth(points, wanted, first):
    """About that many of the points, spread evenly, from the one with the number `first` on."""
    if wanted is None or len(points) <= wanted:
        return list(points)
    return [points[(first + i * len(points) // wanted) % len(points)] for i in range(wanted)]


def side_by_side(hosts, work):
    """Runs work(node, index) for every host, each in its own thread; raises the first exception."""
    problems = queue.Queue()

    def one(node, index):
        try:
            work(node, index)
        except Exception as problem:  # Raised again below, in the calling thread.
            problems.put(problem)

    threads = [threading.Thread(target=one, args=(node, i)) for i, node in enumerate(hosts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not problems.empty():
        raise problems.get()


def sweep_points(part, module, hosts, wanted, first, tally):
    recorded = {direction.name: module.record(hosts[0], direction) for direction in nodes.CIRCLE}
    total = sum(len(points) for points in recorded.values())
    print(f"{part}: {total} points are there", flush=True)
    share = {name: every_kth(points, None if wanted is None else max(1, wanted * len(points) // total), first)
             for name, points in recorded.items()}

    def work(node, index):
        queues = {name: points[index::len(hosts)] for name, points in share.items()}
        sweep.go_round(node, queues, module.strike, lambda outcome, took: tally.add(part, outcome, took))
        node.go_to("bare")

    side_by_side(hosts, work)
    return total


def run_syncs(options, hosts, tally):
    """The hosts are one cluster here, so the points are tried one after the other. Returns their number."""
    begun = time.monotonic()
    count = SYNC_POINTS_IN_FULL if options.full else options.sync_points
    print(f"sync: {count} points, --seed {options.seed}", flush=True)
    sync_points.run(hosts, options.seed, count, lambda outcome, took: tally.add("sync", outcome, took))
    tally.seconds["sync"] = time.monotonic() - begun
    return count


def run_parts(options, hosts, tally):
    totals = {}
    if set(options.only) != {"sync"}:
        side_by_side(hosts, lambda node, _: node.learn())
    for part, module, wanted in (("crash", crash_points, options.crash_points),
                                 ("frames", frame_points, options.frame_points)):
        if part in options.only:
            begun = time.monotonic()
            totals[part] = sweep_points(part, module, hosts, None if options.full else wanted,
                                        options.first_point, tally)
            tally.seconds[part] = time.monotonic() - begun
    if "cases" in options.only:
        begun = time.monotonic()
        side_by_side(hosts, lambda node, i: fault_cases.run(node, i, len(hosts), options.full, tally.add_case))
        tally.seconds["cases"] = time.monotonic() - begun
    if "sync" in options.only:
        totals["sync"] = run_syncs(options, hosts, tally)
    return totals


def closing_lines(tally, totals):
    for part, outcomes in tally.outcomes.items():
        if outcomes:
            print(f"{part}: {len(outcomes)} of {totals.get(part)} points tried, "
                  f"{sum(outcome.hit for outcome in outcomes)} struck, "
                  f"{sum(bool(outcome.torn) for outcome in outcomes)} torn, "
                  f"{sum(bool(outcome.stuck) for outcome in outcomes)} not converged, "
                  f"{sum(bool(outcome.left) for outcome in outcomes)} with leftovers, "
                  f"{sum(bool(outcome.untrue) for outcome in outcomes)} untrue; {tally.seconds.get(part, 0):.0f} s")
    if tally.cases:
        print(f"cases: {len(tally.cases)} tried, {sum(bool(case.problems) for case in tally.cases)} failed; "
              f"{tally.seconds.get('cases', 0):.0f} s")


def main():
    arguments = argparse.ArgumentParser(description="Kills, cuts and fills until something is half-done.")
    arguments.add_argument("--full", action="store_true", help="all points")
    arguments.add_argument("--crash-points", type=int, default=CRASH_POINTS, help="about that many, without --full")
    arguments.add_argument("--frame-points", type=int, default=FRAME_POINTS, help="about that many, without --full")
    arguments.add_argument("--first-point", type=int, default=0, help="begin with that one, without --full")
    arguments.add_argument("--sync-points", type=int, default=SYNC_POINTS, help="without --full")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                           help="of the points of the syncs")
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments.add_argument("--hosts", type=int, default=4, help="that work side by side")
    arguments.add_argument("--write", type=pathlib.Path)
    options = arguments.parse_args()
    check = subprocess.run([lab_hosts.LAB, "check"], capture_output=True, text=True)
    if check.returncode != 0:
        print(f"SKIPPED: {check.stdout.strip()}\n0 passed, 0 failed, 1 skipped")
        return 0
    tally = Tally()
    # A point that struck nothing proves nothing.
    missed = 0
    broken = ""
    totals = {}
    with tempfile.TemporaryDirectory() as work:
        load = os.getloadavg()[0]
        try:
            lab_hosts.boot(options.hosts)
            hosts = [nodes.Node(number, pathlib.Path(work)) for number in range(1, options.hosts + 1)]
            totals = run_parts(options, hosts, tally)
            for node in hosts:
                node.end()
        except (lab_hosts.Failed, RuntimeError) as problem:
            broken = str(problem)
            print(f"FAILED: {broken}")
        finally:
            lab_hosts.lab("down")
    for part, outcomes in tally.outcomes.items():
        missing = sum(not outcome.hit for outcome in outcomes)
        if outcomes and missing * 10 > len(outcomes):
            print(f"FAILED: {missing} of {len(outcomes)} {part} points struck nothing")
            missed += 1
    closing_lines(tally, totals)
    if options.write:
        report.replace_between_marks(options.write, report.text(tally, totals, load))
    failed = tally.failed() + missed + bool(broken)
    print(f"{tally.passed()} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
