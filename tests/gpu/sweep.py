#!/usr/bin/env python3
"""Reads the JSON of `verify --sizes`, for sweep.sh.

    sweep.py judge FILE [--collectives all] [--latency]
    sweep.py compare --nccl-tests FOLDER [--mpirun PROGRAM] --pairs N --sizes MIN:MAX:FACTOR -- VERIFY...

judge: exit code 1 unless each check of NCCL passed, with both placements where there are two. compare: runs VERIFY and
nccl-tests in turns on this machine, and prints the median ratio of the times for each operation, placement and size.
Allowed are 0.9 to 1.1 up to 64 KiB, and 0.97 to 1.03 from 4 MiB on. Sizes in between are only printed.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv", "reduce", "gather",
               "scatter", "hypercube"]
ONLY_OUT_OF_PLACE = {"alltoall", "sendrecv"}
SMALL, SMALL_RATIO = 64 << 10, (0.9, 1.1)
LARGE, LARGE_RATIO = 4 << 20, (0.97, 1.03)
# size count type redop root, then time algbw busbw #wrong twice; "N/A" where nccl-tests does not check.
ROW = re.compile(r"^\s*(\d+)\s+\d+\s+float\s+\S+\s+-?\d+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\S+)"
                 r"\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+(\S+)", re.M)


def checks_in(report):
    """The checks of operations, by their name."""
    found = {}
    for check in report["checks"]:
        name = check["id"].rsplit("/", 1)[1]
        if check["level"] == "nccl" and name in [*COLLECTIVES, "latency"]:
            found[name] = check
    return found


def complaints(report, wanted, latency):
    checks = checks_in(report)
    ranks_fit = "hypercube needs a power of two" not in json.dumps(report)
    for name in wanted:
        if name == "hypercube" and not ranks_fit:
            continue
        if name not in checks:
            yield f"{name} has no check"
            continue
        check = checks[name]
        if check["status"] not in ("pass", "warn"):
            yield f"{name}: {check['status']}: {check.get('cause')}"
        placements = {point["placement"] for point in check.get("series", [])}
        if len(wanted) == len(COLLECTIVES):
            expected = {"out_of_place"} if name in ONLY_OUT_OF_PLACE else {"out_of_place", "in_place"}
            if placements != expected:
                yield f"{name} has the placements {sorted(placements)}"
    if latency:
        check = checks.get("latency", {})
        if check.get("unit") != "us" or not check.get("value"):
            yield f"there is no latency: {check}"


def judge(options):
    report = json.loads(Path(options.file).read_text())
    wanted = COLLECTIVES if options.collectives == "all" else ["all_reduce", "all_gather"]
    found = list(complaints(report, wanted, options.latency))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def ours(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    # 8: a check of another level failed.
    if done.returncode not in (0, 8):
        sys.exit(f"verify ended with {done.returncode}:\n{done.stderr}\n{done.stdout[-2000:]}")
    times = {}
    for name, check in checks_in(json.loads(done.stdout)).items():
        for point in check.get("series", []):
            times[name, point["placement"], point["bytes"]] = point["time_us"]
    return times


def their_size(text):
    """nccl-tests reads 8, 64K, 1M and 8G, as powers of 1024."""
    return text.removesuffix("B").removesuffix("i")


def theirs(options, names):
    smallest, largest, factor = options.sizes.split(":")
    gpus = len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)])
    times = {}
    for name in names:
        program = Path(options.nccl_tests) / f"{name}_perf"
        if not program.exists():
            print(f"# {program} is not there: {name} is not compared")
            continue
        command = [program, "-b", their_size(smallest), "-e", their_size(largest), "-f", factor,
                   "-t", "1" if options.mpirun else str(gpus), "-g", "1", "-n", "20", "-w", "5", "-c", "1"]
        if options.mpirun:
            command = [options.mpirun, "--allow-run-as-root", "-n", str(gpus), *command]
        # NVLink multicast stays disabled: on shared GPUs it can take the GPUs out of service.
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800,
                              env={**os.environ, "NCCL_NVLS_ENABLE": "0"})
        if done.returncode != 0:
            sys.exit(f"{program} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        for size, out_time, _, in_time, _ in ROW.findall(done.stdout):
            times[name, "out_of_place", int(size)] = float(out_time)
            times[name, "in_place", int(size)] = float(in_time)
    return times


def allowed_for(size):
    if size <= SMALL:
        return SMALL_RATIO
    return LARGE_RATIO if size >= LARGE else None


def compare(options):
    pairs = []
    for number in range(options.pairs):
        # The first program alternates, so that neither always runs on the warmer machine.
        if number % 2 == 0:
            mine = ours(options.command)
            other = theirs(options, COLLECTIVES)
        else:
            other = theirs(options, COLLECTIVES)
            mine = ours(options.command)
        pairs.append((mine, other))
        print(f"# pair {number + 1} of {options.pairs}", file=sys.stderr, flush=True)
    keys = sorted(set.intersection(*[set(mine) & set(other) for mine, other in pairs]),
                  key=lambda key: (COLLECTIVES.index(key[0]), key[1] == "in_place", key[2]))
    if not keys:
        sys.exit("no size was measured by both")
    print("| operation | placement | bytes | ours, us | nccl-tests, us | ours / nccl-tests, median (lowest to highest) |")
    print("|---|---|---|---|---|---|")
    outside = 0
    for key in keys:
        mine = [pair[0][key] for pair in pairs]
        other = [pair[1][key] for pair in pairs]
        ratios = [a / b for a, b in zip(mine, other) if b > 0]
        if not ratios:
            continue
        middle = statistics.median(ratios)
        limits = allowed_for(key[2])
        good = limits is None or limits[0] <= middle <= limits[1]
        outside += not good
        print(f"| {key[0]} | {key[1]} | {key[2]} | {statistics.median(mine):.2f} | {statistics.median(other):.2f} "
              f"| {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}){'' if good else ' OUTSIDE'} |")
    print(f"{outside} of {len(keys)} medians are outside")
    return 1 if outside else 0


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="what", required=True)
    of_judge = commands.add_parser("judge")
    of_judge.add_argument("file")
    of_judge.add_argument("--collectives", default="usual")
    of_judge.add_argument("--latency", action="store_true")
    of_compare = commands.add_parser("compare")
    of_compare.add_argument("--nccl-tests", required=True)
    of_compare.add_argument("--mpirun", default="")
    of_compare.add_argument("--pairs", type=int, default=5)
    of_compare.add_argument("--sizes", required=True)
    of_compare.add_argument("command", nargs="+")
    options = parser.parse_args()
    return judge(options) if options.what == "judge" else compare(options)


if __name__ == "__main__":
    sys.exit(main())
