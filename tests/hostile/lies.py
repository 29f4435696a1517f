"""Every field of everything that an honest node says in a command, each with every value of values.py in its place."""
import hashlib
import itertools

import values

# A map with so many entries, or with ids as keys, is a list of its kind: the first and the last stand for all.
MOST_KEYS = 40
# How many of a command's lies are told without --full.
QUOTAS = {"plan": 250, "plan-text": 80, "drift": 80, "drift-text": 40, "status": 100, "apply": 250, "apply-text": 40,
          "release": 80, "release-other": 60, "history": 80, "rollback": 60, "unlock": 20, "facts": 40, "facts-text": 30,
          "doctor": 60, "verify": 30, "init": 80, "facts-live": 150, "facts-live-text": 60, "doctor-live": 220,
          "doctor-live-text": 60, "plan-live": 160, "verify-live": 160, "verify-live-text": 60, "init-live": 160}


def is_table(value):
    return len(value) > MOST_KEYS or (len(value) > 1 and all("/" in key or "." in key for key in value))


def keys_of(value):
    """What of a container's content is lied about."""
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
    """Names of lies, those that a decoder takes for true in between the others."""
    own = values.fitting(value)
    others = [*values.ANY, *values.PLACE]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(own, others))
    return [name for name in mixed if name is not None]


def number_of(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def shown(path):
    return "/".join(str(key).replace("/", "|") for key in path)


def fields_of(said):
    """[(name of the message, kind, nth, path, lies)] of what was recorded; of equal messages the first only."""
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


def case_of(command, field, lie):
    name, kind, nth, path, _ = field
    return {"name": f"{command}/{name}/{shown(path)}/{lie}", "command": command, "limit": 60, "cost": 1,
            "distinct": f"{kind}/{shown(path)}/{lie}",
            "lie": {"how": "field", "message": kind, "nth": nth, "path": list(path), "value": lie}}


def cases_for(command, baseline, ordinal, full):
    """All of them, or a choice that touches every field and every lie, always the same one."""
    fields = fields_of(baseline["said"])
    if full:
        return [case_of(command.name, field, lie) for field in fields for lie in field[4]]
    wanted = QUOTAS.get(command.name, 0)
    chosen = []
    if wanted == 0:
        return chosen
    # Each round takes another lie of every field; the ordinal keeps commands with the same messages apart.
    rounds = max((len(field[4]) for field in fields), default=0)
    for turn in range(rounds):
        for field in sorted(fields, key=lambda one: number_of(f"{turn}{command.name}{one[0]}{one[3]}")):
            lies = field[4]
            if turn < len(lies):
                lie = lies[(number_of(shown(field[3])) + turn * 7 + ordinal * 3) % len(lies)]
                case = case_of(command.name, field, lie)
                if all(case["name"] != other["name"] for other in chosen[-len(fields):]):
                    chosen.append(case)
            if len(chosen) == wanted:
                return chosen
    return chosen


def field_cases(baselines, commands, full):
    cases = {}
    for ordinal, command in enumerate(commands.values()):
        for case in cases_for(command, baselines[command.name]["honest"], ordinal, full):
            cases.setdefault(case["name"], case)
    return list(cases.values())
