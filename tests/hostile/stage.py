"""The messages of an honest node in a scene: the agent's own, or in the scene `live` those of a running machine.

An agent on a directory tree reads neither links nor RDMA devices and measures nothing. In the scene `live` its facts
come from spark.json with the node's own numbers, and its measurements are made up with good values.
"""
import base64
import hashlib
import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBERS = {"liar": 1, "actor": 2}
NAMES = {number: name for name, number in NUMBERS.items()}
HALVES = ("enp1s0f1np1", "enP2p1s0f1np1")
SECOND = 1_000_000_000
PT_NOTE, NT_GNU_BUILD_ID = 4, 3


def build_id(path):
    """Reads the build id as defined in engine/wire/build_id.h."""
    with open(path, "rb") as file:
        elf = file.read()
    (headers,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", elf, headers + i * size)
        end = offset + length
        while kind == PT_NOTE and offset + 12 <= end:
            name, content, note = struct.unpack_from("<III", elf, offset)
            begin = offset + 12 + (name + 3 & ~3)
            if note == NT_GNU_BUILD_ID:
                return elf[begin:begin + content].hex()
            offset = begin + (content + 3 & ~3)
    return ""


class Stage:
    def __init__(self, scene, name):
        self.live, self.name = scene == "live", name
        self.number = NUMBERS.get(name, 9)
        self.other = 3 - self.number
        self.opened = 0
        self.logins = 0
        if self.live:
            with open(f"{HERE}/spark.json", encoding="utf-8") as file:
                self.facts = json.loads(file.read().replace("@N@", str(self.number)))

    def answer(self, kind, request, message):
        """Adds to the agent's message the facts that only a running machine has."""
        if self.live and kind == "facts" and "reply" in message:
            facts = dict(self.facts)
            if not request.get("everything"):
                facts.pop("survey", None)
            message["reply"]["facts"] = facts
            exports = message["reply"].setdefault("exports", {})
            exports.update({kind: made for kind, made in self.exports().items() if kind in request["exports"]})
        return message

    def exports(self):
        key = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE{self.number}"
        home = {"path": "/root", "machine": f"machine-{self.number}", "local": f"17 {self.number}", "remote": "18"}
        return {"ssh_trust": {"users": {"root": {"home": home, "public_key": key, "root": True}}, "host_keys": [key],
                              "addresses": [f"192.168.100.1{self.number}"]}}

    def reply(self, request):
        """The whole reply to a request that an agent on a tree would refuse; None: ask the agent."""
        made = getattr(self, "reply_" + request.get("request", "x"), None) if self.live else None
        return None if made is None else {"id": request["id"], "reply": made(request)}

    def reply_probe(self, request):
        return {"answered": [True] * len(request["targets"])}

    def reply_open_ear(self, request):
        return {"port": 40_000, "datagram_port": 40_001}

    def reply_close_ear(self, request):
        return {"heard": request["awaited"]}

    def reply_send_datagrams(self, request):
        return {}

    def reply_measure_tcp(self, request):
        return {"outcome": "done", "reason": "", "bytes": 5 * SECOND, "nanoseconds": SECOND // 2}

    def reply_listen_to_cables(self, request):
        return {}

    def reply_call_into_cables(self, request):
        return {}

    def reply_hear_cables(self, request):
        return {"calls": [{"at": half, "node": NAMES[self.other], "interface": half} for half in HALVES],
                "mute": {"enP7s7": "it is down"}}

    def reply_ssh_login(self, request):
        logins = [{"succeeded": True, "complaint": ""} for _ in request["targets"]]
        self.logins += 1
        if self.logins == 1:  # The first one is the login of a node to itself.
            logins[0] = {"succeeded": False, "complaint": "ssh: connect to host: Connection refused"}
        return {"logins": logins}

    def reply_measurements(self, request):
        return {"earlier": {name: [0.5, 0.5, 0.5] for name in request["values"]}, "set_aside": "/var/lib/sparkplan/x"}

    def reply_read_storage(self, request):
        return {"complaint": "", "what": "/mnt/models/x", "bytes": SECOND, "nanoseconds": SECOND, "direct": True}

    def reply_gpu_errors(self, request):
        return {"count": 1, "since_boot": True,
                "errors": [{"xid": 13, "line": "NVRM: Xid (PCI:000f:01:00): 13, pid=7, name=python3, an exception"}]}

    def reply_rdma_open(self, request):
        self.opened += 1
        return {"session": self.opened, "gid": f"::ffff:{request['address']}", "gid_index": 3, "lid": 0, "mtu": 4096,
                "memory": 4096, "key": 17, "queue_pairs": [*range(100, 100 + request["queue_pairs"])],
                "first_packet": 7}

    def reply_rdma_connect(self, request):
        return {}

    def reply_rdma_write(self, request):
        return {"results": [{"messages": 190_000, "nanoseconds": SECOND} for _ in request["sessions"]]}

    def reply_rdma_latency(self, request):
        return {"minimum_ns": 1500, "typical_ns": 1700, "p99_ns": 2100}

    def reply_rdma_counters(self, request):
        self.opened += 1
        return {"sent_bytes": self.opened * 13 * SECOND, "received_bytes": self.opened * 13 * SECOND,
                "hardware": {"packet_seq_err": 0}, "interface_sent_bytes": 0, "interface_received_bytes": 0}

    def reply_rdma_close(self, request):
        return {}


def transport():
    return {"network": "IB", "devices": ["rocep1s0f1", "roceP2p1s0f1"], "channels_ib": 8, "channels_socket": 0,
            "channels_local": 0, "gpu_direct": False, "warnings": ["a warning of NCCL's"]}


def rank_answer(command, environment):
    """The reply of sparkplan-nccl on a machine with a GPU. `environment` is what `prepare` has set."""
    kind = command["command"]
    if kind == "prepare":
        made = base64.b64encode(bytes(128)).decode() if command["make_id"] else ""
        return {"answer": "prepared", "nccl_version": 22809, "library": "/usr/lib/libnccl.so.2",
                "driver_version": 13_000, "gpu": "NVIDIA GB10", "memory_free_bytes": 100 << 30,
                "unified_memory": True, "id": made, "other_conf_lines": ["NCCL_DEBUG=INFO"]}
    if kind == "measure_gpus":
        load = {"samples": 50, "clock_mhz": 2400, "power_watts": 85.0, "celsius": 70, "zone_celsius": 80, "state": 0,
                "reasons": 0, "teraflops": 28.5, "copy_gigabytes": 218.0, "copied_bytes": 1 << 28, "wrong": 0}
        return {"answer": "gpus", "driver": "580.159.03", "cuda_version": 13_000, "nvml_missing": "",
                "gpus": [{"name": "NVIDIA GB10", "bus": "000f:01:00.0", "highest_mhz": 3003, "processes": [],
                          "load": load}]}
    if kind == "join":
        return {"answer": "joined", "transport": transport()}
    if kind == "run":
        # `tune` compares pairs until one is worse.
        factor = 1.1 if "NCCL_IGNORE_CPU_AFFINITY" in environment else 1
        return {"answer": "result", "bytes": command["bytes"], "seconds": factor * (command["bytes"] / 20e9 + 1e-5),
                "wrong": 0, "first_wrong": "", "transport": transport()}
    return None


def be_rank(speaker, frames):
    """Acts as a rank of the NCCL test until it ends."""
    status = speaker.may_speak()
    if status is not True:
        return status
    speaker.greet()
    speaker.say("rank-hello", {"answer": "hello", "build": build_id(f"{HERE}/sparkplan-nccl"),
                               "architecture": os.uname().machine})
    environment = {}
    while (command := frames.next()) is not None:
        environment = command.get("environment", environment)
        answer = rank_answer(command, environment)
        if answer is None:
            return 0
        speaker.say("rank-" + command["command"], answer)
    return 0


IMAGE_ID, IMAGE_BYTES = "5" * 64, 1000
SPACE = 1 << 40


DIGEST = bytes([7]) * 32  # Of the only chunk of each file.


def file_entry(path, size):
    return {"path": path, "kind": "file", "size": size, "mode": 0o644, "mtime_ns": SECOND, "user": "root",
            "group": "root", "sum": hashlib.sha256(DIGEST).hexdigest()}


class Copier:
    """The answers of sparkplan-copy. Every member of a sync has the same tree, apart from a file that only the source
    has; data is never sent, because both ends say that it has arrived."""

    def __init__(self, has_all):
        self.has_all = has_all
        self.kind = "directory"
        self.size = 0

    def answers(self, command):
        made = getattr(self, "on_" + command.get("command", "x"), None)
        return [] if made is None else made(command)

    def on_open(self, command):
        self.kind = command.get("kind", "directory")
        return [{"answer": "opened", "path": "/srv/" + command["path"].strip("/"), "exists": True,
                 "was_received": not self.has_all, "free_bytes": SPACE, "partial_bytes": 0}]

    def on_look(self, command):
        if self.kind == "image":
            entries = [file_entry("image.tar", IMAGE_BYTES)]
        else:
            entries = [file_entry("a", 100),
                       {"path": "d", "kind": "directory", "mode": 0o755, "mtime_ns": SECOND, "user": "root",
                        "group": "root"},
                       {"path": "e", "kind": "link", "mode": 0o777, "mtime_ns": SECOND, "user": "root", "group": "root",
                        "target": "d"}]
            if self.has_all:
                entries.insert(2, file_entry("d/b", 200))
        return [{"answer": "progress", "read_bytes": 1, "doing": "a"}, {"answer": "entries", "entries": entries},
                {"answer": "looked", "changed": ["a"]}]

    def on_expect(self, command):
        self.size += sum(entry.get("size", 0) for entry in command["entries"])
        return []

    def on_begin(self, command):
        self.source = command["source"]
        begun = [{"answer": "begun", "missing_bytes": 200, "needed_bytes": 200, "free_bytes": SPACE}]
        if self.source:
            begun.append({"answer": "digests", "records": base64.b64encode(bytes(8) + DIGEST).decode()})
        return begun

    def on_serve(self, command):
        return [{"answer": "serving", "link": command["link"], "port": 40_000}]

    def on_fetch(self, command):
        if self.size == 0:
            return []
        done, self.size = self.size, 0  # A second link brings nothing more.
        return [{"answer": "progress", "done_bytes": done, "received_bytes": 200, "sent_bytes": 0, "read_bytes": done,
                 "doing": "d/b"}, {"answer": "complete", "received_bytes": 200}]

    def on_image(self, command):
        if command["action"] == "drop" or (command["action"] == "look" and not self.has_all):
            return [{"answer": "image_state", "id": "", "bytes": 0}]
        return [{"answer": "image_state", "id": command.get("id") or IMAGE_ID, "bytes": IMAGE_BYTES}]

    def on_list_trees(self, command):
        return [{"answer": "trees", "trees": [{"path": "/srv/models/old", "real_path": "/srv/models/old",
                                               "owner": "root"}]}]

    def on_prune(self, command):
        return [{"answer": "pruned", "files": 3, "bytes": 100, "kept_files": 1, "kept": ["changed"]}]

    def on_forget(self, command):
        return [{"answer": "forgotten"}]


def be_copier(name, speaker, frames):
    """Acts as sparkplan-copy until its input ends. The file names the source: the node that has everything."""
    status = speaker.may_speak()
    if status is not True:
        return status
    speaker.greet()
    speaker.say("copy-hello", {"answer": "hello", "build": build_id(f"{HERE}/sparkplan-copy"),
                               "architecture": os.uname().machine})
    with open("/run/hostile/source", encoding="utf-8") as file:
        copier = Copier(name == file.read())
    while (command := frames.next()) is not None:
        for answer in copier.answers(command):
            speaker.say("copy-" + answer["answer"], answer)
    return 0
