#!/usr/bin/env python3
"""Reads the result of `tune`, for tune.sh.

    tune.py judge JSON YAML HTML
    tune.py grid JSON CLUSTER --number N|all -- SPARKPLAN

judge: exit code 1 unless the result keeps the rule of docs/tune.md. grid: measures settings of the grid with `verify`,
one run each, then the best of them and the proposal in turns. Exit code 1 if the proposal is more than 2 % slower, or
if tune took more than a tenth of the time of the whole grid.
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
TURNS = 10
SIZES = ["--sizes", "8KiB:256MiB:32", "--collectives", "all_reduce"]


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
    """The mean logarithm of the times, and the duration of the run. Infinity if NCCL fails."""
    text = Path(options.cluster).read_text()
    anchor = "NCCL_NVLS_ENABLE: 0"
    if anchor not in text:
        sys.exit(f"{options.cluster} does not set {anchor}")
    more = "".join(f', {name}: "{value}"' for name, value in variables.items())
    Path("grid.yaml").write_text(text.replace(anchor, anchor + more))
    begin = time.monotonic()
    done = subprocess.run([*options.command, "verify", "-f", "grid.yaml", "--level", "nccl", "--json", *SIZES],
                          capture_output=True, text=True, timeout=600)
    seconds = time.monotonic() - begin
    try:
        checks = json.loads(done.stdout)["checks"]
    except ValueError:
        sys.exit(f"verify ended with {done.returncode}:\n{done.stderr[-2000:]}")
    times = [point["time_us"] for check in checks for point in check.get("series", [])
             if check["level"] == "nccl" and check["id"].endswith("/all_reduce") and check["status"] != "fail"]
    if not times:
        return math.inf, seconds
    return statistics.fmean(math.log(one) for one in times), seconds


def grid(options):
    report = json.loads(Path(options.json).read_text())
    settings = list(grid_of(report))
    whole = len(settings)
    if options.number != "all":
        # Fixed: a second run measures the same settings.
        settings = random.Random(1).sample(settings, min(int(options.number), whole))
    results = []
    for setting in settings:
        results.append((*measured(options, setting), setting))
        print(f"# {results[-1][0]:.4f} {setting}", file=sys.stderr, flush=True)
    best = min(results, key=lambda one: one[0])[2]
    # tune's own runs are shorter than those of verify: the grid is counted with the time of tune's.
    run = report["measured_s"] / max(2 * len(report["history"]), 1)
    share = report["measured_s"] / (whole * run * 2 * report["pairs_to_decide"])
    ratios = []
    for turn in range(TURNS):
        order = [report["proposed"], best] if turn % 2 == 0 else [best, report["proposed"]]
        pair = [measured(options, setting)[0] for setting in order]
        mine, other = pair if turn % 2 == 0 else reversed(pair)
        ratios.append(math.exp(other - mine))
    middle = statistics.median(ratios)
    print(f"# best of {len(settings)} of {whole} settings: {best}")
    print(f"# speed of {report['proposed']} over it: {middle:.4f} ({min(ratios):.4f} to {max(ratios):.4f})")
    print(f"# tune took {share:.1%} of the time of the whole grid with {report['pairs_to_decide']} pairs per setting")
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
    of_grid.add_argument("command", nargs="+")
    options = parser.parse_args()
    return judge(options) if options.what == "judge" else grid(options)


if __name__ == "__main__":
    sys.exit(main())
