#!/usr/bin/env python3
"""Reads the result of `tune`, for tune.sh.

    tune.py judge JSON YAML HTML
    tune.py grid JSON CLUSTER --number N|all [--seconds N] -- SPARKPLAN

judge: exit code 1 unless the result keeps the rule of docs/tune.md. grid: measures settings of the grid with `verify`,
one run each. The best one counts that keeps the rule, too: in turns with the settings of CLUSTER, no size is more than
2 % slower. One that is 15 % slower at a size in its single run is not measured again. Then the best one is measured in
turns with the proposal. Exit code 1 if the proposal is more than 2 % slower, or if tune took more than a tenth of the
time of the whole grid. --seconds bounds all of it: fewer settings are measured.
"""
import argparse
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

ALLOWED_LOSS = 0.02
CLEAR_LOSS = 0.15
TURNS, TURNS_OF_RULE = 10, 3
# A run takes 5 s. The weights are those of tune, which has three points of large messages.
SIZES = ["--sizes", "8KiB:32MiB:64", "--collectives", "all_reduce"]
WEIGHTS = {8 << 10: 1, 512 << 10: 1, 32 << 20: 3}


def complaints(report, yaml, page):
    allowed = 0.01 / max(report["decisions"], 1)
    variables = {}
    for setting in report["settings"]:
        if "NCCL_NVLS_ENABLE" in setting["variables"]:
            yield "NCCL_NVLS_ENABLE was tried"
        if setting["verdict"] != "accepted":
            continue
        variables.update(setting["variables"])
        found = setting["comparison"]
        if found["pairs"] < 10 or found["gain"] < 1.01 or found["chance"] > allowed:
            yield f"{setting['variables']} was accepted with {found}"
        if any(point["gain"] < 0.98 for point in found["points"]):
            yield f"{setting['variables']} was accepted though a size is slower"
    if not set(report["proposed"].items()) <= set(variables.items()):
        yield f"{report['proposed']} is proposed, {variables} was accepted"
    if report["measured_s"] > report["budget_s"]:
        yield f"the runs took {report['measured_s']} s of {report['budget_s']} s"
    orders = [pair["after_first"] for pair in report["history"]]
    if orders != [number % 2 == 1 for number in range(len(orders))]:
        yield "the order of the runs does not alternate"
    if not report["history"]:
        yield "no pair was measured"
    for name, value in report["proposed"].items():
        if f'{name}: "{value}"' not in yaml:
            yield f"{name} is not in the fragment"
    if not page.startswith("<!DOCTYPE html>"):
        yield "the page is none"


def judge(options):
    report = json.loads(Path(options.json).read_text())
    for setting in report["settings"]:
        found = setting["comparison"] or {"gain": 1, "pairs": 0, "chance": 1}
        print(f"# {setting['variables']}: {setting['verdict']} {setting['reason']}, gain {found['gain']:.4f}, "
              f"{found['pairs']} pairs, chance {found['chance']:.2g}")
    print(f"# {len(report['history'])} pairs in {report['measured_s']:.0f} s; proposed: {report['proposed']}")
    found = list(complaints(report, Path(options.yaml).read_text(), Path(options.page).read_text()))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def grid_of(report):
    """Every combination of one value per knob, or none of it."""
    knobs = {}
    for setting in report["settings"]:
        knobs.setdefault(setting["knob"], [{}]).append(setting["variables"])
    for values in itertools.product(*knobs.values()):
        yield {name: text for value in values for name, text in value.items()}


