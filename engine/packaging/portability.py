#!/usr/bin/env python3
"""Checks that programs run on every distribution of the table below, from what the loader would look for.

  portability.py PROGRAM...     prints each program's libraries and newest symbol versions; exits with 1 if one of them
                                is not in the table

A program may need the C library and libssh, and symbol versions that the oldest distribution has. A static program needs
nothing. Reads ELF files with readelf, of any architecture.
"""
import re
import subprocess
import sys

# glibc: its own version. libssh: its newest symbol version; libssh.so.4 of all of them is the package libssh-4.
# Source: the packages libc6 and libssh-4 of each distribution; libssh's src/libssh.map.
DISTRIBUTIONS = {
    "Ubuntu 22.04": {"GLIBC": "2.35", "LIBSSH": "4.8.1"},
    "Debian 12": {"GLIBC": "2.36", "LIBSSH": "4.9.0"},
    "Ubuntu 24.04": {"GLIBC": "2.39", "LIBSSH": "4.9.0"},
    "Debian 13": {"GLIBC": "2.41", "LIBSSH": "4.10.0"},
}
# Older than each of them: programs built here also start on other distributions with this C library.
NEWEST = {"GLIBC": "2.34", "LIBSSH": "4.8.1"}
LIBRARIES = re.compile(r"lib(c|m)\.so\.6|libssh\.so\.4|ld-linux-(x86-64|aarch64)\.so\.[12]|libdl\.so\.2|libpthread\.so\.0")


def readelf(program, *options):
    return subprocess.run(["readelf", "-W", *options, program], check=True, capture_output=True, text=True).stdout


def number(version):
    return tuple(int(part) for part in re.split(r"[._]", version))


def newest_versions(program):
    """{"GLIBC": "2.34"}: the newest version of each kind that the program needs."""
    found = {}
    for kind, version in re.findall(r"Name: ([A-Z]+(?:XX)?)_(\d[\d._]*)", readelf(program, "--version-info")):
        version = version.replace("_", ".")
        if kind not in found or number(version) > number(found[kind]):
            found[kind] = version
    return found


def problems(program):
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(program, "--dynamic"))
    versions = newest_versions(program)
    shown = ", ".join(libraries) or "no library"
    print(f"{program}: {shown}; " + (", ".join(f"{kind} {version}" for kind, version in sorted(versions.items())) or "static"))
    for library in libraries:
        if not LIBRARIES.fullmatch(library):
            yield f"it needs {library}, which a distribution may not have"
    for kind, version in sorted(versions.items()):
        if kind not in NEWEST:
            yield f"it needs {kind} {version}, which belongs to a library that should be linked in"
            continue
        if number(version) <= number(NEWEST[kind]):
            continue
        lacking = [name for name, has in DISTRIBUTIONS.items() if number(has[kind]) < number(version)]
        yield f"it needs {kind} {version}, newer than {NEWEST[kind]}; not in: {', '.join(lacking) or 'older distributions'}"


def main(programs):
    if not programs:
        print(__doc__.strip(), file=sys.stderr)
        return 1
    failed = False
    for program in programs:
        for problem in problems(program):
            print(f"{program}: error: {problem}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
