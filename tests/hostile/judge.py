"""Requirements on a run of the controller, whatever the liar sends. A verdict is a list of problems, one line each."""
import json
import re

import scenes

MOST_KIB = 100 * 1024
# Each apply adds one. A generation without room for the next one cannot be a number of applies.
MOST_GENERATIONS = 2**53
DOCUMENTED = range(11)
# Exit codes that a node alone can cause. 1 is for usage errors and internal errors.
OF_A_NODE = (0, 2, 3, 4, 5, 6, 7, 8, 9)
# Characters that control a terminal or hide text, as in engine/core/text.h.
TREACHEROUS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
# Written by every run, with the run's id and time.
OF_THE_RUN = re.compile(r"^(var/lib/sparkplan|run/sparkplan)(/|$)")
# Lists of which one entry is about several nodes.
SHARED = {("diagnostics", "verify"), ("runs", "verify-history")}
VOLATILE = {"duration_s", "time", "run", "seconds", "uptime_seconds", "last_run", "last_run_time", "config_digest",
            "memory_available_bytes", "measured_at"}


def without_volatile(value):
    if isinstance(value, dict):
        return {key: without_volatile(one) for key, one in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [without_volatile(one) for one in value]
    return value


def is_of_honest(entry):
    """True for a finding that names only honest nodes. Cables are excluded: one end may be the liar's. So is the
    comparison of GPUs: with two nodes, a difference is a warning for both."""
    if str(entry.get("id", "")).endswith(("/cable", "/parity")):
        return False
    names = entry.get("nodes") or [entry.get("node")]
    return all(name in scenes.HONEST for name in names)


def honest_content(command, document):
    """What a sync reports of honest nodes. The source decides what the others receive, also if it is the liar."""
    if command.name == "sync-from-liar":
        return {}
    nodes = [(item["name"], [node for node in item["nodes"] if node["name"] in scenes.HONEST])
             for item in document["items"]]
    return {"items": nodes, "pruned": [one for one in document.get("pruned", []) if one["node"] in scenes.HONEST]}


def honest_job(document):
    """What `exec` reports of honest nodes. In a `run`, the failure of one rank ends all of them: none is an error."""
    nodes = [node for node in document["nodes"] if node["name"] in scenes.HONEST]
    if document["command"] == "run":
        nodes = [{"name": node["name"], "error": node.get("error")} for node in nodes]
    return {"nodes": nodes}


def honest_part(command, out):
    """The part of standard output about the honest nodes, in a form that is comparable between runs."""
    if not command.schema:
        # Text lines that belong to one node each. Measured checks print lines about pairs of nodes, which are left out.
        if not command.lines:
            return ""
        lines = [line for line in out.splitlines() if re.match(rf"[\s~+!-]*({'|'.join(scenes.HONEST)})\b", line)]
        return re.sub(r"generation \d+|last run \S+|[\d.]+ s\b", "", "\n".join(lines))
    document = json.loads(out)
    if command.schema == "sync":
        return without_volatile(honest_content(command, document))
    if command.schema == "job":
        return without_volatile(honest_job(document))
    part = {}
    for key, value in document.items():
        if key in ("nodes",):
            part[key] = [one for one in value if isinstance(one, dict) and one.get("name") in scenes.HONEST]
        elif isinstance(value, list) and (key, command.schema) not in SHARED:
            part[key] = [one for one in value if isinstance(one, dict) and is_of_honest(one)]
    return without_volatile(part)


def control_characters(stream, data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return [f"{stream} is no UTF-8 at byte {problem.start}: {data[max(0, problem.start - 20):][:40]!r}"]
    found = TREACHEROUS.search(text)
    if found is None:
        return []
    begin = max(0, found.start() - 40)
    return [f"{stream} has U+{ord(found.group()):04X}: {ascii(text[begin:found.end() + 10])}"]


def schema_problems(command, out, validators):
    try:
        document = json.loads(out.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        return [f"standard output is no JSON: {problem}"]
    problem = next(validators[command.schema].iter_errors(document), None)
    if problem is None:
        return []
    place = "/".join(str(key) for key in problem.absolute_path)
    return [f"standard output is not as {command.schema}.schema.json has it, at {place}: {problem.message[:200]}"]


def differing(found, wanted):
    """The first difference between two values, as text."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted({*found, *wanted}, key=str):
            if found.get(key) != wanted.get(key):
                return f"{key}: {differing(found.get(key), wanted.get(key))}"
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for index, (one, other) in enumerate(zip(found, wanted)):
            if one != other:
                return f"{index}: {differing(one, other)}"
    short = lambda value: ascii(json.dumps(value))[:160]
    return f"{short(found)} instead of {short(wanted)}"


def of_the_nodes(tree):
    return {path: what for path, what in tree.items() if not OF_THE_RUN.match(path)}


def of_other_commands(command, tree):
    """Without what `verify` stores on a managed node: its values and its summary."""
    if not command.name.startswith("verify"):
        return tree
    return {path: what for path, what in tree.items() if not path.startswith("var/lib/sparkplan/verify")}


def tree_problems(command, trees, before, baselines):
    if trees[scenes.DECOY] != before[scenes.DECOY]:
        return [f"a directory that the file does not name was changed: "
                f"{differing(trees[scenes.DECOY], before[scenes.DECOY])}"]
    for name in scenes.HONEST:
        found, allowed = trees[name], [baseline["trees"][name] for baseline in baselines]
        if not command.changes:
            found, wanted = of_other_commands(command, found), of_other_commands(command, before[name])
            if found != wanted:
                return [f"{command.name} has changed {name}: {differing(found, wanted)}"]
        elif all(of_the_nodes(found) != of_the_nodes(one) for one in (*allowed, before[name])):
            return [f"{name} is left otherwise: {differing(of_the_nodes(found), of_the_nodes(allowed[0]))}"]
        elif all(of_the_nodes(found) != of_the_nodes(one) for one in allowed):
            return [f"nothing was done on {name}, although only the liar is to be left out"]
    return []


def manifest_problems(manifests, fingerprints):
    """Problems in the honest nodes' manifests: their cluster data must come from cluster.yaml and from the nodes
    themselves."""
    problems = []
    for name, manifest in manifests.items():
        roster = manifest.get("roster", {})
        members = {member["name"]: member for member in roster.get("members", [])}
        strangers = sorted(set(members) - set(scenes.MEMBERS))
        if strangers:
            problems.append(f"the roster on {name} has got {len(strangers)} strangers: {strangers[:3]}")
        for other in ("actor", "h1", "h2"):
            key = members.get(other, {}).get("host_key", "")
            if key and key != fingerprints.get(other):
                problems.append(f"the roster on {name} has another host key for {other}")
        if not 0 <= roster.get("generation", 0) < MOST_GENERATIONS:
            problems.append(f"the roster on {name} is of generation {roster['generation']}")
        if roster.get("cluster", "lab") != "lab":
            problems.append(f"the roster on {name} is of cluster {ascii(roster['cluster'])}")
    return problems


def exit_problems(case, command, run, baselines):
    code = run["code"]
    if code not in DOCUMENTED:
        return [f"exit code {code} is none that is documented"]
    wanted = case.get("wanted", "any")
    honest, absent = (baselines[name]["code"] for name in ("honest", "absent"))
    if wanted == "as-honest" and code != honest:
        return [f"exit code {code} instead of {honest}: a claim about others is a warning"]
    if wanted == "alone" and code not in {absent, 4, 9, *case.get("codes", ())}:
        return [f"exit code {code} instead of {absent}: the node has failed, and nothing else"]
    if wanted == "any" and code not in (*OF_A_NODE, *command.codes, *case.get("codes", ())):
        return [f"exit code {code}: not what one node can bring about"]
    return []


def liar_problems(case, command, document):
    if case.get("wanted") != "alone" or command.schema != "report":
        return []
    liar = [node for node in document.get("nodes", []) if node.get("name") == "liar"]
    if not liar or liar[0].get("status") not in ("failed", "unreachable", "refused"):
        return [f"the liar is {liar[0].get('status') if liar else 'not listed'}, not failed"]
    return []


def judge(case, run, material):
    """`material` holds the baselines, the trees before, the validators and the fingerprints."""
    command = scenes.COMMANDS[case["command"]]
    baselines = material["baselines"][case["command"]]
    problems = []
    out, err = run["out"], run["err"]
    if run["late"]:
        return [f"still running after {run['seconds']:.0f} s, with {run['cpu']:.0f} s of CPU and "
                f"{run['peak'] >> 10} MiB"], run["told"]
    if run["code"] < 0:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
        problems.append(f"ended by signal {-run['code']}: {ascii(last[0])[:160]}")
    elif run["code"] not in DOCUMENTED:
        problems.append(f"exit code {run['code']}")
    if run["peak"] > MOST_KIB:
        problems.append(f"took {run['peak'] >> 10} MiB of memory")
    if run["trap"]:
        sent = sum(entry.get("bytes", 0) for entry in run["trap"])
        problems.append(f"logged in to a machine that the file does not name, and sent {sent} bytes: "
                        f"{ascii(run['trap'][0].get('command'))[:80]}")
    elif run["attempts"]:
        problems.append(f"connected to {len(run['attempts'])} places that the file does not name: "
                        f"{run['attempts'][:2]}")
    problems += control_characters("standard output", out) + control_characters("standard error", err)
    if run["owned"]:
        problems.append("a text of the node was run as a program")
    if run["code"] >= 0:
        problems += exit_problems(case, command, run, baselines)
    if run.get("validation"):
        problems.append(f"the drafted file is not valid: {ascii(run['complaint'].decode('utf-8', 'replace'))[:300]}")
    problems += tree_problems(command, run["trees"], material["before"], [baselines["honest"], baselines["absent"]])
    problems += manifest_problems(run["manifests"], material["fingerprints"])
    if command.schema and run["code"] >= 0:
        wrong = schema_problems(command, out, material["validators"])
        problems += wrong
        if not wrong:
            problems += liar_problems(case, command, json.loads(out))
    if not any("no JSON" in problem for problem in problems) and run["code"] >= 0:
        part = honest_part(command, out.decode("utf-8", "replace"))
        parts = [baselines[name]["part"] for name in ("honest", "absent")]
        if part not in parts and command.name != "init":
            problems.append(f"the honest nodes are reported otherwise: {differing(part, parts[0])}")
    return problems, run["told"]
