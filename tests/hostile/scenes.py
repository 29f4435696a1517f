"""Input for the controller: cluster files, commands, and the part of their output that is checked."""
import dataclasses

from world import ADDRESSES, TREES

NODES = f"""version: 1
name: lab
ssh: {{user: root}}
nodes:
  - {{name: liar, id: 1, address: {ADDRESSES["liar"]}}}
  - {{name: actor, id: 2, address: {ADDRESSES["actor"]}}}
  - {{name: h1, id: 3, transport: local, root: {TREES}/h1}}
  - {{name: h2, id: 4, transport: local, root: {TREES}/h2}}
"""
BEFORE = NODES + """
sysctl: {net.core.somaxconn: 8192, vm.swappiness: 10}
profile_env: {HF_HOME: /mnt/models}
hosts: {suffix: -x}
limits: [{domain: "*", item: memlock, value: unlimited}]
kernel_modules: [nvme-tcp]
files: [{path: /etc/motd, content: "one\\n"}]
"""
AFTER = NODES + """
sysctl: {net.core.somaxconn: 16384, vm.dirty_ratio: 5}
profile_env: {HF_HOME: /srv/models}
hosts: {suffix: -y}
limits: [{domain: "*", item: nofile, value: 65536}]
kernel_modules: [nvme-tcp]
files: [{path: /etc/motd, content: "two\\n"}]
"""
# Running nodes with a fabric between them; the directory trees have no fabric.
LIVE = NODES.replace("/h1}", "/h1, fabric: null, ssh_trust: null, storage: null, nccl: null}").replace(
    "/h2}", "/h2, fabric: null, ssh_trust: null, storage: null, nccl: null}") + """
sysctl: {net.core.somaxconn: 8192}
fabric: {topology: switch, port: 1}
ssh_trust: {users: [root]}
nccl: {mode: safe}
storage:
  - {target: /mnt/models, source: {nvme_tcp: {address: 192.168.0.100, port: 4420, subsystem: models}}, type: ext4,
     options: [ro]}
"""
# Only one variable is left to try, because the file sets the others: a search of two pairs.
TUNE = LIVE.replace("nccl: {mode: safe}", "nccl: {mode: safe, env: {NCCL_IB_QPS_PER_CONNECTION: '1', "
                    "NCCL_PROTO: Simple, NCCL_MAX_NCHANNELS: '8', NCCL_BUFFSIZE: '4194304'}}")
# Content for the nodes behind sshd: a directory tree takes no part in a sync.
SYNC = "".join(line for line in NODES.splitlines(True) if "local, root" not in line) + """
models: [{path: /srv/models/one, from: actor}]
images: [{name: "local/vllm:1", from: actor}]
"""
FILES = {"before.yaml": BEFORE, "after.yaml": AFTER, "live.yaml": LIVE, "tune.yaml": TUNE, "sync.yaml": SYNC,
         "sync-from-liar.yaml": SYNC.replace("from: actor", "from: liar")}
# The nodes behind sshd: a directory tree starts no program.
OVER_SSH = ("--only", "liar,actor")
RUN = ("run", "-f", "live.yaml", *OVER_SSH, "--time-limit", "4s", "--grace", "1s")
OF_A_JOB = {"about": ("job-", "preflight-", "watch-"), "codes": (10,)}
OF_A_RANK = {"about": ("rank-",), "scene": "live"}
HONEST = ("actor", "h1", "h2")
MEMBERS = ("liar", *HONEST)
# A directory that no cluster.yaml names.
DECOY = "decoy"


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    arguments: tuple
    scene: str = "tree"
    schema: str = ""        # The schema of standard output.
    lines: bool = False     # Each line of text is about one node.
    then: tuple = ()        # A command that runs afterwards; its output is checked.
    codes: tuple = ()       # Exit codes that a node can cause with this command, beside judge.OF_A_NODE.
    about: tuple = ()       # Only fields of messages whose names begin so are replaced by lies.
    sleeps: bool = False    # An honest run mostly waits.
    changes: bool = False   # The command changes nodes: their trees are restored after it.


