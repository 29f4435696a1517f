#!/usr/bin/env python3
"""Kills parts of running jobs on the lab's hosts, and checks that nothing of a job stays on any host.

usage: jobs.py [--full] [--cycles N] [--seed S] [--only-cycle N] [--containers] [--hosts N]

Needs root and a release build. A cycle starts a job with `sparkplan run` and kills a rank, a process starter, an agent,
the controller or a connection, at a random moment on a random host. Without --full, each once; with it, 100 cycles,
some of them in containers. The seed is printed: with --seed and --only-cycle, one cycle is tried again. The last line
is "N passed, N failed, N skipped", counted in cycles.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import job_cycles
from nodes import lab_hosts

CYCLES = len(job_cycles.KINDS)
FULL_CYCLES = 100


def arguments():
    parser = argparse.ArgumentParser(description="Kills parts of jobs and looks for what they leave.")
    parser.add_argument("--full", action="store_true", help=f"{FULL_CYCLES} cycles, also with containers")
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--seed", type=int, help="of an earlier run, to repeat it")
    parser.add_argument("--only-cycle", type=int, help="only that one of the seed's cycles")
    parser.add_argument("--containers", action="store_true", help="some jobs in containers, with podman")
    parser.add_argument("--hosts", type=int, default=3)
    options = parser.parse_args()
    if options.cycles is None:
        options.cycles = FULL_CYCLES if options.full else CYCLES
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    options.numbers = [options.only_cycle] if options.only_cycle else range(1, options.cycles + 1)
    options.containers = options.containers or options.full
    return options


def why_not(*flavour):
    """The reason why such a lab cannot run here; empty: it can."""
    check = subprocess.run([lab_hosts.LAB, "check", *flavour], capture_output=True, text=True)
    return "" if check.returncode == 0 else check.stdout.strip()


def run_cycles(options, work, flavour):
    outcomes = []
    lab_hosts.boot(options.hosts, *flavour)
    scene = job_cycles.Scene(options.hosts, work, bool(flavour))
    try:
        for number in options.numbers:
            cycle = job_cycles.planned(options.seed, number, options.hosts, bool(flavour))
            outcomes.append(job_cycles.run_cycle(cycle, scene))
            print(outcomes[-1], flush=True)
            if outcomes[-1].problems:
                print(f"  again: {sys.argv[0]} --seed {options.seed} --only-cycle {number} --hosts {options.hosts}"
                      f"{' --containers' if flavour else ''}", flush=True)
        late = scene.left(bool(flavour))
        if late:
            raise lab_hosts.Failed("left after the last cycle: " + "; ".join(late))
    finally:
        scene.end()
    return outcomes


def main():
    options = arguments()
    reason = why_not()
    if reason:
        print(f"SKIPPED: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    flavour = ("--software", "containers") if options.containers else ()
    # Without podman, the cycles in containers become ordinary ones: this counts as one skip.
    reason = why_not(*flavour) if flavour else ""
    if reason:
        print(f"SKIPPED: jobs in containers: {reason}")
        flavour = ()
    print(f"jobs: seed {options.seed}", flush=True)
    begun, outcomes, broken = time.monotonic(), [], 0
    with tempfile.TemporaryDirectory() as work:
        try:
            outcomes = run_cycles(options, pathlib.Path(work), flavour)
        except (lab_hosts.Failed, OSError) as problem:
            broken = 1
            print(f"FAILED: seed {options.seed}: {problem}")
        finally:
            lab_hosts.lab("down")
    failed = sum(bool(one.problems) for one in outcomes)
    went_on = sum(not one.needed for one in outcomes)
    slowest = max((one.clean_after_s for one in outcomes), default=0)
    print(f"jobs: {len(outcomes)} cycles in {time.monotonic() - begun:.0f} s; {went_on} struck a part whose work was done; "
          f"nothing was left after {slowest:.1f} s at the latest")
    print(f"{len(outcomes) - failed} passed, {failed + broken} failed, {1 if reason else 0} skipped")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
