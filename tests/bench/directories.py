#!/usr/bin/env python3
"""Plans clusters of directory nodes and prints time and memory, to show that the cost per node stays flat.

    tests/bench/directories.py [--sparkplan build/bin/sparkplan] [--rounds 3] [SIZE...]

Each node is a directory of this machine. Its agent is a process of this machine, too, so the time contains the agents'
work. The cluster is applied once; then every manifest contains the whole roster, and each plan reads it.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cluster_file(folder, size):
    lines = ["version: 1", "name: directories", 'sysctl: {vm.swappiness: "10", net.core.rmem_max: "2000000"}', "nodes:"]
    for number in range(1, size + 1):
        root = folder / f"n{number}"
        (root / "etc").mkdir(parents=True)
        lines.append(f'  - {{name: n{number}, id: {number}, transport: local, root: "{root}"}}')
    path = folder / "cluster.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(arguments):
    """Seconds, MiB at most, CPU seconds of the program and its agents."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"{arguments} ended with {process.returncode}:\n{output.read().decode(errors='replace')[-2000:]}")
    return seconds, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[25, 400, 1000])
    parser.add_argument("--sparkplan", default=str(ROOT / "build/bin/sparkplan"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| nodes | plan | CPU | per node | CPU per node | memory |\n|---|---|---|---|---|---|")
    for size in options.sizes:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="sparkplan-directories-"))
        try:
            path = str(cluster_file(folder, size))
            run([options.sparkplan, "-q", "apply", path, "--yes"])
            rounds = [run([options.sparkplan, "-q", "plan", path]) for _ in range(options.rounds)]
            seconds, memory, cpu = (statistics.median(column) for column in zip(*rounds))
            print(f"| {size} | {seconds:.2f} s | {cpu:.2f} s | {1000 * seconds / size:.1f} ms "
                  f"| {1000 * cpu / size:.1f} ms | {memory:.0f} MiB |", flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
