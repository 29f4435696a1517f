#!/usr/bin/env python3
"""Compares sparkplan's NCCL test with nccl-tests on one machine with several GPUs; the two programs run in turn.

    compare.py --nccl-tests FOLDER [--ranks N] [--pairs N] [--network nvlink|socket] [--collective NAME]

FOLDER holds the programs of an installed nccl-tests (all_reduce_perf and so on); this script neither carries nor builds
them. build/tests/local_ranks has to be built: it runs one process per rank, while nccl-tests runs one thread per rank.
Prints, per size, the median of the ratios of bus bandwidth (ours to theirs), and nccl-tests' ratio to its own previous
run. Then it checks that a wrong result is found, and how soon a killed rank is reported. On a machine without a GPU it
reports that and exits with 0.
"""
import argparse
import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIZES = [1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv", "reduce", "gather",
               "scatter", "hypercube", "alltoallv"]
# NVLink multicast stays disabled: on shared GPUs it can take the GPUs out of service.
COMMON = {"NCCL_NVLS_ENABLE": "0"}
NETWORKS = {"nvlink": {}, "socket": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket"}}

# Allowed ratios of the median busbw, ours to nccl-tests'. Smaller messages differ, because the programs time the first
# operation differently.
WANTED = {"nvlink": (0.97, 1.03), "socket": (0.93, 1.07)}
WANTED_FROM = 4 << 20


def number_of_gpus():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def ours(options, variables, sizes=SIZES):
    command = [options.local_ranks, str(options.ranks), options.collective, ",".join(map(str, sizes))]
    command += [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"local_ranks ended with {done.returncode}:\n{done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [row for row in rows if row["wrong"]]
    if wrong:
        sys.exit(f"our check found wrong data: {wrong}")
    return {row["bytes"]: row["busbw"] for row in rows}, done.stderr


def theirs(options, variables, sizes=SIZES):
    program = Path(options.nccl_tests) / f"{options.collective}_perf"
    command = [program, "-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", "4", "-t", str(options.ranks), "-g", "1",
               "-n", "20", "-w", "5", "-c", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    # size count type redop root, then time algbw busbw #wrong out of place.
    row = re.compile(r"^\s*(\d+)\s+\d+\s+float\s+\S+\s+-?\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s", re.M)
    return {int(size): float(busbw) for size, busbw in row.findall(done.stdout)}


def nearest_size(table, size):
    """Returns the entry with the nearest size, because each program rounds uneven sizes down in its own way."""
    return table[min(table, key=lambda one: abs(one - size))]


def compare(options, variables):
    pairs = []
    told = ""
    for number in range(options.pairs):
        # The first program alternates, so that neither always runs on the warmer machine.
        if number % 2 == 0:
            mine, told = ours(options, variables)
            other = theirs(options, variables)
        else:
            other = theirs(options, variables)
            mine, told = ours(options, variables)
        pairs.append((mine, other))
        print(f"# pair {number + 1} of {options.pairs}", file=sys.stderr, flush=True)
    print("\n".join(line for line in told.splitlines() if "NCCL " in line or line.startswith("network")))
    print(f"{options.collective}, {options.ranks} ranks, {options.network}, {options.pairs} pairs; busbw in GB/s")
    print("| size | ours | nccl-tests | ours / nccl-tests, median (lowest to highest) "
          "| nccl-tests / itself, lowest to highest |")
    print("|---|---|---|---|---|")
    good = True
    for size in SIZES:
        mine = [nearest_size(pair[0], size) for pair in pairs]
        other = [nearest_size(pair[1], size) for pair in pairs]
        ratios = [a / b for a, b in zip(mine, other)]
        itself = [b / a for a, b in zip(other, other[1:])] or [1.0]
        print(f"| {size >> 20} MiB | {statistics.median(mine):.2f} | {statistics.median(other):.2f} "
              f"| {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}) "
              f"| {min(itself):.3f} to {max(itself):.3f} |")
        lowest, highest = WANTED[options.network]
        if size >= WANTED_FROM and not lowest <= statistics.median(ratios) <= highest:
            print(f"FAILED: {size >> 20} MiB is not within {lowest} to {highest}")
            good = False
    return good


def loaded_nccl(told):
    return re.search(r"NCCL \S+ from (\S+),", told).group(1)


def check_wrong_data(options, variables):
    """True if one wrong element in the result is found."""
    _, told = ours(options, variables, [1 << 20])
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libnccl.so.2"
        real = Path(loaded_nccl(told)).resolve()
        subprocess.run(["cc", "-shared", "-fPIC", f'-DREAL_NCCL="{real}"', HERE / "wrong_nccl.c", "-o", library, "-ldl"],
                       check=True)
        command = [options.local_ranks, str(options.ranks), "all_reduce", "4194304", f"LD_LIBRARY_PATH={folder}"]
        command += [f"{name}={value}" for name, value in variables.items()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
    caught = len(rows) == 1 and rows[0]["wrong"] == options.ranks
    print(f"wrong data: {'caught' if caught else 'NOT caught'}: {rows[0]['first_wrong'] if rows else done.stderr}")
    return caught


def children(pid):
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.name))
    return found


def check_killed_rank(options, variables):
    """True if a rank killed during an operation is reported within 5 s and the other ranks end."""
    command = [options.local_ranks, str(options.ranks), "all_reduce", ",".join([str(1 << 30)] * 200)]
    command += [f"{name}={value}" for name, value in variables.items()]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in running.stderr:
        if line.startswith("all_reduce of"):
            break
    ranks = children(running.pid)
    deadline = time.monotonic() + 60
    while len(ranks) != options.ranks and time.monotonic() < deadline:
        ranks = children(running.pid)
    begun = time.monotonic()
    os.kill(ranks[-1], signal.SIGKILL)
    told = next((line for line in running.stderr if line.startswith("rank ")), "nothing")
    took = time.monotonic() - begun
    running.wait(timeout=60)
    left = [rank for rank in ranks if Path(f"/proc/{rank}").exists()]
    good = took < 5 and running.returncode == 1 and "status 137" in told and not left
    print(f"killed rank: {'reported' if good else 'NOT reported'} after {took:.2f} s: {told.strip()}; "
          f"ranks left: {len(left)}")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nccl-tests", required=True)
    parser.add_argument("--local-ranks", default=HERE.parent.parent / "build/tests/local_ranks")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--network", choices=NETWORKS, default="nvlink")
    parser.add_argument("--collective", choices=COLLECTIVES, default="all_reduce")
    parser.add_argument("--only", choices=["compare", "faults"])
    options = parser.parse_args()
    gpus = number_of_gpus()
    if gpus < options.ranks:
        print("no GPU here" if gpus == 0 else f"only {gpus} GPUs here")
        return 0
    variables = {**COMMON, **NETWORKS[options.network]}
    good = True
    if options.only != "faults":
        good = compare(options, variables)
    if options.only == "compare":
        return 0 if good else 1
    good = check_wrong_data(options, variables) and good
    return 0 if check_killed_rank(options, variables) and good else 1


if __name__ == "__main__":
    sys.exit(main())
