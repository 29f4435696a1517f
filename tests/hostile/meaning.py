"""Lies that are well-formed and have a meaning: about cluster membership, identity, and optional or exported data."""
import copy
import hashlib
import json

import lies
import values
from world import ADDRESSES, TREES

DECOY = str(TREES / "decoy")
GHOSTS = 20_000
FOREIGN_UUID = "66666666-6666-4666-8666-666666666666"
# Fields that an honest reply on a tree omits; the values are those of a node in another state.
OPTIONAL = {
    "lock_holder": {"who": "anna@laptop", "pid": 4711, "operation": "apply", "since": "2026-01-01T00:00:00Z"},
    "transaction": {"run": "20260101T000000Z-00012345", "state": "failed", "who": "anna@laptop (process 1, apply)",
                    "seconds_left": 30, "carried_out": True, "at_work": False, "undone": False, "reason": "no answer",
                    "manual_commands": ["netplan apply", "ip link set eth0 up"]},
    "export_errors": {"ssh_trust": {"code": "failed", "message": "cannot read", "context": ["exports"],
                                    "hint": "look"}},
    "known_roster": "0" * 64,
    "exports": {"file": {"absent": ["/etc/motd"], "without_directory": [], "users": {"root": 0}, "groups": {"root": 0}},
                "mount": {"volumes": [{"address": "10.0.0.1", "port": 4420, "subsystem": "models", "writes": True}]},
                "ssh_trust": {"users": {"root": {"public_key": "ssh-ed25519 AAAA", "root": True}},
                              "host_keys": ["ssh-ed25519 AAAA"], "addresses": ["10.0.0.1"]}},
}
COMMANDS = ("plan", "drift", "status", "plan-text", "apply", "plan")
COMMANDS_ABOUT_LOCKS = ("unlock", "plan", "status", "unlock", "plan-text", "apply")
TRANSACTION_STATES = ("begun", "armed", "committed", "rolledback", "failed", "no such state")


def ghost(name="ghost", **other):
    entry = {"name": name, "id": 66, "address": ADDRESSES["trap"], "user": "root", "port": 22, "host_key": "",
             "machine_id": "66" * 16, "jump": "", "become": "none", "root": "", "leaving": True}
    return {**entry, **other}


