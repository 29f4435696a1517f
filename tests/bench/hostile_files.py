#!/usr/bin/env python3
"""Validates cluster files of 1 MB in one line, each of a shape that can make a YAML reader slow or large.

usage: hostile_files.py [--sparkplan build/bin/sparkplan] [--rounds N] [--write FILE]

Needs no root and no lab. Prints the least time of each shape, because other work only adds to it, and the most memory.
Ends with 1 if a shape takes a second or more, or 150 MB or more. --write puts the table between the marks in FILE
(docs/performance.md).
"""
import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile

import written
from lab_hosts import ROOT

LONGEST = 1 << 20
MOST_SECONDS = 1
MOST_MB = 150
PATIENCE_S = 30

# Of a child that Python forks itself, the kernel would report Python's own memory. This launcher is small.
LAUNCHER = """import os, sys, time
begun = time.monotonic()
child = os.fork()
if child == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(child, 0)
print(time.monotonic() - begun, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))"""


def filled(head, piece, tail=""):
    """`head`, as many pieces as fit, `tail`. A piece is a text, or a function of its number."""
    parts, size, number = [head], len((head + tail).encode()), 0
    while True:
        next_one = piece if isinstance(piece, str) else piece(number)
        size += len(next_one.encode())
        if size > LONGEST:
            return "".join(parts) + tail
        parts.append(next_one)
        number += 1


NODES = "".join(f"{{name: n{i}, address: h{i}}}," for i in range(1000))

SHAPES = {
    "nothing: a cluster of one node, to compare": "version: 1\nname: lab\nnodes: [{name: a, address: 10.0.0.1}]\n",
    "lists in lists, 60 deep, many times": filled("x: [", "[" * 60 + "]" * 60 + ",", "]"),
    "a million opening brackets": filled("x: ", "["),
    "299,000 opening brackets, then empty texts": filled("[[" + "[" * 299_000, '""'),
    "nested list entries (`- - -`)": filled("", "- "),
    "nested question marks": filled("", "? "),
    "one plain scalar": filled("x: ", "a"),
    "one plain scalar of words": filled("x: ", "ab "),
    "one plain key": filled("", "k", ": 1"),
    "one quoted scalar": filled('x: "', "a", '"'),
    "a quote that never closes": filled('x: "', "a"),
    "quoted escapes (`\\n`)": filled('x: "', "\\n", '"'),
    "quoted escapes (`\\u00e9`)": filled('x: "', "\\u00e9", '"'),
    "quotes in single quotes": filled("x: '", "''", "'"),
    "quoted words": filled("x: [", '"a\\n",', "]"),
    "letters outside ASCII": filled("x: ", "\u00e9"),
    "characters that reorder text": filled("x: [", '"\u202e",', "]"),
    "anchors": filled("x: [", lambda i: f"&a{i} 1,", "]"),
    "anchors, each with its alias": filled("x: [", lambda i: f"&a{i} 1,*a{i},", "]"),
    "aliases of one anchor": filled("x: [&a 1,", "*a,", "]"),
    "nested anchors around a long text": filled("x: " + "".join(f"&a{i} [" for i in range(60)), "a", "]" * 60),
    "one long anchor": filled("x: &", "a", " 1"),
    "unknown tags": filled("x: [", "!a 1,", "]"),
    "small maps": filled("x: [", "{a: 1},", "]"),
    "small maps in a list of a list": filled("[[", "{a: 1},"),
    "empty values": filled("x: [", ",", "]"),
    "letters in a list of a list": filled("[[", "a,"),
    "letters in a list of a list, 299,000": "[[" + "a," * 299_000 + "]]",
    "one comment": filled("# ", "a"),
    "a comment after a value": filled("{version: 1} # ", "a"),
    "blanks": filled("x:", " ", "1"),
    "one duplicate key": filled("{", "a: 1,", "}"),
    "one duplicate key without values": filled("{", "a,", "}"),
    "299,000 duplicate keys without values": "{" + "a," * 299_000 + "}",
    "unknown keys": filled("{", lambda i: f"k{i}: 1,", "}"),
    "48,000 unknown keys": "{" + "".join(f"k{i}: 1," for i in range(48_000)) + "}",
    "octal numbers": filled("x: [", "01,", "]"),
    "one integer": filled("x: ", "1"),
    "nodes": filled("{version: 1, name: lab, nodes: [", lambda i: f"{{name: n{i}, address: h{i}}},", "]}"),
    "48,000 nodes that are only names": "{version: 1, name: lab, nodes: [" + "a," * 48_000 + "]}",
    "a text that a thousand nodes share": "{version: 1, name: lab, files: [{path: /etc/f, content: " + "a" * 900_000 +
                                          "}], nodes: [" + NODES + "]}",
    "20,000 nodes of a profile": "{version: 1, name: lab, profile: dgx-spark, nodes: [" + "{}," * 20_000 + "]}",
    "a finding about each file of a thousand nodes": "{version: 1, name: lab, storage: [{target: /m, source: "
                                                     "{tmpfs: {size: 1GiB}}}], files: [" +
                                                     "".join(f"{{path: /m/{i}}}," for i in range(200)) +
                                                     "], nodes: [" + NODES + "]}",
    "most packages, shared by 300 nodes": "{version: 1, name: lab, packages: &p [" +
                                          "".join(f"p{i:03}," for i in range(256)) + "], nodes: [" +
                                          "".join(f"{{name: n{i}, address: h{i}, packages: *p}}," for i in range(300)) +
                                          "]}",
    "kernel parameters": "{version: 1, name: lab, nodes: [{name: a, address: b}], sysctl: {" +
                         "".join(f"net.core.x{i}: 1," for i in range(49_000)) + "}}",
}


def measure(program, path):
    """Seconds and MB of one `validate`."""
    done = subprocess.run([sys.executable, "-ISc", LAUNCHER, program, "validate", path], capture_output=True, text=True,
                          timeout=PATIENCE_S)
    seconds, memory, code = done.stdout.split()
    if int(code) not in (0, 3):
        reason = signal.Signals(-int(code)).name if int(code) < 0 else code
        sys.exit(f"{path}: validate ended with {reason}")
    return float(seconds), float(memory)


def main():
    arguments = argparse.ArgumentParser(description="Validates cluster files of 1 MB in one line.")
    arguments.add_argument("--sparkplan", default=str(ROOT / "build/bin/sparkplan"))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--write", type=pathlib.Path)
    options = arguments.parse_args()
    rows, slow = [], []
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "cluster.yaml"
        for name, text in SHAPES.items():
            path.write_text(text)
            times, sizes = zip(*(measure(options.sparkplan, str(path)) for _ in range(options.rounds)))
            seconds, memory = min(times), max(sizes)
            rows.append((name, f"{path.stat().st_size / 1e6:.1f} MB", f"{seconds:.2f} s", f"{memory:.0f} MB"))
            if seconds >= MOST_SECONDS or memory >= MOST_MB:
                slow.append(name)
    head = f"{written.machine()}. `validate`, {options.rounds} runs: the least time, the most memory."
    lines = [head, "", *written.table(("one line of", "size", "time", "memory"), rows)]
    written.finish("hostile_files.py", "\n".join(lines) + "\n", options.write)
    if slow:
        sys.exit("not within a second and 150 MB: " + "; ".join(slow))


if __name__ == "__main__":
    main()
