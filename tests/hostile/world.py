"""A machine of its own for a series of runs. It has namespaces for network, processes and mounts, an sshd in them, and
directory trees as honest nodes. All files are below /run/hostile of that mount namespace and disappear with it.

Every IPv4 address leads to this machine, so every connection attempt is recorded. An attempt is refused at once unless
the address belongs to a node or to the trap.
"""
import base64
import ctypes
import hashlib
import json
import os
import pathlib
import pickle
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORLD = pathlib.Path("/run/hostile")
TREES = WORLD / "trees"
# Nodes that are reached over SSH. The cluster does not name the trap.
ADDRESSES = {"liar": "10.77.0.11", "actor": "10.77.0.12", "trap": "10.77.0.66"}
NAMED = {(ADDRESSES[name], 22) for name in ("liar", "actor")}
MAX_OUTPUT = 64 << 20

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x20000000, 0x40000000
MS_REC, MS_PRIVATE, MS_BIND = 0x4000, 0x40000, 0x1000
PR_SET_PDEATHSIG = 1
PACKET_OUTGOING = 4
SO_ATTACH_FILTER = 26

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def mount(source, target, kind=None, flags=0):
    encode = lambda text: None if text is None else str(text).encode()
    checked(libc.mount(encode(source), encode(target), encode(kind), flags, None), f"mount {target}")


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def sshd_program():
    """Debian's own sshd, or the one that tests/install-dependencies.sh has unpacked."""
    for place in ("/usr/sbin/sshd", ROOT / "build/packages-openssh-server/usr/sbin/sshd"):
        if os.access(place, os.X_OK):
            return str(place)
    return None


def obstacle():
    """The reason why the tests cannot run here; empty when they can."""
    if os.geteuid() != 0:
        return "needs root"
    if sshd_program() is None:
        return "there is no sshd: tests/install-dependencies.sh hostile"
    pid = os.fork()
    if pid == 0:
        os._exit(0 if libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) == 0 else 1)
    if os.waitpid(pid, 0)[1] != 0:
        return "namespaces cannot be made here"
    return ""


def filter_of_attempts():
    """A packet filter that accepts TCP segments with SYN and without ACK, and UDP."""
    def op(code, jt, jf, k):
        return struct.pack("HBBI", code, jt, jf, k)
    program = [
        op(0x28, 0, 0, 12),            # 0 ldh [12]
        op(0x15, 2, 0, 0x0800),        # 1 IPv4 -> 4
        op(0x15, 8, 0, 0x86dd),        # 2 IPv6 -> 11
        op(0x06, 0, 0, 0),             # 3 no
        op(0x30, 0, 0, 23),            # 4 protocol
        op(0x15, 10, 0, 17),           # 5 UDP -> yes
        op(0x15, 0, 10, 6),            # 6 TCP, else no
        op(0xb1, 0, 0, 14),            # 7 x = length of the IP header
        op(0x50, 0, 0, 14 + 13),       # 8 flags
        op(0x54, 0, 0, 0x12),          # 9
        op(0x15, 5, 6, 0x02),          # 10 SYN alone -> yes
        op(0x30, 0, 0, 20),            # 11 next header
        op(0x15, 3, 0, 17),            # 12 UDP -> yes
        op(0x15, 0, 3, 6),             # 13
        op(0x30, 0, 0, 54 + 13),       # 14
        op(0x45, 0, 1, 0x02),          # 15
        op(0x06, 0, 0, 0x40000),       # 16 yes
        op(0x06, 0, 0, 0),             # 17 no
    ]
    code = ctypes.create_string_buffer(b"".join(program))
    return struct.pack("HL", len(program), ctypes.addressof(code)), code


class Watch:
    """Records the destinations of connection attempts."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setblocking(False)
        option, self.code = filter_of_attempts()
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, option)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(("lo", 0))

    def attempts(self):
        """New attempts since the last call, without addresses of cluster.yaml: ["tcp 10.1.1.1:22", ...]."""
        found = set()
        while True:
            try:
                packet, source = self.socket.recvfrom(2048)
            except BlockingIOError:
                return sorted(found)
            if source[2] != PACKET_OUTGOING:
                continue
            if packet[12:14] == b"\x08\x00":
                at, to, kind = 14 + 4 * (packet[14] & 15), socket.inet_ntoa(packet[30:34]), packet[23]
            else:
                at, to, kind = 54, socket.inet_ntop(socket.AF_INET6, packet[38:54]), packet[20]
            port = int.from_bytes(packet[at + 2:at + 4], "big")
            if kind != 6 or (to, port) not in NAMED:
                found.add(f"{'tcp' if kind == 6 else 'udp'} {to}:{port}")


def enter_namespaces():
    """Returns in the first process of new namespaces; the calling process waits for it and ends with it."""
    die_with_parent()
    checked(libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET), "unshare")
    child = os.fork()
    if child != 0:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    die_with_parent()
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    mount("tmpfs", "/run", "tmpfs")
    WORLD.mkdir()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "route", "add", "local", "default", "dev", "lo"], check=True)


def write(name, text, mode=0o644):
    path = WORLD / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def own_accounts():
    """Own accounts, because sshd needs an account for privilege separation and a login shell that starts quickly."""
    home = WORLD / "login"
    home.mkdir()
    lines = [f"root:x:0:0:root:{home}:/bin/sh", f"operator:x:0:0::{home}:/bin/sh",
             "sshd:x:65533:65533::/run/sshd:/usr/sbin/nologin", "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin"]
    mount(write("passwd", "\n".join(lines) + "\n"), "/etc/passwd", None, MS_BIND)
    names = ("root", "operator", "sshd", "nobody")
    shadow = write("shadow", "".join(f"{name}:*:20000::::::\n" for name in names), 0o600)
    mount(shadow, "/etc/shadow", None, MS_BIND)


def copy_programs():
    for name in ("node.py", "streams.py", "values.py", "stage.py", "starter.py", "spark.json"):
        shutil.copy(HERE / name, WORLD / "bin" / name)
    for name in ("sparkplan", "sparkplan-agent", "sparkplan-nccl", "sparkplan-copy", "sparkplan-job"):
        shutil.copy(ROOT / "build/bin" / name, WORLD / "bin" / name)
    (WORLD / "agent").symlink_to(WORLD / "bin/sparkplan-agent")


def make_keys():
    """Makes the keys once for all worlds, as name -> content, because ssh-keygen is slow."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("login", *ADDRESSES):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", f"{place}/{name}"],
                           check=True)
        return {path.name: path.read_text() for path in pathlib.Path(place).iterdir()}


