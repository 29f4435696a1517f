#!/usr/bin/env python3
"""Counts the lines of each unit of sparkplan after the preprocessor, without empty ones.

  preprocessed_lines.py BUILD SOURCE     a configured build, and the folder of the sources
"""
import json
import os
import re
import shlex
import subprocess
import sys

# GCC's manual, "Preprocessor Output": # LINENUM FILENAME FLAGS
MARK = re.compile(r'# \d+ "((?:[^"\\]|\\.)*)"')


def is_of_sparkplan(words):
    """False for tests, and for files that are not compiled."""
    return "-c" in words and re.match(r"(engine|resources)/.*CMakeFiles/", words[words.index("-o") + 1]) is not None


def lines_of(words, directory, source):
    """All lines of a unit, from the words of its compiler's command, and those of this project."""
    words = words.copy()
    words[words.index("-c")] = "-E"
    words[words.index("-o") + 1] = "-"
    output = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True, errors="replace")
    every = own = 0
    is_own = False
    for line in output.stdout.splitlines():
        mark = MARK.match(line)
        if mark:
            path = os.path.normpath(os.path.join(source, mark[1]))
            is_own = path.startswith((os.path.join(source, "engine"), os.path.join(source, "resources")))
        elif line.strip() and not line.startswith("#"):
            every += 1
            own += is_own
    return every, own


def main(build, source):
    source = os.path.realpath(source)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    units = [(shlex.split(entry["command"]), entry["directory"]) for entry in entries]
    counts = [lines_of(words, directory, source) for words, directory in units if is_of_sparkplan(words)]
    if not counts:
        sys.exit("there are no units of sparkplan in " + build)
    every, own = [sorted(column) for column in zip(*counts)]
    for what, column in (("all lines", every), ("lines of this project", own)):
        print(f"{len(counts)} units, {what}: {column[0]:,} to {column[-1]:,}, the median {column[len(column) // 2]:,}")
    print(f"share of the libraries: {100 - 100 * sum(own) / sum(every):.0f} percent")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