def roster_variants(roster, trap_key):
    """[(label, roster, codes)]: false rosters in the liar's manifest."""
    def changed(add=(), remove=(), **fields):
        one = copy.deepcopy(roster)
        one["generation"] = roster["generation"] + 1000
        one["members"] = [member for member in one["members"] if member["name"] not in remove] + list(add)
        one.update(fields)
        return one

    def of_member(name, **fields):
        one = changed()
        for member in one["members"]:
            if member["name"] == name:
                member.update(fields)
        return one

    variants = [
        ("ghost-leaving", changed([ghost(host_key=trap_key)])),
        ("ghost-staying", changed([ghost(host_key=trap_key, leaving=False)])),
        ("ghost-without-key", changed([ghost()])),
        ("ghost-with-sudo", changed([ghost(host_key=trap_key, user="operator", become="sudo")])),
        ("ghost-same-generation", changed([ghost(host_key=trap_key)], generation=roster["generation"])),
        ("ghost-generation-max", changed([ghost(host_key=trap_key)], generation=values.INT_MAX)),
        ("generation-max", changed(generation=values.INT_MAX)),
        ("generation-min", changed(generation=values.INT_MIN)),
        ("generation-next", changed(generation=roster["generation"] + 1)),
        ("ghost-in-a-directory", changed([ghost(root=DECOY, address="", host_key="")])),
        ("ghost-in-root", changed([ghost(root="/", address="", host_key="")])),
        ("ghost-in-a-relative-directory", changed([ghost(root="trees/decoy", address="")])),
        ("ghost-in-a-member's-directory", changed([ghost(root=str(TREES / "h1"), address="")])),
        ("ghost-through-a-jump", changed([ghost(address="10.66.0.1", jump="root@" + ADDRESSES["trap"])])),
        ("ghost-at-a-name", changed([ghost(address="ghost.example")])),
        ("ghost-at-the-controller", changed([ghost(address="127.0.0.1")])),
        ("ghost-at-ipv6", changed([ghost(address="::1")])),
        ("ghost-at-port-1", changed([ghost(port=1)])),
        ("ghost-at-an-option", changed([ghost(address="-oProxyCommand=touch /run/hostile/owned")])),
        ("ghost-with-controls", changed([ghost(address=values.CONTROLS, user=values.CONTROLS, jump=values.CONTROLS)])),
        ("ghost-named-in-controls", changed([ghost(name=values.CONTROLS)])),
        ("ghost-named-long", changed([ghost(name="g" * 10_000)])),
        ("ghost-without-a-name", changed([ghost(name="")])),
        ("ghost-named-as-a-member", changed([ghost(name="h1", host_key=trap_key)])),
        ("ghost-named-as-a-member-in-capitals", changed([ghost(name="H1", host_key=trap_key)])),
        ("ghosts-of-one-name", changed([ghost(host_key=trap_key)] * 50)),
        ("ghosts-many", changed([ghost(name=f"ghost-{i}", id=i, address=f"10.66.{i >> 8}.{i & 255}")
                                 for i in range(GHOSTS)])),
        ("ghosts-many-staying", changed([ghost(name=f"ghost-{i}", id=i, leaving=False,
                                               address=f"10.66.{i >> 8}.{i & 255}") for i in range(GHOSTS)])),
        ("ghosts-many-with-one-id", changed([ghost(name=f"ghost-{i}", id=3) for i in range(2000)])),
        ("nobody", changed(members=[])),
        ("only-the-liar", changed(remove=("actor", "h1", "h2"))),
        ("without-a-member", changed(remove=("h1",))),
        ("a-member-leaves", of_member("h1", leaving=True)),
        ("a-member-elsewhere", of_member("actor", address=ADDRESSES["trap"], host_key=trap_key)),
        ("a-member-of-another-key", of_member("actor", host_key=trap_key)),
        ("a-member-of-another-machine", of_member("h1", machine_id="66" * 16)),
        ("a-member-of-another-id", of_member("h1", id=99)),
        ("a-member-of-the-liar's-machine", of_member("h1", machine_id=f"{1:032x}")),
        ("a-member-in-the-decoy", of_member("h1", root=DECOY)),
        ("a-member-through-a-jump", of_member("actor", jump="root@" + ADDRESSES["trap"])),
        ("the-liar-elsewhere", of_member("liar", address=ADDRESSES["trap"], host_key=trap_key)),
        ("the-liar-leaves", of_member("liar", leaving=True)),
        ("the-liar-twice", changed([ghost(name="liar", id=1)])),
        # An apply that read no member could have begun the cluster again.
        ("under-another-uuid", changed(uuid=FOREIGN_UUID)),
    ]
    return variants


def refusals(roster):
    """Rosters for which the liar must be refused, and no other node."""
    theirs = [{**member, "name": "m1"} if member["name"] == "h1" else member for member in roster["members"]]
    for label, fields in (("foreign-uuid", {"uuid": FOREIGN_UUID, "members": theirs}),
                          ("foreign-uuid-of-generation-max", {"uuid": FOREIGN_UUID, "generation": values.INT_MAX}),
                          ("uuid-of-controls", {"uuid": values.CONTROLS}),
                          ("foreign-cluster", {"cluster": "elsewhere"}),
                          ("cluster-of-controls", {"cluster": values.CONTROLS}),
                          ("cluster-without-a-name", {"cluster": ""}),
                          ("cluster-and-uuid", {"cluster": "elsewhere", "uuid": FOREIGN_UUID})):
        yield label, {**copy.deepcopy(roster), **fields}


def case(command, label, edits, wanted="as-honest", message="facts", **other):
    return {"name": f"{command}/meaning/{label}", "distinct": f"meaning/{label}", "command": command, "limit": 60,
            "wanted": wanted, "codes": [], **other,
            "lie": {"how": "field", "message": message, "edits": edits}}


