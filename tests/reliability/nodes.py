"""Lab hosts as nodes: the states they are brought to, the checks of these states, and runs of sparkplan for them."""
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import lab_hosts  # noqa: E402
from lab_hosts import ROOT, address, lab  # noqa: E402

SPARKPLAN = str(ROOT / "build/bin/sparkplan")
HERE = pathlib.Path(__file__).resolve().parent
AGENT = "/usr/local/libexec/sparkplan/agent"

# Every resource type, in two versions, so that every artifact changes between them.
STATE = """version: 1
name: sweep
profile: dgx-spark
fabric: {{topology: switch, port: 1, mtu: {mtu}}}
sysctl: {{net.core.rmem_max: null, net.core.wmem_max: null, net.core.somaxconn: {connections}, \
net.ipv4.tcp_fin_timeout: {seconds}}}
limits: [{{domain: "*", item: memlock, value: {limit}}}, {{domain: root, item: memlock, value: {limit}}}]
profile_env: {{HF_HOME: /mnt/models/{word}}}
nccl: {{mode: safe, env: {{NCCL_DEBUG: {debug}}}}}
hosts: {{suffix: -{word}}}
units:
  - name: sparkplan-test.service
    content: "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true {word}\\n\
[Install]\\nWantedBy=multi-user.target\\n"
    enabled: true
    state: started
  - {{name: cron.service, drop_in: "[Service]\\nNice={nice}\\n"}}
ssh_trust: {{users: {users}}}
ssh: {{user: operator}}
nodes:
  - {{name: spark-{number:02}, address: {address}}}
"""
VERSIONS = {
    "a": {"mtu": 9000, "connections": 8192, "seconds": 31, "limit": 4096, "word": "fabric", "debug": "WARN", "nice": 1,
          "users": "[operator]"},
    "b": {"mtu": 8000, "connections": 9000, "seconds": 32, "limit": 5000, "word": "cable", "debug": "INFO", "nice": 2,
          "users": "[operator, root]"},
}

# Comes before sudo on a login's PATH, so that the agent is installed at its usual path and is the shipped one.
SUDO = f"""#!/bin/sh
case "$*" in *"{AGENT} --stdio")
  [ ! -e /run/lab/launch ] || exec /bin/sh /run/lab/launch "$@" ;;
esac
exec /usr/bin/sudo "$@"
"""

# Running state without files, restored by hand after a failed case.
QUIET = """ip address flush dev enp1s0f1np1; ip address flush dev enP2p1s0f1np1
for link in enp1s0f1np1 enP2p1s0f1np1; do ip link set $link mtu 1500 down; done
sysctl -qw net.core.somaxconn=4096 net.ipv4.tcp_fin_timeout=60
rm -f /run/systemd/network/10-netplan-*; systemctl stop sparkplan-test.service; systemctl daemon-reload
systemctl restart cron.service; networkctl reload"""


class Direction:
    """A way from one state of a node to another, like a user's edit of cluster.yaml and the command after it."""

    def __init__(self, name, begin, end, version, command):
        self.name, self.begin, self.end, self.version, self.command = name, begin, end, version, command

    def __str__(self):
        return self.name


# A short window, so that a change left on trial is rolled back soon; the next run waits for that.
SAFETY = ("--confirm-timeout", "20s", "--lock-timeout", "60s")

DIRECTIONS = [
    Direction("first", "bare", "a", "a", ("apply", "--yes", "--json", *SAFETY)),
    Direction("change", "a", "b", "b", ("apply", "--yes", "--json", *SAFETY)),
    Direction("back", "b", "a", "a", ("apply", "--yes", "--json", *SAFETY)),
    Direction("release", "a", "bare", "a", ("release", "NODE", "--yes", *SAFETY)),
]
BY_NAME = {direction.name: direction for direction in DIRECTIONS}
# Each direction equally often, and each ends in the state where the next one begins.
CIRCLE = [BY_NAME[name] for name in ("first", "change", "back", "release")]


