"""Every field of every message that an honest node sends in a command, replaced by each value of values.py."""
import hashlib
import itertools
import math

import scenes
import values

# A map with more entries, or with ids as keys, is a table of similar entries: only the first and the last are tried.
MOST_KEYS = 40
# Number of lies per command without --full.
QUOTAS = {"plan": 150, "plan-text": 50, "plan-saved": 40, "drift": 50, "drift-text": 30, "status": 60,
          "status-json": 40, "apply": 160, "apply-text": 30, "release": 50, "release-other": 30, "history": 50,
          "rollback": 50, "unlock": 15, "facts": 20, "facts-text": 20, "doctor": 20, "verify": 15, "init": 50,
          "facts-live": 80, "facts-live-text": 40, "doctor-live": 120, "doctor-live-text": 30, "plan-live": 100,
          "verify-live": 180, "verify-live-text": 50, "init-live": 100, "verify-history": 90, "verify-history-text": 30,
          "sync": 120, "sync-text": 30, "sync-from-liar": 120, "sync-prune": 40, "exec": 60, "exec-text": 30, "run": 60,
          "run-image": 40, "run-watch": 60, "verify-gpu": 40, "verify-nccl": 60, "verify-nccl-text": 20, "tune": 50,
          "tune-text": 20}
# Tried for every number of a program that sparkplan starts on a node.
NUMBERS = ("nan", "infinity", "real", "minus-one", "int-max", "int-min")


def is_table(value):
    return len(value) > MOST_KEYS or (len(value) > 1 and all("/" in key or "." in key for key in value))


def keys_of(value):
    """The keys of a container whose values are replaced by lies."""
    if isinstance(value, list):
        return sorted({0, len(value) - 1}) if value else []
    if isinstance(value, dict):
        names = list(value)
        return [names[0], names[-1]] if names and is_table(value) else names
    return []


def paths_in(value, path=()):
    for key in keys_of(value):
        yield (*path, key), value[key]
        yield from paths_in(value[key], (*path, key))


def lies_about(value):
    """Names of lies; lies of the field's own type alternate with the others."""
    own = values.fitting(value)
    others = [*values.ANY, *values.PLACE]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(own, others))
    return [name for name in mixed if name is not None]


def number_of(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def shown(path):
    return "/".join(str(key).replace("/", "|") for key in path)


def fields_of(said):
    """Returns [(name of the message, kind, nth, path, lies)] for the recorded messages; equal messages count once."""
    fields, counts, seen = [], {}, set()
    for entry in said:
        kind = entry["kind"]
        nth = counts[kind] = counts.get(kind, 0) + 1
        message = entry["message"]
        shape = [path for path, _ in paths_in(message)]
        if (kind, str(shape)) in seen:
            continue
        seen.add((kind, str(shape)))
        name = kind if nth == 1 else f"{kind}-{nth}"
        fields += [(name, kind, nth, path, lies_about(value)) for path, value in paths_in(message)]
    return fields


def is_of_number(field):
    return "infinity" in field[4]


def case_of(command, field, lie):
    name, kind, nth, path, _ = field
    return {"name": f"{command}/{name}/{shown(path)}/{lie}", "command": command, "limit": 60, "cost": 1,
            "distinct": f"{kind}/{shown(path)}/{lie}", "waits": scenes.COMMANDS[command].sleeps,
            "lie": {"how": "field", "message": kind, "nth": nth, "path": list(path), "value": lie}}


def told_of(fields, command, ordinal):
    """Endless sequence of lies about one message's fields: each round takes another lie for every field."""
    for turn in itertools.count():
        for field in sorted(fields, key=lambda one: number_of(f"{turn}{command.name}{one[0]}{one[3]}")):
            # With the ordinal, commands with the same messages use different lies.
            lies = field[4]
            yield case_of(command.name, field, lies[(number_of(shown(field[3])) + turn * 7 + ordinal * 3) % len(lies)])


def cases_for(command, baseline, ordinal, full):
    """All cases, or a fixed selection that includes every message and every kind of lie."""
    fields = [field for field in fields_of(baseline["said"]) if field[1].startswith(command.about or "")]
    if full:
        return [case_of(command.name, field, lie) for field in fields for lie in field[4]]
    messages = {}
    for field in fields:
        messages.setdefault(field[0], []).append(field)
    # A larger message has more cases, but not in proportion to its size.
    shares = [(math.sqrt(len(group)), told_of(group, command, ordinal)) for group in messages.values()]
    turns = [0] * len(shares)
    chosen = {}
    most = sum(len(field[4]) for field in fields) // 2
    while len(chosen) < min(QUOTAS.get(command.name, 0), most):
        at = min(range(len(shares)), key=lambda i: (turns[i] + 1) / shares[i][0])
        turns[at] += 1
        case = next(shares[at][1])
        chosen.setdefault(case["name"], case)
    for field in fields if command.about and command.schema else ():
        if is_of_number(field):
            cases = [case_of(command.name, field, lie) for lie in NUMBERS]
            chosen.update((case["name"], case) for case in cases)
    return list(chosen.values())


def field_cases(baselines, commands, full):
    cases = {}
    for ordinal, command in enumerate(commands.values()):
        for case in cases_for(command, baselines[command.name]["honest"], ordinal, full):
            cases.setdefault(case["name"], case)
    return list(cases.values())