# A roster over the limits of engine/model/manifest.h is invalid: only its node fails.
OVER_LIMITS = ("ghost-generation-max", "generation-max", "generation-min", "ghost-with-controls", "ghost-named-in-controls",
               "ghost-named-long", "ghost-without-a-name", "ghosts-many", "ghosts-many-staying")


def roster_cases(roster, trap_key, full):
    at = ["reply", "manifest", "roster"]
    cases = []
    for label, changed in roster_variants(roster, trap_key):
        for command in ("plan", "drift", "status", "apply", "apply-prune", "release", "release-other", "release-ghost"):
            wanted = "as-honest"
            if command == "release-ghost":
                wanted = "any"
            elif label in OVER_LIMITS:
                wanted = "alone" if command != "release" else "any"
            if command == "release-ghost" and not label.startswith("ghost"):
                continue
            if command not in ("plan", "apply") and not full and lies.number_of(label + command) % 3 > 0:
                continue
            # 1: according to the nodes that can be trusted, no such node exists.
            codes = [1] if command == "release-ghost" else []
            cases.append(case(command, f"roster/{label}", [[at, changed]], wanted, codes=codes))
    for label, changed in refusals(roster):
        for command in ("plan", "drift", "status", "apply", "release-other"):
            cases.append(case(command, f"roster/{label}", [[at, changed]], "alone"))
    return cases


def known_roster_cases(roster):
    """The liar names a roster by its digest in place of sending one, or beside one."""
    text = json.dumps(roster, separators=(",", ":"), ensure_ascii=False)
    of_most = hashlib.sha256(text.encode()).hexdigest()
    digest, own = ["reply", "known_roster"], ["reply", "manifest", "roster"]
    refused = {
        "not-offered": [[digest, "0" * 64]],
        "not-offered-in-place-of-a-roster": [[digest, "f" * 64], [own, {}]],
        "beside-a-roster": [[digest, of_most]],
        "without-a-manifest": [[digest, of_most], [["reply", "manifest"], None]],
        "in-capitals": [[digest, of_most.upper()], [own, {}]],
        "of-controls": [[digest, values.CONTROLS]],
        "too-long": [[digest, of_most + "0"]],
        "a-list": [[digest, [of_most]]],
    }
    commands = ("plan", "drift", "status", "apply", "release-other")
    cases = []
    for label, edits in refused.items():
        for command in commands:
            # `release` leaves out a node without a manifest, whatever else it says.
            left_out = command == "release-other" and label == "without-a-manifest"
            cases.append(case(command, f"known-roster/{label}", edits, "any" if left_out else "alone"))
    # Accepted only if the controller had that roster before it sent the request; both are honest outcomes.
    cases += [case(command, "known-roster/of-the-others", [[digest, of_most], [own, {}]], "any")
              for command in commands]
    return cases


def identity_cases(full):
    """A node claims the identity of another. The liar may be excluded from the run; honest nodes must not be."""
    facts = ["reply", "facts"]
    claims = {
        "machine-id-of-a-member": [[[*facts, "machine_id"], f"{3:032x}"]],
        "machine-id-of-the-ssh-member": [[[*facts, "machine_id"], f"{2:032x}"]],
        "machine-id-of-no-one": [[[*facts, "machine_id"], ""]],
        "machine-id-and-boot-id": [[[*facts, "machine_id"], f"{4:032x}"], [[*facts, "boot_id"], "1"]],
        "host-name-of-a-member": [[[*facts, "hostname"], "h1"]],
        "address-of-a-member": [[[*facts, "ssh_server_address"], ADDRESSES["actor"]]],
        "nqn-of-a-member": [[[*facts, "host", "nvme_host_nqn"], "nqn.2014-08.org.nvmexpress:uuid:3"]],
        "links-of-a-member": [[[*facts, "live"], True],
                              [[*facts, "links"], [{"name": "eth0", "mac": "52:54:00:00:00:02", "mtu": 1500, "up": True,
                                                    "carrier": True, "addresses": [ADDRESSES["actor"] + "/8"]}]]],
        "node-of-a-member": [[["reply", "manifest", "node"], "h1"]],
        "node-of-no-one": [[["reply", "manifest", "node"], "stranger"]],
        "node-of-controls": [[["reply", "manifest", "node"], values.CONTROLS]],
        "node-and-machine-of-a-member": [[["reply", "manifest", "node"], "h1"], [[*facts, "machine_id"], f"{3:032x}"]],
        "saved-plans-many": [[["reply", "manifest", "applied_plans"],
                              [{"plan": "p" * 64, "run": "r", "time": "t", "finished": True}] * 20_000]],
        "live-and-empty": [[[*facts, "live"], True]],
        "controllers-machine-id": [[[*facts, "machine_id"], "@controller@"]],
    }
    commands = ("plan", "drift", "status", "apply", "release-other", "doctor", "init")
    return [case(command, f"identity/{label}", edits, "any") for label, edits in claims.items()
            for command in commands if full or command in ("plan", "apply") or lies.number_of(command + label) % 2 == 0]


