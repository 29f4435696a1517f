#!/usr/bin/env python3
"""Checks that a sparkplan carries all programs for nodes of both architectures, byte by byte as its build made them.

  carried.py SPARKPLAN BUILD     prints the paths of the programs in the build directory BUILD; exits with 1 if BUILD lacks
                                 one of them, or if SPARKPLAN does not contain it

SPARKPLAN is the program of a build, a package or a tarball, for either architecture. It is not started.
"""
import mmap
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURES = {62: "x86_64", 183: "aarch64"}  # e_machine of an ELF header. Source: elf.h


def programs():
    """The names of the programs, from the build's own list."""
    text = (ROOT / "engine/cmake/CarriedPrograms.cmake").read_text()
    return re.search(r"set\(SPARKPLAN_CARRIED_PROGRAMS ([a-z ]+)\)", text).group(1).split()


def architecture(path):
    with open(path, "rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        sys.exit(f"carried.py: error: {path} is no program")
    return ARCHITECTURES.get(int.from_bytes(head[18:20], "little"), "an unknown architecture")


def main(sparkplan, build):
    own = architecture(sparkplan)
    failed = False
    with open(sparkplan, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as carrier:
        for wanted in ARCHITECTURES.values():
            folder = pathlib.Path(build) / ("bin" if wanted == own else f"agent-{wanted}/bin")
            for name in programs():
                path = folder / f"sparkplan-{name}.stripped"
                if not path.is_file():
                    problem = f"the build has no sparkplan-{name} for {wanted}"
                elif architecture(path) != wanted:
                    problem = f"{path} is for {architecture(path)}"
                elif carrier.find(path.read_bytes()) < 0:
                    problem = f"{sparkplan} does not carry sparkplan-{name} for {wanted}"
                else:
                    print(path)
                    continue
                print(f"carried.py: error: {problem}", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