COMMANDS = {command.name: command for command in (
    Command("plan", ("plan", "after.yaml", "--json", "--detailed-exitcode"), schema="report"),
    Command("plan-text", ("plan", "after.yaml"), lines=True),
    Command("plan-saved", ("plan", "after.yaml", "--output", "saved.plan"), then=("show", "saved.plan")),
    Command("drift", ("drift", "before.yaml", "--json", "--pending"), schema="report"),
    Command("drift-text", ("drift", "before.yaml"), lines=True),
    Command("status", ("status", "after.yaml"), lines=True),
    Command("status-json", ("status", "after.yaml", "--json"), schema="status"),
    Command("apply", ("apply", "after.yaml", "--yes", "--json"), schema="report", changes=True),
    Command("apply-text", ("apply", "after.yaml", "--yes"), lines=True, changes=True),
    Command("apply-prune", ("apply", "after.yaml", "--yes", "--yes-prune", "--json"), schema="report", changes=True),
    Command("release-ghost", ("release", "ghost", "--file", "before.yaml", "--yes"), changes=True),
    Command("release", ("release", "liar", "--file", "before.yaml", "--yes"), changes=True),
    Command("release-other", ("release", "h2", "--file", "before.yaml", "--yes"), changes=True),
    Command("history", ("history", "--file", "before.yaml", "--json"), schema="history"),
    Command("rollback", ("rollback", "--file", "before.yaml", "--yes"), changes=True),
    Command("unlock", ("unlock", "liar", "--file", "before.yaml", "--yes"), changes=True),
    Command("facts", ("facts", "--file", "before.yaml", "--json"), schema="facts"),
    Command("facts-text", ("facts", "--file", "before.yaml")),
    Command("doctor", ("doctor", "before.yaml", "--json"), schema="doctor"),
    Command("verify", ("verify", "before.yaml", "--json"), schema="verify"),
    Command("facts-live", ("facts", "--file", "live.yaml", "--json"), "live", schema="facts"),
    Command("facts-live-text", ("facts", "--file", "live.yaml"), "live"),
    Command("doctor-live", ("doctor", "live.yaml", "--json"), "live", schema="doctor"),
    Command("doctor-live-text", ("doctor", "live.yaml"), "live"),
    Command("plan-live", ("plan", "live.yaml", "--json"), "live", schema="report"),
    Command("verify-live", ("verify", "live.yaml", "--json"), "live", schema="verify"),
    Command("verify-live-text", ("verify", "live.yaml"), "live"),
    Command("verify-history", ("verify", "--history", "before.yaml", "--json"), schema="verify-history"),
    Command("verify-history-text", ("verify", "--history", "before.yaml")),
    Command("sync", ("sync", "-f", "sync.yaml", "--yes", "--json"), schema="sync"),
    Command("sync-text", ("sync", "-f", "sync.yaml", "--yes")),
    Command("sync-from-liar", ("sync", "-f", "sync-from-liar.yaml", "--yes", "--json"), schema="sync"),
    Command("sync-prune", ("sync", "-f", "sync.yaml", "--yes", "--prune", "--json"), schema="sync"),
    Command("exec", ("exec", "-f", "before.yaml", *OVER_SSH, "--time-limit", "2s", "--json", "--", "uname"),
            schema="job", **OF_A_JOB),
    Command("exec-text", ("exec", "-f", "before.yaml", *OVER_SSH, "--time-limit", "2s", "--", "uname"), lines=True,
            **OF_A_JOB),
    Command("run", (*RUN, "--no-preflight", "--ranks-per-node", "gpus", "--json", "--", "train"), "live", schema="job",
            **OF_A_JOB),
    # Also of an honest node, the preflight fails: nothing is started.
    Command("run-image", (*RUN, "--image", "local/vllm:1", "--", "train"), "live", codes=(10,)),
    Command("run-watch", (*RUN, "--no-preflight", "--watch", "1s", "--", "wait"), "live", sleeps=True, **OF_A_JOB),
    Command("verify-gpu", ("verify", "live.yaml", *OVER_SSH, "--level", "gpu", "--json"), schema="verify", **OF_A_RANK),
    Command("verify-nccl", ("verify", "live.yaml", *OVER_SSH, "--level", "nccl", "--json"), schema="verify",
            **OF_A_RANK),
    Command("verify-nccl-text", ("verify", "live.yaml", *OVER_SSH, "--level", "nccl"), **OF_A_RANK),
    Command("tune", ("tune", "-f", "tune.yaml", *OVER_SSH, "--budget", "30s", "--json"), schema="tune", **OF_A_RANK),
    Command("tune-text", ("tune", "-f", "tune.yaml", *OVER_SSH, "--budget", "30s"), **OF_A_RANK),
    Command("init-live", ("init", f"root@{ADDRESSES['liar']}", f"root@{ADDRESSES['actor']}", "-o", "-"), "live"),
    Command("init", ("init", f"root@{ADDRESSES['liar']}", f"root@{ADDRESSES['actor']}", "-o", "-")),
)}


def write_files(write):
    for name, text in FILES.items():
        write(name, text)