def measured(options, variables):
    """The time of each size in us; empty if NCCL fails."""
    text = Path(options.cluster).read_text()
    anchor = "NCCL_NVLS_ENABLE: 0"
    if anchor not in text:
        sys.exit(f"{options.cluster} does not set {anchor}")
    more = "".join(f', {name}: "{value}"' for name, value in variables.items())
    Path("grid.yaml").write_text(text.replace(anchor, anchor + more))
    # As for tune: programs of other containers are not on these GPUs.
    command = [*options.command, "verify", "-f", "grid.yaml", "--level", "nccl", "--force", "--json", *SIZES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return {}
    try:
        checks = json.loads(done.stdout)["checks"]
    except ValueError:
        sys.exit(f"verify ended with {done.returncode}:\n{done.stderr[-2000:]}")
    times = {point["bytes"]: point["time_us"] for check in checks for point in check.get("series", [])
             if check["level"] == "nccl" and check["id"].endswith("/all_reduce") and check["status"] != "fail"
             and point["placement"] == "out_of_place"}
    return times if set(times) == set(WEIGHTS) else {}


def speed_of(times):
    """The weighted mean of the logarithms; larger is faster."""
    if not times:
        return -math.inf
    return -sum(weight * math.log(times[size]) for size, weight in WEIGHTS.items()) / sum(WEIGHTS.values())


def in_turns(options, one, other, turns, end):
    """The times of both settings, of runs in turns; at least one pair."""
    pairs = []
    for turn in range(turns):
        if pairs and time.monotonic() > end:
            break
        order = [one, other] if turn % 2 == 0 else [other, one]
        pair = [measured(options, setting) for setting in order]
        if all(pair):
            pairs.append(pair if turn % 2 == 0 else pair[::-1])
    return pairs


def slower_sizes(pairs, allowed):
    """The sizes at which the first setting of the pairs is slower than allowed, as text."""
    ratios = {size: statistics.median(other[size] / mine[size] for mine, other in pairs) for size in WEIGHTS}
    return ", ".join(f"{size} bytes: {ratio:.3f}" for size, ratio in ratios.items() if ratio < 1 - allowed)


def best_within_rule(options, results, own, end):
    """The fastest setting that makes no size slower than `own`, the times of the file's settings; else none."""
    for times, setting in sorted(results, key=lambda one: speed_of(one[0]), reverse=True):
        if speed_of(times) <= speed_of(own) or time.monotonic() > end:
            break
        slower = slower_sizes([(times, own)], CLEAR_LOSS)
        if not slower:
            pairs = in_turns(options, setting, {}, TURNS_OF_RULE, end)
            slower = slower_sizes(pairs, ALLOWED_LOSS) if pairs else "NCCL fails"
        print(f"# {setting}: {math.exp(speed_of(times) - speed_of(own)):.3f} times as fast as the file's settings in "
              f"one run; {'slower at ' + slower if slower else 'no size is slower'}", flush=True)
        if not slower:
            return setting
    return {}


def grid(options):
    report = json.loads(Path(options.json).read_text())
    settings = list(grid_of(report))
    whole = len(settings)
    begin = time.monotonic()
    limit = options.seconds or 24 * 3600
    if options.number != "all":
        # Fixed: a second run measures the same settings. The settings of the file are the first ones, and stay.
        random.Random(1).shuffle(settings)
        settings.sort(key=bool)
        settings = settings[:int(options.number) + 1]
    file_runs = [times for times in (measured(options, {}) for _ in range(TURNS_OF_RULE)) if times]
    if not file_runs:
        sys.exit("NCCL fails with the settings of the file")
    own = {size: statistics.median(times[size] for times in file_runs) for size in WEIGHTS}
    results = [(own, {})]
    for setting in filter(None, settings):
        if time.monotonic() - begin > limit / 2:
            break
        results.append((measured(options, setting), setting))
        print(f"# {speed_of(results[-1][0]):.4f} {setting}", file=sys.stderr, flush=True)
    best = best_within_rule(options, results, own, begin + limit * 3 / 4)
    # tune's own runs have other sizes than those of verify: the grid is counted with the time of tune's.
    run = report["measured_s"] / max(2 * len(report["history"]), 1)
    share = report["measured_s"] / (whole * run * 2 * report["pairs_to_decide"])
    print(f"# best of {len(results)} of {whole} settings, within the rule: {best or 'the settings of the file'}")
    print(f"# tune took {share:.1%} of the time of the whole grid with {report['pairs_to_decide']} pairs per setting")
    if best == report["proposed"]:
        print("# that is the proposal")
        return 0 if share <= 0.1 else 1
    pairs = in_turns(options, report["proposed"], best, TURNS, begin + limit)
    ratios = [math.exp(speed_of(mine) - speed_of(other)) for mine, other in pairs]
    if not ratios:
        print("# NCCL fails with one of them")
        return 1
    middle = statistics.median(ratios)
    print(f"# speed of {report['proposed']} over it: {middle:.4f} ({min(ratios):.4f} to {max(ratios):.4f}, "
          f"{len(ratios)} pairs)")
    return 0 if middle >= 1 - ALLOWED_LOSS and share <= 0.1 else 1


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="what", required=True)
    of_judge = commands.add_parser("judge")
    of_judge.add_argument("json")
    of_judge.add_argument("yaml")
    of_judge.add_argument("page")
    of_grid = commands.add_parser("grid")
    of_grid.add_argument("json")
    of_grid.add_argument("cluster")
    of_grid.add_argument("--number", default="all")
    of_grid.add_argument("--seconds", type=float, default=0, help="0: no limit")
    of_grid.add_argument("command", nargs="+")
    options = parser.parse_args()
    return judge(options) if options.what == "judge" else grid(options)


if __name__ == "__main__":
    sys.exit(main())
