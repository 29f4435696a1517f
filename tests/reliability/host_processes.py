"""The processes of a lab's host, as this machine sees them. A process belongs to the host whose network it is in, so no
strike can reach another machine's, or this one's."""
import ctypes
import os
import random
import signal
import socket

from nodes import lab_hosts

COPY = "sparkplan-copy"
PIDFD_GETFD = 438  # The same number on all architectures.
ESTABLISHED = "01"
LIBC = ctypes.CDLL(None, use_errno=True)


def _network(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _name(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def _parent(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("PPid:"))


def copies(number):
    """The processes of sparkplan-copy on that host."""
    own = _network(f"/run/netns/sparklab-{lab_hosts.NAME}-{number}")
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and _name(entry) == COPY and _network(f"/proc/{entry}/ns/net") == own:
                found.append(int(entry))
        except OSError:
            pass  # It has ended.
    return found


def _kill(pid, name):
    """False if that process has ended, or its number belongs to another program by now."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _name(pid).startswith(name):
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(process)


def kill_copy(number):
    return any([_kill(pid, COPY) for pid in copies(number)])


def _login_of(pid):
    """The sshd process of the connection over which a program was started."""
    while pid > 1:
        pid = _parent(pid)
        if _name(pid).startswith("sshd"):
            return pid
    return None


def end_login(number):
    """Ends the SSH connections of sparkplan-copy on that host."""
    struck = False
    for pid in copies(number):
        try:
            login = _login_of(pid)
        except (OSError, StopIteration):
            continue  # It has ended.
        struck = (login is not None and _kill(login, "sshd")) or struck
    return struck


def _connections(pid):
    """The established TCP connections of that process, as numbers of its open files."""
    inodes = set()
    with open(f"/proc/{pid}/net/tcp", encoding="utf-8") as file:
        for line in file.readlines()[1:]:
            fields = line.split()
            if fields[3] == ESTABLISHED:
                inodes.add(f"socket:[{fields[9]}]")
    found = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{entry}") in inodes:
                found.append(int(entry))
        except OSError:
            pass  # It was closed.
    return sorted(found)


def _end_connection(process, number):
    """True if that open file of the process was an open connection; it is ended for both sides."""
    own = LIBC.syscall(PIDFD_GETFD, process, number, 0)
    if own < 0:
        return False
    try:
        with socket.socket(fileno=own) as connection:
            connection.shutdown(socket.SHUT_RDWR)
        return True
    except OSError:
        return False


def end_connections(number, share, seed):
    """Ends that share of the data connections of sparkplan-copy on that host, but at least one."""
    struck = False
    for pid in copies(number):
        try:
            process = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            there = _connections(pid)
            chosen = random.Random(seed).sample(there, min(len(there), max(1, round(share * len(there)))))
            struck = any([_end_connection(process, one) for one in chosen]) or struck
        except OSError:
            pass  # It has ended.
        finally:
            os.close(process)
    return struck