class Run:
    def __init__(self, code, out, err, took):
        self.code, self.out, self.err, self.took = code, out, err, took

    @property
    def said(self):
        return self.out + self.err

    def report(self):
        """None when the output is no report: then the run has not even begun."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None


class Host:
    """A host of the lab, seen and changed from outside: a probe runs in its namespaces, without the network."""

    def __init__(self, number):
        self.number = number
        self.name = f"spark-{number:02}"
        self.asking = threading.Lock()
        source = (HERE / "node_probe.py").read_text()
        self.probe = subprocess.Popen(
            [lab_hosts.LAB, "exec", str(number), "--", "python3", "-c", source],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what, *arguments):
        with self.asking:
            self.probe.stdin.write(json.dumps([what, arguments]) + "\n")
            self.probe.stdin.flush()
            answer = self.probe.stdout.readline()
        status, said = json.loads(answer) if answer else ("failed", "the probe has ended")
        if status != "ok":
            raise lab_hosts.Failed(f"{self.name}: {said}")
        return said

    def shell(self, line):
        code, said = self.ask("shell", line)
        if code != 0:
            raise lab_hosts.Failed(f"{self.name}: {line}: {said}")
        return said

    def end(self):
        self.probe.stdin.close()
        self.probe.wait()


def start_sparkplan(cluster, arguments, directory, env):
    """Starts sparkplan in the controller's network, with that cluster.yaml."""
    argv = ["nsenter", f"--net=/run/netns/sparklab-{lab_hosts.NAME}-controller", "--", SPARKPLAN, *arguments]
    return subprocess.Popen(argv, env={**env, "SPARKPLAN_CLUSTER": str(cluster)}, cwd=directory,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, seconds=300):
    begun = time.monotonic()
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return Run(None, out, err + f"\nstill running after {seconds} s", seconds)
    return Run(process.returncode, out, err, time.monotonic() - begun)


class Node(Host):
    def __init__(self, number, work):
        super().__init__(number)
        self.directory = work / self.name
        self.directory.mkdir()
        self.env = lab_hosts.environment()
        self.state = "bare"
        self.trees, self.lives = {}, {}
        for version, values in VERSIONS.items():
            text = STATE.format(number=number, address=address(number), **values)
            (self.directory / f"{version}.yaml").write_text(text)
        self.ask("shell", "rm -rf /run/lab; mkdir -m 1777 /run/lab")
        self.ask("write", "/usr/local/bin/sudo", SUDO, 0o755)
        self.ask("write", "/run/lab/frame_relay.py", (HERE / "frame_relay.py").read_text(), 0o644)
        self.ask("keep")

    # Sparkplan.

    def start(self, version, *arguments):
        words = [self.name if word == "NODE" else word for word in arguments]
        return start_sparkplan(self.directory / f"{version}.yaml", words, self.directory, self.env)

    @staticmethod
    def finish(process, seconds=300):
        return finish(process, seconds)

    def sparkplan(self, version, *arguments):
        return self.finish(self.start(version, *arguments))

    def go(self, direction):
        run = self.sparkplan(direction.version, *direction.command)
        if run.code == 0:
            self.state = direction.end
        return run

    def go_to(self, state):
        """Brings the node to that state without striking."""
        self.watch(None)
        while self.state != state:
            direction = BY_NAME["change"] if (self.state, state) == ("a", "b") else \
                next(way for way in DIRECTIONS if way.begin == self.state and way.name != "change")
            run = self.go(direction)
            if run.code != 0:
                raise lab_hosts.Failed(f"{self.name}: {direction} ended with {run.code}:\n{run.said}")

    def put_back(self):
        """Forces the node to the state bare, for the cases that follow."""
        self.watch(None)
        self.ask("put_back")
        self.ask("shell", QUIET)
        self.state = "bare"

    def learn(self):
        """Records each state after undisturbed runs."""
        for state in ("bare", "a", "b"):
            self.go_to(state)
            self.ask("agent_gone_within", 20)
            self.trees[state], self.lives[state] = self.ask("tree"), self.ask("live")
        self.go_to("bare")

    # The launcher of the agent for all later runs.

    def watch(self, launch):
        self.ask("shell", "rm -rf /run/lab/launch /run/lab/connection-* /run/lab/trace-* /run/lab/frames "
                          "/run/lab/held /run/lab/proceed")
        if launch:
            self.ask("write", "/run/lab/launch", launch, 0o644)


def first_line_with(word, text):
    return next((re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if word in line), "")
