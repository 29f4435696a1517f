"""A process with its own world that runs one case after the other."""
import json
import os
import pathlib
import pickle
import shutil
import struct
import traceback

import judge
import scenes
import world
from world import TREES, WORLD


def send(output, value):
    data = pickle.dumps(value)
    view = memoryview(struct.pack("<Q", len(data)) + data)
    while view:
        view = view[os.write(output, view):]


def receive(source):
    def exactly(size):
        data = b""
        while len(data) < size:
            more = os.read(source, min(1 << 20, size - len(data)))
            if not more:
                raise EOFError
            data += more
        return data
    return pickle.loads(exactly(struct.unpack("<Q", exactly(8))[0]))


def make_tree(name, number):
    tree = TREES / name
    for directory in ("etc/sysctl.d", "etc/security/limits.d", "etc/profile.d", "usr/lib/sysctl.d", "root", "var/lib"):
        (tree / directory).mkdir(parents=True)
    (tree / "etc/machine-id").write_text(f"{number:032x}\n")
    (tree / "etc/os-release").write_text('ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n')
    (tree / "etc/hostname").write_text(name + "\n")
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (tree / "etc/group").write_text("root:x:0:\n")
    (tree / "etc/hosts").write_text("127.0.0.1 localhost\n")


def add_measurements(name):
    """What `verify` has stored on a node in five runs: the last two are slower, with another kernel."""
    # Only of honest nodes: what happened beside a change is read from the nodes that the check names.
    other = {"liar": "actor", "actor": "h1", "h1": "h2", "h2": "actor"}[name]
    folder = TREES / name / "var/lib/sparkplan/verify"
    folder.mkdir(mode=0o700)
    history = {"id": f"tcp/{name}/{other}/A", "values": [100, 101, 99, 50, 51], "runs": [1, 2, 3, 4, 5]}
    (folder / "history.jsonl").write_text(json.dumps(history) + "\n")
    (folder / "runs.jsonl").write_text("".join(
        json.dumps({"number": number, "run": f"2020030{number}T120000Z-4f9a1c07",
                    "versions": {"kernel": "6.11" if number < 4 else "6.14"}}) + "\n" for number in range(1, 6)))


