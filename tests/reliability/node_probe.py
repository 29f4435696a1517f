"""Answers questions about the host it runs on: JSON lines in, JSON lines out. Started by nodes.py.

A tree lists for every path, in one line: kind, mode, owner, digest. ssh-keygen makes different keys each time, so all
complete keys count as equal. Host keys do not.
"""
import base64
import binascii
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import sys
import time

ROOTS = ("/etc", "/home", "/root", "/usr/local", "/var/lib/sparkplan", "/run/sparkplan", "/run/netplan",
         "/run/systemd/network", "/run/systemd/system", "/run/systemd/transient")
PARAMETERS = ("net.core.somaxconn", "net.ipv4.tcp_fin_timeout")
LINKS = ("enp1s0f1np1", "enP2p1s0f1np1")
UNITS = ("sparkplan-test.service", "cron.service")
PROGRAMS = "/usr/local/libexec/sparkplan/"
AGENT = PROGRAMS + "agent"
LOCK = "/run/sparkplan/lock"
F_OFD_GETLK = 36
PUBLIC_KEY = re.compile(rb"AAAAC3NzaC1lZDI1NTE5[A-Za-z0-9+/]{48}")
RUN_NAME = re.compile(r"/journal/[^/]+\.jsonl$")
LOGIN_UNIT = re.compile(r"^(session-|user-|user@)")

digests = {}
kept = {}


def host_keys():
    found = set()
    for file in pathlib.Path("/etc/ssh").glob("ssh_host_*_key.pub"):
        found |= set(PUBLIC_KEY.findall(file.read_bytes()))
    return found


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


def whole_private_key(content):
    lines = content.split(b"\n")
    try:
        body = base64.b64decode(b"".join(lines[1:-2]), validate=True)
    except binascii.Error:
        return False
    # The last field is padded with 1, 2, 3... up to a multiple of eight.
    return lines[-2:] == [b"-----END OPENSSH PRIVATE KEY-----", b""] and body.startswith(b"openssh-key-v1\0") \
        and len(body) > 250 and b"ssh-ed25519" in body


def identity(path, content, own_keys):
    if path.startswith("/var/lib/sparkplan/"):
        if path.endswith("manifest.json"):
            return "a whole manifest" if is_json(content) else "A DAMAGED MANIFEST"
        if path.endswith(".jsonl"):
            return "a whole journal" if all(is_json(line) for line in content.splitlines()) else "A DAMAGED JOURNAL"
    if path.startswith("/run/sparkplan/"):
        return "of a run"
    if content.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----") and whole_private_key(content):
        return "a whole private key" if "/ssh_host_" not in path else hashlib.sha256(content).hexdigest()[:16]
    content = PUBLIC_KEY.sub(lambda key: key.group() if key.group() in own_keys else b"KEY", content)
    return hashlib.sha256(content).hexdigest()[:16]


def describe(path, own_keys):
    status = os.lstat(path)
    mode = f"{stat.S_IMODE(status.st_mode):04o} {status.st_uid}:{status.st_gid}"
    if stat.S_ISDIR(status.st_mode):
        return f"directory {mode}"
    if stat.S_ISLNK(status.st_mode):
        return f"link to {os.readlink(path)}"
    if not stat.S_ISREG(status.st_mode):
        return "other"
    seen = (path, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    if seen not in digests:
        digests[seen] = identity(path, pathlib.Path(path).read_bytes(), own_keys)
    return f"file {mode} {digests[seen]}"


def walk():
    for root in ROOTS:
        if os.path.lexists(root):
            yield root
        for directory, directories, files in os.walk(root):
            for name in directories + files:
                if directory != "/run/systemd/transient" or not LOGIN_UNIT.match(name):
                    yield os.path.join(directory, name)


def tree():
    own_keys = host_keys()
    found = {}
    for path in walk():
        try:
            found[RUN_NAME.sub("/journal/RUN.jsonl", path)] = describe(path, own_keys)
        except FileNotFoundError:
            pass  # systemd creates and removes files at any time.
    for parameter in PARAMETERS:
        found[f"kernel:{parameter}"] = pathlib.Path("/proc/sys", *parameter.split(".")).read_text().split()[0]
    return found


def output(*argv):
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def live():
    """The running state of the host, apart from files."""
    found = {}
    for link in json.loads(output("ip", "-json", "-4", "address")):
        if link["ifname"] in LINKS:
            found[link["ifname"]] = sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])
    for name in LINKS:
        found[f"{name}.mtu"] = pathlib.Path(f"/sys/class/net/{name}/mtu").read_text().strip()
        found[f"{name}.up"] = int(pathlib.Path(f"/sys/class/net/{name}/flags").read_text(), 16) & 1
    for unit in UNITS:
        found[unit] = output("systemctl", "is-active", unit).strip()
    listed = output("systemctl", "list-units", "--all", "--plain", "--no-legend", "sparkplan*", "run-*").splitlines()
    found["units"] = sorted(line.split()[0] for line in listed if line.split()[0] not in UNITS and
                            not line.split()[0].endswith(".mount"))
    return found


