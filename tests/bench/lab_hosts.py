"""The lab's hosts, and measurements of programs that run where the hosts are reachable."""
import ctypes
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = str(ROOT / "tests/lab/lab.sh")
NAME = os.environ.get("SPARKPLAN_LAB", "bench")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)

os.environ["SPARKPLAN_LAB"] = NAME


class Failed(Exception):
    """A program failed, or its output was not as the benchmark needs it."""


def lab(*arguments):
    done = subprocess.run([LAB, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"lab.sh {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def boot(count, *options):
    """Boots `count` unchanged hosts, with the options of `lab.sh up`."""
    lab("up", str(count), *options)


def address(number):
    return f"10.77.0.{number}"


def _enter_controller():
    namespace = os.open(f"/run/netns/sparklab-{NAME}-controller", os.O_RDONLY | os.O_CLOEXEC)
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def environment():
    """The controller's environment: the lab's HOME, no SSH agent of the user who runs the benchmark, unbroken lines."""
    home = lab("home")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SSH_", "SPARKPLAN_"))}
    return {**kept, "HOME": home, "LC_ALL": "C.UTF-8", "COLUMNS": "1000",
            "ANSIBLE_CONFIG": str(ROOT / "tests/bench/ansible.cfg")}


def start(argv, **options):
    return subprocess.Popen(argv, preexec_fn=_enter_controller, stdin=subprocess.DEVNULL, **options)


def _processor_time():
    """Processor time of all CPUs since boot: idle, total."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def settle(patience=10):
    """Waits until nine tenths of the CPUs are idle. A server still ends its sessions after its client has ended, and
    that work must not count for the next case. False if the CPUs are still busy after the given seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        idle_before, all_before = _processor_time()
        time.sleep(0.1)
        idle, all_now = _processor_time()
        if idle - idle_before >= 0.9 * (all_now - all_before):
            return True
    return False


class Sample:
    """One run of a program: elapsed seconds, CPU seconds, peak memory in MB, output."""

    def __init__(self, argv, env, directory, expected=(0,)):
        begun = time.monotonic()
        process = start(argv, env=env, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expected:
            raise Failed(f"{' '.join(argv)} ended with {process.returncode}:\n{self.output}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024