def public_key(keys, name):
    return " ".join(keys[f"{name}.pub"].split()[:2])


def fingerprint(keys, name):
    blob = base64.b64decode(public_key(keys, name).split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def make_home(keys):
    for name, text in keys.items():
        write(f"keys/{name}", text, 0o600)
    write("home/.ssh/id_ed25519", keys["login"], 0o600)
    write("home/.ssh/id_ed25519.pub", keys["login.pub"])
    # The trap's key is listed too: a known key is no reason to contact a machine.
    known = "".join(f"{address} {public_key(keys, name)}\n" for name, address in ADDRESSES.items())
    write("home/.ssh/known_hosts", known)
    write("authorized_keys", public_key(keys, "login") + "\n", 0o600)


def start_sshd(name):
    """Starts one sshd per node, because each node has its own host key and address."""
    config = write(f"sshd_config.{name}", f"""ListenAddress {ADDRESSES[name]}:22
HostKey {WORLD}/keys/{name}
AuthorizedKeysFile {WORLD}/authorized_keys
UsePAM no
UseDNS no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 1000
PidFile none
PrintMotd no
PrintLastLog no
LogLevel ERROR
ForceCommand exec {sys.executable} -S -E {WORLD}/bin/node.py {name}
""")
    log = open(WORLD / f"sshd.log.{name}", "wb")
    server = subprocess.Popen([sshd_program(), "-D", "-e", "-f", config], stdin=subprocess.DEVNULL, stdout=log,
                              stderr=log)
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection((ADDRESSES[name], 22), 1).close()
            return server
        except OSError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError("sshd: " + (WORLD / f"sshd.log.{name}").read_text()) from None
            time.sleep(0.02)


def launch(arguments, limit):
    # Without a log of earlier runs: `history` then depends on the nodes alone.
    environment = {"HOME": str(WORLD / "home"), "XDG_STATE_HOME": "/dev/null",
                   "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "1000", "TERM": "dumb"}
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(WORLD)
            os.setsid()
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(WORLD / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.closerange(3, 1024)
            os.execve(WORLD / "bin/sparkplan", ["sparkplan", *arguments], environment)
        finally:
            os._exit(126)
    handle = os.pidfd_open(pid)
    late = not select.select([handle], [], [], limit)[0]
    os.close(handle)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "late": late, "seconds": time.monotonic() - begun,
            "peak": usage.ru_maxrss, "cpu": usage.ru_utime + usage.ru_stime}


def start_launcher():
    """A process that stays small: the memory of the forking parent counts for a program's peak."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        while request := theirs.recv(65536):
            theirs.sendall(pickle.dumps(launch(*pickle.loads(request))))
        os._exit(0)
    theirs.close()
    return pid, ours


class World:
    """The world of a slot's first process."""

    def __init__(self, keys):
        enter_namespaces()
        (WORLD / "bin").mkdir()
        own_accounts()
        copy_programs()
        make_home(keys)
        pathlib.Path("/run/sshd").mkdir(mode=0o755)
        self.kept, self.launcher = start_launcher()
        self.servers = [start_sshd(name) for name in ADDRESSES]
        self.watch = Watch()
        self.watch.attempts()

    def run(self, arguments, limit):
        """Runs the controller: exit code (negative: the signal), whether it exceeded its limit, seconds, peak memory in
        KiB."""
        self.launcher.sendall(pickle.dumps((arguments, limit)))
        outcome = pickle.loads(self.launcher.recv(65536))
        self.reap()
        return {**outcome, "attempts": self.watch.attempts()}

    def reap(self):
        """Ends sshd sessions and agents that outlive their controller, before the next run."""
        for pid in self.others():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    return
            except ChildProcessError:
                return

    def others(self):
        mine = {os.getpid(), self.kept, *(server.pid for server in self.servers)}
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]


def read_output(name):
    with open(WORLD / name, "rb") as file:
        return file.read(MAX_OUTPUT)


def snapshot(tree):
    """Every path below a tree: its kind, mode, owner and content."""
    found = {}
    for directory, names, files in os.walk(tree):
        for name in names + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            what = [oct(status.st_mode), status.st_uid, status.st_gid]
            if os.path.islink(path):
                what.append(os.readlink(path))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    what.append(hashlib.sha256(file.read()).hexdigest())
            found[os.path.relpath(path, tree)] = what
    return found