def optional_cases(full):
    """Lies about fields that only exist in another state of the node."""
    cases = []
    for key, honest in OPTIONAL.items():
        edits = [[["reply", key], honest]]
        for path, value in lies.paths_in({key: honest}):
            names = lies.lies_about(value)
            if not full:
                begin = lies.number_of(lies.shown(path)) % len(names)
                names = (names * 2)[begin:begin + 5]
            for number, name in enumerate(names):
                command = (COMMANDS_ABOUT_LOCKS if key == "lock_holder" else COMMANDS)[number % 6]
                one = case(command, f"{lies.shown(path)}/{name}", edits, "any", codes=[6])
                one["name"] = f"{command}/facts+{key}/{lies.shown(path)}/{name}"
                one["distinct"] = f"facts+{key}/{lies.shown(path)}/{name}"
                one["lie"].update(path=["reply", *path], value=name)
                cases.append(one)
    for state in TRANSACTION_STATES:
        for command in ("plan", "drift", "status", "apply"):
            claim = {**OPTIONAL["transaction"], "state": state, "reason": values.CONTROLS, "who": values.CONTROLS,
                     "manual_commands": [values.CONTROLS] * 3}
            cases.append(case(command, f"transaction/{state}", [[["reply", "transaction"], claim]], "any",
                              codes=[6, 7]))
    return cases


def export_cases(full):
    """False exports, which resource types read for every other node."""
    addresses = [f"10.{i >> 16}.{(i >> 8) & 255}.{i & 255}" for i in range(120_000)]
    claims = {
        "addresses-120000": {"ssh_trust": {"users": {}, "host_keys": [], "addresses": addresses}},
        "addresses-of-members": {"ssh_trust": {"users": {}, "host_keys": [], "addresses": [ADDRESSES["actor"], "*"]}},
        "host-keys-100000": {"ssh_trust": {"users": {}, "host_keys": ["ssh-ed25519 AAAA"] * 100_000, "addresses": []}},
        "users-many": {"ssh_trust": {"users": {f"u{i}": {"public_key": "ssh-ed25519 AAAA"} for i in range(20_000)}}},
        "key-of-two-lines": {"ssh_trust": {"users": {"root": {"public_key": "ssh-ed25519 AAAA\nssh-ed25519 BBBB"}}}},
        "types-many": {f"type-{i}": {} for i in range(20_000)},
        "type-of-controls": {values.CONTROLS: {values.CONTROLS: 1}},
    }
    return [case(command, f"exports/{label}", [[["reply", "exports"], claim]], "any")
            for label, claim in claims.items() for command in ("plan", "apply")]


