#!/usr/bin/env python3
"""Writes the bill of materials of a release, in SPDX 2.3 as JSON: what is linked into the programs, and its licences.

  bill_of_materials.py VERSION TIME OUTPUT FILE... -- BUILD...

TIME: seconds since 1970, for `created`. FILE: the packages and tarballs of the release. BUILD: the build directories. The
linker has listed its input files in bin/*.inputs there, and ninja knows the headers. The Debian packages that own these
files are what the programs contain.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# The licence of the part that is linked in or compiled in, by Debian's source package. Source: its
# /usr/share/doc/PACKAGE/copyright. A package that is missing here stops the release, because someone has to read its
# copyright file.
LICENCES = {
    "boost1.74": "BSL-1.0",
    "boost-defaults": "BSL-1.0",
    "cli11": "BSD-3-Clause",
    "cross-toolchain-base": "LGPL-2.1-or-later",
    "expected": "CC0-1.0",
    "tl-expected": "CC0-1.0",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "gcc-12-cross": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "libmd": "BSD-3-Clause AND BSD-2-Clause AND ISC AND LicenseRef-public-domain",
    "libnl3": "LGPL-2.1-only",
    "libssh": "LGPL-2.1-or-later",
    "libyaml": "MIT",
    "linux": "GPL-2.0-only WITH Linux-syscall-note",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "rdma-core": "GPL-2.0-only OR Linux-OpenIB",
    "spdlog": "MIT",
    "valijson": "BSD-2-Clause",
    "yaml-cpp": "MIT",
}
# Their headers declare a shared library that stays outside.
ONLY_USED = {"libssh"}


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def linked_files(build):
    """The archives and object files that the linker has read, and the headers that were compiled in."""
    for listing in sorted((build / "bin").glob("*.inputs")):
        for name in listing.read_text().replace("\\\n", " ").partition(":")[2].split("\n")[0].split():
            if re.search(r"\.[ao]$", name):
                yield name
    # ccache makes names relative to the build directory.
    for block in output("ninja", "-C", str(build.resolve()), "--quiet", "-t", "deps").split("\n\n"):
        target, _, headers = block.partition(": ")
        if target.startswith("tests/"):  # Not part of a release.
            continue
        for name in re.findall(r"^    (\S+)$", headers, re.M):
            path = os.path.normpath(os.path.join(build.resolve(), name))
            if path.startswith("/usr/"):
                yield path
    for inner in sorted(build.glob("agent-*/build.ninja")):
        yield from linked_files(inner.parent)


def owners(files):
    """{package: (version, source, source version)} of the Debian packages that own the files."""
    # install-dependencies.sh unpacks what Debian cannot install for two architectures. The machine's own package has the
    # same source.
    own = f"/usr/lib/{os.uname().machine}-linux-gnu/"
    wanted = {re.sub(r"^.*/packages-[^/]*/usr/lib/[^/]*/", own, name) for name in files}
    wanted = {re.sub(r"^.*/packages-[^/]*/usr/", "/usr/", name) for name in wanted}
    resolved = sorted({str(pathlib.Path(name).resolve()) for name in wanted if name.startswith("/usr/")})
    names, owned = set(), set()
    # A package may list a file of /usr/lib as one of /lib, because the one is a link to the other.
    asked = resolved + [name.removeprefix("/usr") for name in resolved if name.startswith("/usr/lib/")]
    for start in range(0, len(asked), 500):
        found = subprocess.run(["dpkg-query", "-S", *asked[start : start + 500]], capture_output=True, text=True).stdout
        for line in found.splitlines():
            packages, _, name = line.rpartition(": ")
            names.update(package.strip() for package in packages.split(","))
            owned.update({name, "/usr" + name})
    strangers = [name for name in resolved if name not in owned]
    if strangers:
        raise SystemExit("bill_of_materials.py: error: no Debian package has " + ", ".join(strangers[:5]))
    shape = "${Package}\\t${Version}\\t${source:Package}\\t${source:Version}\\n"
    lines = output("dpkg-query", "-W", "-f", shape, *sorted(names)).splitlines() if names else []
    return {line.split("\t")[0]: tuple(line.split("\t")[1:]) for line in lines}


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", text)


def document(version, time, files, builds):
    sources = {}
    for package, (_, source, source_version) in owners({name for build in builds for name in linked_files(build)}).items():
        sources.setdefault((source, source_version), []).append(package)
    unknown = sorted(source for source, _ in sources if source not in LICENCES)
    if unknown:
        raise SystemExit("bill_of_materials.py: error: no licence is known for: " + ", ".join(unknown))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    whole = hashlib.sha256("".join(sorted(sums.values())).encode()).hexdigest()
    packages, relations = [], []
    for name, digest in sorted(sums.items()):
        packages.append({
            "name": "sparkplan", "SPDXID": identifier(name), "versionInfo": version, "packageFileName": name,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0", "copyrightText": "The sparkplan authors", "supplier": "NOASSERTION",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        })
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", identifier(name)))
    for (source, source_version), binaries in sorted(sources.items()):
        packages.append({
            "name": source, "SPDXID": identifier(f"{source}-{source_version}"), "versionInfo": source_version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": LICENCES[source],
            "licenseDeclared": LICENCES[source], "copyrightText": "NOASSERTION", "supplier": "Organization: Debian",
            "comment": "from the Debian packages " + ", ".join(sorted(binaries)),
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{source}@{source_version}?arch=source"}],
        })
        kind = "DYNAMIC_LINK" if source in ONLY_USED else "STATIC_LINK"
        relations += [(identifier(name), kind, identifier(f"{source}-{source_version}")) for name in sorted(sums)]
    created = datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"sparkplan-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/sparkplan-{version}-{whole}",
        "creationInfo": {"created": created, "creators": ["Tool: sparkplan-release"]},
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-public-domain", "name": "Public domain",
            "extractedText": "Some files of libmd are in the public domain; its copyright file lists them."}],
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }


def main(arguments):
    version, time, target, *rest = arguments
    files = [pathlib.Path(name) for name in rest[: rest.index("--")]]
    builds = [pathlib.Path(name) for name in rest[rest.index("--") + 1 :]]
    text = json.dumps(document(version, int(time), files, builds), indent=1, sort_keys=True) + "\n"
    pathlib.Path(target).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
