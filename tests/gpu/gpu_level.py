#!/usr/bin/env python3
"""Compares the checks of `verify --level gpu --json` with what nvidia-smi has read meanwhile; see gpu_level.sh.

    gpu_level.py CHECKS.json SAMPLES.csv
    gpu_level.py --used CHECKS.json       the GPU of spark-01 is named as used and not measured
    gpu_level.py --forced CHECKS.json     it is measured all the same

A line of the samples: index, utilisation, SM clock, power, temperature, highest memory clock, name, driver. Prints a
line per check and exits with 1 if one fails.
"""
import csv
import json
import statistics
import sys

BUSY = 90  # Percent of utilisation from which on a sample is one of the load.
# The width of the memory in bits and the multiprocessors, by a part of the name. Source: NVIDIA's data sheets.
KNOWN = {"H100 80GB HBM3": (5120, 132), "H100 PCIe": (5120, 114), "H200": (6144, 132), "A100": (5120, 108)}

failures = 0


def check(text, holds):
    global failures
    print(("passed: " if holds else "FAILED: ") + text)
    failures += 0 if holds else 1


def checks_in(path):
    with open(path) as file:
        return {check["id"]: check for check in json.load(file)["checks"]}


def samples_in(path):
    """The samples of busy GPUs, and the name, driver and memory clock of any."""
    busy, about = [], None
    with open(path) as file:
        for row in csv.reader(file, skipinitialspace=True):
            if len(row) < 8:
                continue
            about = {"name": row[6], "driver": row[7], "memory_mhz": row[5]}
            try:
                if float(row[1]) >= BUSY:
                    busy.append({"index": row[0], "clock": float(row[2]), "power": float(row[3]), "celsius": float(row[4])})
            except ValueError:
                continue  # "[N/A]"
    return busy, about


def near(text, value, values, part, slack=0.0):
    """`value` is within the medians of the GPUs, give or take `part` of them and `slack`."""
    if value is None or not values:
        return check(f"{text}: nothing to compare", False)
    low, high = min(values) * (1 - part) - slack, max(values) * (1 + part) + slack
    check(f"{text} {value:g}, nvidia-smi {min(values):g} to {max(values):g}", low <= value <= high)


def medians(busy, key):
    by_gpu = {}
    for sample in busy:
        by_gpu.setdefault(sample["index"], []).append(sample[key])
    return [statistics.median(values) for values in by_gpu.values()]


def compare_rates(checks, node, about):
    known = next((value for name, value in KNOWN.items() if name in about["name"]), None)
    if not known:
        print(f"SKIPPED: the peaks of {about['name']} are not known here")
        return
    bits, processors = known
    peak = float(about["memory_mhz"]) * 1e6 * 2 * bits / 8 / 1e9
    copy = checks[f"gpu/{node}/bandwidth"]["value"]
    check(f"{node}: copy {copy:.0f} GB/s of {peak:.0f}", 0.6 * peak <= copy <= peak)
    # 128 lanes in each multiprocessor (64 in an A100), two operations per clock.
    lanes = 64 if "A100" in about["name"] else 128
    highest = checks[f"gpu/{node}/clock"]["value"] * 1e6 * processors * lanes * 2 / 1e12
    flops = checks[f"gpu/{node}/compute"]["value"]
    check(f"{node}: {flops:.1f} TFLOP/s of {highest:.1f} at its clock", 0.7 * highest <= flops <= 1.1 * highest)


def compare(checks, busy, about):
    check(f"nvidia-smi saw a busy GPU ({len(busy)} samples)", len(busy) > 0)
    nodes = sorted({one["nodes"][0] for one in checks.values() if one["id"].endswith("/clock")})
    check(f"measured: {', '.join(nodes)}", len(nodes) > 0)
    for node in nodes:
        text = checks[f"gpu/{node}"]["text"]
        check(f"{node}: {text}", about["name"] in text and about["driver"] in text)
        near(f"{node}: SM clock", checks[f"gpu/{node}/clock"]["value"], medians(busy, "clock"), 0.1)
        near(f"{node}: power", checks[f"gpu/{node}/power"]["value"], medians(busy, "power"), 0.2, 10)
        near(f"{node}: temperature", checks[f"gpu/{node}/temperature"]["value"], medians(busy, "celsius"), 0, 8)
        compare_rates(checks, node, about)
        print(f"        errors: {checks[f'gpu/{node}/errors'].get('text') or checks[f'gpu/{node}/errors']['cause']}")
    for one in checks.values():
        if one["status"] in ("warn", "fail"):
            print(f"        {one['status']} {one['id']}: {one['cause']}")


def main(arguments):
    if arguments[0] == "--used":
        checks = checks_in(arguments[1])
        used = checks.get("gpu/spark-01/use", {})
        print(f"        {used.get('cause')}")
        sys.exit(0 if used.get("status") == "skip" and "gpu/spark-01/clock" not in checks else 1)
    if arguments[0] == "--forced":
        sys.exit(0 if checks_in(arguments[1]).get("gpu/spark-01/clock", {}).get("value") else 1)
    busy, about = samples_in(arguments[1])
    compare(checks_in(arguments[0]), busy, about or {"name": "?", "driver": "?", "memory_mhz": "0"})
    sys.exit(1 if failures else 0)


main(sys.argv[1:])