def measurement_cases():
    """Claims about earlier measurements: `verify --history` reads them and must show those of the other nodes."""
    versions = {f"v{i}": values.CONTROLS + "v" * 200 for i in range(16)}
    runs = [{"number": i + 1, "run": f"{9000 + i % 900}0101T120000Z-{i:08x}", "versions": versions}
            for i in range(700)]  # About 3.7 MB: a message has at most 4 MiB.
    slow = {"values": [100, 100, 100, 1], "runs": [1, 2, 3, 4]}
    claims = {
        "values-40000": {"runs": runs[:50], "checks": {f"nccl/all/{i}": {"values": [100.5] * 50, "runs": [*range(1, 51)]}
                                                       for i in range(800)}},
        "checks-4000": {"runs": runs[:4], "checks": {f"nccl/all/{i}": slow for i in range(4000)}},
        "runs-of-later-centuries": {"runs": runs, "checks": {f"tcp/liar/{i}": {
            "values": [1.0] * 50, "runs": [*range(50 * i + 1, 50 * i + 51)]} for i in range(20)}},
        "checks-of-others": {"runs": runs[:4], "checks": {"tcp/h1/h2/A": slow, "tcp/actor/h1/A": slow, "": slow}},
        "check-of-controls": {"runs": runs[:4], "checks": {f"tcp/liar/{values.CONTROLS}": slow}},
        "strange-numbers": {"runs": runs[:4], "checks": {"tcp/liar/actor/A": {
            "values": [1e308, -1e308, 5e-324, 0, 1e308, 1e308, -1], "runs": [values.INT_MAX] * 7}}},
        "one-number-for-all-runs": {"runs": [{**run, "number": 1} for run in runs], "checks": {"tcp/liar/actor/A": slow}},
        "runs-without-values": {"runs": runs, "checks": {"tcp/liar/actor/A": {"values": [], "runs": [1] * 700}}},
    }
    cases = [case(command, f"measurements/{label}", [[["reply"], claim]], "as-honest", "measurement_history")
             for label, claim in claims.items() for command in ("verify-history", "verify-history-text")]
    too_many = {"runs": [], "checks": {f"nccl/all/{i}": {"values": [1.5] * 1000, "runs": []} for i in range(41)}}
    cases.append(case("verify-history", "measurements/values-41000", [[["reply"], too_many]], "alone",
                      "measurement_history"))
    return cases


def content_cases():
    """Claims about content: a source that no receiver could follow, and records of earlier syncs."""
    def entry(path, kind="file", **other):
        return {"path": path, "kind": kind, "size": 1, "mode": 0o644, "mtime_ns": 0, "user": "root", "group": "root",
                "sum": "a" * 64, **other}
    lists = {
        "name-twice": [entry("a"), entry("a")],
        "name-without-directory": [entry("x/y")],
        "name-below-a-file": [entry("x"), entry("x/y")],
        "name-upwards": [entry("../x")],
        "link-upwards": [entry("x", "link", target="../../etc")],
        "names-long": [entry(f"{i:03}" + "n" * 250) for i in range(500)],
        "names-of-controls": [entry(values.CONTROLS.replace("/", ""))],
        "size-of-2-tib": [entry("x", size=1 << 41)],
        "size-of-40-tb": [entry(f"x{i:02}", size=1 << 41) for i in range(22)],
        "setuid": [entry("x", mode=0o4755)],
    }
    cases = [case(command, f"content/{label}", [[["entries"], entries]], "any", "copy-entries")
             for label, entries in lists.items() for command in ("sync", "sync-from-liar", "sync-text")]
    trees = [{"path": f"/srv/{i}", "real_path": "/srv/models/one", "owner": "root"} for i in range(3)]
    trees.append({"path": "/srv/" + "p" * 4000, "real_path": values.CONTROLS, "owner": values.CONTROLS})
    cases.append(case("sync-prune", "content/trees", [[["trees"], trees]], "any", "copy-trees"))
    return cases


def meaning_cases(baselines, trap_key, full):
    said = next(entry for entry in baselines["plan"]["honest"]["said"] if entry["kind"] == "facts")
    roster = said["message"]["reply"]["manifest"]["roster"]
    return [*roster_cases(roster, trap_key, full), *known_roster_cases(roster), *identity_cases(full),
            *optional_cases(full), *export_cases(full), *measurement_cases(), *content_cases()]