class Slot:
    def __init__(self, keys):
        self.keys = keys
        self.world = world.World(keys)
        scenes.write_files(world.write)
        self.material = {}

    # The state that every run begins with.
    def prepare(self):
        """Applies the nodes once and changes some files; then records the output of every command with honest nodes."""
        for number, name in enumerate((*scenes.MEMBERS, scenes.DECOY), 1):
            make_tree(name, number)
        run = self.execute({"command": "apply", "lie": {}, "limit": 60}, ("apply", "before.yaml", "--yes"))
        if run["code"] != 0:
            raise RuntimeError(f"the first apply: {run['out'].decode()} {run['err'].decode()}")
        for name in ("liar", "actor", "h2"):
            with open(TREES / name / "etc/sysctl.d/90-sparkplan.conf", "a", encoding="utf-8") as file:
                file.write("net.core.somaxconn = 1\n")
        for name in scenes.MEMBERS:
            add_measurements(name)
        shutil.copytree(TREES, WORLD / "template", symlinks=True)
        self.keep_tree_state()
        baselines = {}
        for command in scenes.COMMANDS.values():
            baselines[command.name] = {how: self.baseline(command, how) for how in ("honest", "absent")}
        self.material["baselines"] = baselines

    def baseline(self, command, how):
        lie = {"how": "record" if how == "honest" else how}
        run = self.execute({"command": command.name, "lie": lie, "limit": 60}, command.arguments)
        # If the baseline already treats the liar as failed, no lie would have an effect. 1: `ghost` is not a node.
        wanted = judge.DOCUMENTED if how == "absent" else (0, 1, 2, 8)
        if run["late"] or run["code"] not in wanted:
            raise RuntimeError(f"{command.name} with the liar {how} ends with {run['code']}: "
                               f"{run['out'].decode()} {run['err'].decode()}")
        said = []
        if (WORLD / "record.jsonl").exists():
            said = [json.loads(line) for line in (WORLD / "record.jsonl").read_text().splitlines()]
        return {"code": run["code"], "part": judge.honest_part(command, run["out"].decode()), "trees": run["trees"],
                "said": said, "seconds": run["seconds"], "out": run["out"], "err": run["err"], "peak": run["peak"]}

    def keep_tree_state(self):
        self.material["before"] = {name: world.snapshot(TREES / name) for name in (*scenes.HONEST, scenes.DECOY)}
        self.material["fingerprints"] = {name: world.fingerprint(self.keys, name) for name in ("actor", "liar")}

    def template(self):
        """Returns the trees and the baselines for the other slots."""
        packed = shutil.make_archive("/run/template", "tar", WORLD / "template")
        data = pathlib.Path(packed).read_bytes()
        os.unlink(packed)
        return {"trees": data, "material": self.material}

    def take_template(self, template):
        packed = pathlib.Path("/run/template.tar")
        packed.write_bytes(template["trees"])
        shutil.unpack_archive(packed, WORLD / "template")
        packed.unlink()
        self.material = template["material"]
        self.material["validators"] = make_validators()
        self.put_back()

    def put_back(self):
        if (WORLD / "template").exists():
            shutil.rmtree(TREES, ignore_errors=True)
            shutil.copytree(WORLD / "template", TREES, symlinks=True)

    # One case.
    def execute(self, case, arguments):
        for name in ("told", "trap", "pushed", "record.jsonl", "owned", "saved.plan"):
            (WORLD / name).unlink(missing_ok=True)
        # Which node the copying programs take for the source.
        world.write("source", "liar" if any("from-liar" in word for word in arguments) else "actor")
        world.write("lie.json", json.dumps({**case["lie"], "scene": scenes.COMMANDS[case["command"]].scene}))
        run = self.world.run(["--timeout", "5s", *arguments], case["limit"])
        run["out"], run["err"] = world.read_output("out"), world.read_output("err")
        after = scenes.COMMANDS[case["command"]].then
        if after and run["code"] >= 0 and not run["late"]:
            second = self.world.run(after, case["limit"])
            run["out"], run["err"] = run["out"] + world.read_output("out"), run["err"] + world.read_output("err")
            run["code"] = run["code"] if second["code"] in judge.DOCUMENTED else second["code"]
            run.update(late=second["late"], peak=max(run["peak"], second["peak"]))
        run["told"] = (WORLD / "told").exists()
        run["owned"] = (WORLD / "owned").exists()
        run["trap"] = []
        if (WORLD / "trap").exists():
            run["trap"] = [json.loads(line) for line in (WORLD / "trap").read_text().splitlines()]
        run["trees"] = {name: world.snapshot(TREES / name) for name in (*scenes.HONEST, scenes.DECOY)}
        run["manifests"] = self.manifests()
        if case["command"].startswith("init") and run["code"] in (0, 4) and run["out"]:
            (WORLD / "drafted.yaml").write_bytes(run["out"])
            run["validation"] = self.world.run(["validate", "drafted.yaml"], case["limit"])["code"]
            run["complaint"] = world.read_output("err")
        if self.must_be_put_back(case, run):
            self.put_back()
        return run

    def must_be_put_back(self, case, run):
        # The comparison leaves out the liar's own tree: only an apply changes it in a way that matters.
        return scenes.COMMANDS[case["command"]].changes or run["trees"] != self.material.get("before")

    def manifests(self):
        found = {}
        for name in scenes.HONEST:
            path = TREES / name / "var/lib/sparkplan/manifest.json"
            if path.exists():
                found[name] = json.loads(path.read_text())
        return found

    def judged(self, case):
        """Runs in a separate process, so that its memory does not count for the next run."""
        command = scenes.COMMANDS[case["command"]]
        run = self.execute(case, case.get("arguments") or command.arguments)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                problems, told = judge.judge(case, run, self.material)
                show = case.get("show")
                send(write_end, {"name": case["name"], "problems": problems, "told": told, "seconds": run["seconds"],
                                 "code": run["code"], "peak": run["peak"],
                                 "out": run["out"] if show else b"", "err": run["err"] if show else b""})
            except BaseException:
                send(write_end, {"name": case["name"], "problems": ["the judge: " + traceback.format_exc()],
                                 "told": True, "seconds": 0, "code": None, "peak": 0, "out": b"", "err": b""})
            os._exit(0)
        os.close(write_end)
        try:
            verdict = receive(read_end)
        finally:
            os.close(read_end)
            os.waitpid(pid, 0)
        return verdict


def make_validators():
    import jsonschema
    validators = {}
    for name in ("report", "history", "facts", "doctor", "verify", "status", "verify-history", "sync", "job", "tune"):
        schema = json.loads((world.ROOT / f"schemas/{name}.schema.json").read_text())
        validators[name] = jsonschema.Draft7Validator(schema)
    return validators


def live(source, output, keys):
    """Serves a slot until it ends. Requests: ("prepare",), ("take", template), ("case", case), or the end of the
    stream."""
    slot = Slot(keys)
    while True:
        try:
            what, *arguments = receive(source)
        except EOFError:
            return
        try:
            if what == "prepare":
                slot.prepare()
                answer = slot.template()
            elif what == "take":
                slot.take_template(*arguments)
                answer = True
            else:
                answer = slot.judged(*arguments)
        except Exception:
            answer = RuntimeError(traceback.format_exc())
        send(output, answer)
