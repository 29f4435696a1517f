"""Makes the directory that sync_points.py has copied. Runs on a host.

usage: sync_tree.py PATH new|old

`old` is an earlier version: `large` and one small file have other content, and all other names are missing.
"""
import os
import pathlib
import random
import shutil
import sys

MIB = 1 << 20
CHUNK = 8 * MIB
LARGE = 10 * CHUNK + 12345  # The last chunk is a short one.
SECOND = 3 * CHUNK
HOLE = 4 * CHUNK
SMALL_FILES = 200
SMALL = 20_000


def bytes_of(seed, size):
    source = random.Random(seed)
    while size > 0:
        yield source.randbytes(min(size, MIB))
        size -= MIB


def write(path, *parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for seed, size in parts:
            for piece in bytes_of(seed, size):
                file.write(piece)


def make_old(tree):
    write(tree / "large", (99, 5 * CHUNK), (2, LARGE - 5 * CHUNK))
    write(tree / "small/007", (98, SMALL))


def make_new(tree):
    write(tree / "large", (1, 5 * CHUNK), (2, LARGE - 5 * CHUNK))
    write(tree / "deep/er/second", (3, SECOND))
    write(tree / "holes", (4, MIB))
    os.truncate(tree / "holes", HOLE)
    for number in range(SMALL_FILES):
        write(tree / f"small/{number:03}", (100 + number, SMALL))
    write(tree / "empty")
    write(tree / "two\nlines", (5, 10))
    (tree / "deep/link").symlink_to("../large")
    (tree / "bare").mkdir()
    os.chmod(tree / "bare", 0o750)
    os.chmod(tree / "large", 0o640)
    shutil.chown(tree / "small/008", "operator", "operator")


def main(path, version):
    tree = pathlib.Path(path)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    {"new": make_new, "old": make_old}[version](tree)


if __name__ == "__main__":
    main(*sys.argv[1:])