def lock_is_free():
    try:
        with open(LOCK, "rb") as lock:
            asked = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            return struct.unpack("hhqqi4x", fcntl.fcntl(lock, F_OFD_GETLK, asked))[0] == fcntl.F_UNLCK
    except FileNotFoundError:
        return True


def none_runs(program):
    for process in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(process).startswith(program):
                return False
        except OSError:
            pass  # The process has ended, or is a kernel thread.
    return True


def eventually(is_so, seconds, glance=0.01):
    """The seconds it took, or None."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > seconds:
            return None
        time.sleep(glance)
    return time.monotonic() - begun


def received():
    """Bytes that have arrived over the fabric since the host's boot."""
    return sum(int(pathlib.Path(f"/sys/class/net/{name}/statistics/rx_bytes").read_text()) for name in LINKS)


def nothing_on_trial():
    """True when no window is open, and every ended window has been cleaned up."""
    for transaction in pathlib.Path("/var/lib/sparkplan/txn").glob("*"):
        names = {entry.name for entry in transaction.iterdir()}
        if "armed" in names or ("rolledback" in names and "undone" not in names):
            return False
    # The process that ends a timer may have been killed first. The timer then expires by itself and finds nothing to
    # roll back.
    return not list(pathlib.Path("/run/systemd/transient").glob("sparkplan-rollback-*"))


def keep():
    """Saves every file, to restore it later."""
    for path in walk():
        status = os.lstat(path)
        content = pathlib.Path(path).read_bytes() if stat.S_ISREG(status.st_mode) else None
        target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
        kept[path] = (status.st_mode, status.st_uid, status.st_gid, content, target)


def put_back():
    for path in sorted(walk(), reverse=True):
        if path in kept or path.startswith("/run/systemd/") or not os.path.lexists(path):
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    for path, (mode, uid, gid, content, target) in kept.items():
        if stat.S_ISDIR(mode):
            os.makedirs(path, exist_ok=True)
        elif target is not None:
            if not os.path.lexists(path):
                os.symlink(target, path)
            continue
        elif content is not None and (not os.path.isfile(path) or pathlib.Path(path).read_bytes() != content):
            pathlib.Path(path).write_bytes(content)
        if content is not None or stat.S_ISDIR(mode):
            os.chown(path, uid, gid)
            os.chmod(path, stat.S_IMODE(mode))


def shell(line):
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return [done.returncode, done.stdout + done.stderr]


def write(path, text, mode):
    pathlib.Path(path).write_text(text)
    os.chmod(path, mode)


def read(path):
    return pathlib.Path(path).read_text(errors="replace") if os.path.exists(path) else None


ANSWERS = {
    "tree": tree,
    "live": live,
    "lock_free_within": lambda seconds: eventually(lock_is_free, seconds),
    "agent_gone_within": lambda seconds: eventually(lambda: none_runs(AGENT), seconds),
    "programs_gone_within": lambda seconds: eventually(lambda: none_runs(PROGRAMS), seconds),
    "received": received,
    "received_within": lambda wanted, seconds: eventually(lambda: received() >= wanted, seconds, 0.001),
    "trial_over_within": lambda seconds: eventually(nothing_on_trial, seconds),
    "there_within": lambda path, seconds: eventually(lambda: os.path.exists(path), seconds),
    "keep": keep,
    "put_back": put_back,
    "shell": shell,
    "write": write,
    "read": read,
}

if __name__ == "__main__":
    for question in sys.stdin:
        what, arguments = json.loads(question)
        try:
            answer = ["ok", ANSWERS[what](*arguments)]
        except Exception as problem:  # Reported to the caller, who decides.
            answer = ["failed", f"{what}: {type(problem).__name__}: {problem}"]
        print(json.dumps(answer), flush=True)
