#!/usr/bin/env python3
"""Reads the JSON of `verify --sizes`, for sweep.sh.

    sweep.py judge FILE [--collectives all] [--latency]
    sweep.py compare --nccl-tests FOLDER [--mpirun PROGRAM] --pairs N [--seconds N] [--cycles N] [--collectives LIST]
                     [--raw FILE] --sizes MIN:MAX:FACTOR -- VERIFY...

judge: exit code 1 unless each check of NCCL passed, with both placements where there are two. compare: runs VERIFY and
nccl-tests in turns on this machine, and prints the median ratio of the times for each operation, placement and size,
then for classes of sizes. Allowed are 0.9 to 1.1 up to 64 KiB, and 0.97 to 1.03 from 4 MiB on. Sizes in between are
only printed. nccl-tests measure each size in N cycles per start, of which the median counts. No pair begins that would
end after --seconds. FILE gets the times of the pairs so far as JSON, after each pair.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv", "reduce", "gather",
               "scatter", "hypercube", "alltoallv"]
ONLY_OUT_OF_PLACE = {"alltoall", "alltoallv", "sendrecv"}
SMALL, SMALL_RATIO = 64 << 10, (0.9, 1.1)
LARGE, LARGE_RATIO = 4 << 20, (0.97, 1.03)
# What Open MPI needs to start as root on a machine without ssh; other programs ignore it. A rank that is bound to one
# core shares it with the threads of NCCL.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm": "isolated"}
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


class NotMeasured(Exception):
    """A program failed or did not end. The pairs before it stand."""


def output_of(command, limit, allowed=(0,), **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, **options)
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"{command[0]} did not end within {limit:.0f} s") from error
    if done.returncode not in allowed:
        raise NotMeasured(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}\n"
                          f"{done.stdout[-2000:]}")
    return done.stdout


def ours(command, limit):
    # 8: a check of another level failed.
    report = json.loads(output_of(command, limit, allowed=(0, 8)))
    times = {}
    for name, check in checks_in(report).items():
        for point in check.get("series", []):
            times[name, point["placement"], point["bytes"]] = point["time_us"]
    about = [check["text"] for check in report["checks"] if re.fullmatch("nccl/[^/]+", check["id"]) and "text" in check]
    return times, "; ".join(about)


def their_size(text):
    """nccl-tests reads 8, 64K, 1M and 8G, as powers of 1024."""
    return text.removesuffix("B").removesuffix("i")


def number_of_gpus():
    return len([name for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)])


def check_ranks(output, program, gpus):
    """Started by an mpirun that they were not built for, nccl-tests are several tests of one GPU each."""
    ranks = sorted(int(rank) for rank in re.findall(r"^#\s+Rank\s+(\d+)\s", output, re.M))
    if ranks != list(range(gpus)):
        raise NotMeasured(f"{program} has the ranks {ranks} for {gpus} GPUs: build nccl-tests with MPI=1 for --mpirun")


def their_program(options, name):
    return Path(options.nccl_tests) / f"{name}_perf"


def their_command(options, name, gpus):
    smallest, largest, factor = options.sizes.split(":")
    command = [str(their_program(options, name)), "-b", their_size(smallest), "-e", their_size(largest), "-f", factor,
               "-t", "1" if options.mpirun else str(gpus), "-g", "1", "-n", "20", "-w", "5", "-c", "1",
               "-N", str(options.cycles)]
    return [options.mpirun, "-n", str(gpus), "--bind-to", "none", *command] if options.mpirun else command


def theirs(options, names, end):
    gpus = number_of_gpus()
    found = {}
    about = ""
    for name in names:
        # NVLink multicast stays disabled: on shared GPUs it can take the GPUs out of service.
        output = output_of(their_command(options, name, gpus), max(end - time.monotonic(), 1),
                           env={**MPI_ENVIRONMENT, **os.environ, "NCCL_NVLS_ENABLE": "0"})
        check_ranks(output, name, gpus)
        about = next((line for line in output.splitlines() if "nccl-library" in line), about)
        for size, out_time, _, in_time, _ in ROW.findall(output):
            found.setdefault((name, "out_of_place", int(size)), []).append(float(out_time))
            found.setdefault((name, "in_place", int(size)), []).append(float(in_time))
    return {key: statistics.median(times) for key, times in found.items()}, about


def allowed_for(size):
    if size <= SMALL:
        return SMALL_RATIO
    return LARGE_RATIO if size >= LARGE else None


def one_pair(options, names, number, end):
    def mine():
        return ours(options.command, max(end - time.monotonic(), 1))

    # The first program alternates, so that neither always runs on the warmer machine.
    if number % 2 == 0:
        (own, about), (other, other_about) = mine(), theirs(options, names, end)
    else:
        (other, other_about), (own, about) = theirs(options, names, end), mine()
    if number == 0:
        print(f"# verify: {about}\n# {other_about.removeprefix('# ')}")
        print(f"# ranks of nccl-tests: {'processes' if options.mpirun else 'threads of one process'}", flush=True)
    return own, other


def measure_pairs(options, names):
    pairs, longest, begin = [], 0, time.monotonic()
    limit = options.seconds or 6 * 3600
    while len(pairs) < options.pairs and time.monotonic() - begin + longest < limit:
        started = time.monotonic()
        try:
            pairs.append(one_pair(options, names, len(pairs), begin + limit))
        except NotMeasured as error:
            print(f"FAILED: pair {len(pairs) + 1}: {error}")
            return pairs, False
        longest = max(longest, time.monotonic() - started)
        print(f"# pair {len(pairs)} of {options.pairs}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        if options.raw:
            table = [[[[*key], time_us] for key, time_us in times.items()] for pair in pairs for times in pair]
            Path(options.raw).write_text(json.dumps(table))
    return pairs, True


def class_of(size):
    return "up to 64 KiB" if size <= SMALL else "from 4 MiB" if size >= LARGE else "in between"


def print_classes(middles, spread):
    """`spread`: of each case, the highest time of a program over its lowest one."""
    print("| sizes | cases | median of the ratios | lowest to highest | within the target "
          "| noise of verify | noise of nccl-tests |")
    print("|---|---|---|---|---|---|---|")
    for name in ["up to 64 KiB", "in between", "from 4 MiB"]:
        ratios = [ratio for key, ratio in middles.items() if class_of(key[2]) == name]
        if not ratios:
            continue
        good = [ratio for key, ratio in middles.items() if class_of(key[2]) == name and is_within(key[2], ratio)]
        own = [spread[key] for key in middles if class_of(key[2]) == name]
        limits = allowed_for(min(key[2] for key in middles if class_of(key[2]) == name))
        share = f"{len(good)} in {limits[0]} to {limits[1]}" if limits else "no target"
        print(f"| {name} | {len(ratios)} | {statistics.median(ratios):.3f} | {min(ratios):.3f} to {max(ratios):.3f} "
              f"| {share} | {statistics.median(mine for mine, _ in own):.2f} "
              f"| {statistics.median(other for _, other in own):.2f} |")


def is_within(size, ratio):
    limits = allowed_for(size)
    return limits is None or limits[0] <= ratio <= limits[1]


def compare(options):
    names = options.collectives.split(",")
    missing = [str(their_program(options, name)) for name in names if not their_program(options, name).exists()]
    if missing:
        sys.exit(f"not there: {', '.join(missing)}")
    pairs, complete = measure_pairs(options, names)
    shared = set.intersection(*[set(mine) & set(other) for mine, other in pairs]) if pairs else set()
    keys = sorted(shared, key=lambda key: (COLLECTIVES.index(key[0]), key[1] == "in_place", key[2]))
    if not keys:
        sys.exit("no size was measured by both")
    print("| operation | placement | bytes | ours, us | nccl-tests, us | ours / nccl-tests, median (lowest to highest) |")
    print("|---|---|---|---|---|---|")
    middles, spread = {}, {}
    for key in keys:
        mine = [pair[0][key] for pair in pairs]
        other = [pair[1][key] for pair in pairs]
        if min(mine) <= 0 or min(other) <= 0:
            continue
        ratios = [a / b for a, b in zip(mine, other)]
        middles[key] = statistics.median(ratios)
        spread[key] = max(mine) / min(mine), max(other) / min(other)
        print(f"| {key[0]} | {key[1]} | {key[2]} | {statistics.median(mine):.2f} | {statistics.median(other):.2f} "
              f"| {middles[key]:.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
              f"{'' if is_within(key[2], middles[key]) else ' OUTSIDE'} |")
    print_classes(middles, spread)
    outside = sum(not is_within(key[2], ratio) for key, ratio in middles.items())
    print(f"{outside} of {len(middles)} medians of {len(pairs)} pairs are outside")
    return 0 if complete and outside == 0 else 1


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
    of_compare.add_argument("--seconds", type=float, default=0, help="0: no limit")
    of_compare.add_argument("--cycles", type=int, default=5)
    of_compare.add_argument("--collectives", default=",".join(COLLECTIVES))
    of_compare.add_argument("--raw")
    of_compare.add_argument("--sizes", required=True)
    of_compare.add_argument("command", nargs="+")
    options = parser.parse_args()
    return judge(options) if options.what == "judge" else compare(options)


if __name__ == "__main__":
    sys.exit(main())
