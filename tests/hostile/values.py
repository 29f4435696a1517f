"""Values for lies. Each lie is a function from the honest value to JSON text, which may be invalid JSON."""
import json

ESCAPES = "\x1b[2J\x1b]0;owned\x07"
C1 = "\u009b31m\u0090\u009d0;owned\u009c"
BIDI = "\u202etxt.exe\u2066\u2069\u200f\u061c\u2028"
CONTROLS = "a" + ESCAPES + C1 + "\x7f\r\b" + BIDI + "b"
INT_MAX, INT_MIN = 2**63 - 1, -2**63
MANY = 20_000


def text_of(value):
    return json.dumps(value, ensure_ascii=False)


def nested(depth, inner="1"):
    return "[" * depth + inner + "]" * depth


def near(number, step):
    return lambda old: text_of(old + step) if is_number(old) else text_of(number)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_many_as_fit(one):
    """The number of copies that fit into one message. An observation may have 5 MiB."""
    return min(MANY, (4 << 20) // (len(one.encode("utf-8", "surrogateescape")) + 12))


def many_like(old):
    """Up to 20,000 copies of the list's first entry, or of a string if the value is no filled list."""
    one = text_of(old[0] if isinstance(old, list) and old else "x")
    return "[" + ",".join([one] * as_many_as_fit(one)) + "]"


def many_entries(old):
    one = text_of(next(iter(old.values())) if isinstance(old, dict) and old else 1)
    return "{" + ",".join(f'"k{i}":{one}' for i in range(as_many_as_fit(one))) + "}"


def one_more(old):
    if isinstance(old, dict):
        return text_of({**old, CONTROLS: 1})
    return text_of([*old, CONTROLS] if isinstance(old, list) else [old, old])


def said(value):
    """A lie with a fixed value, independent of the honest value."""
    raw = text_of(value)
    return lambda old: raw


# Lies for every field, whatever its type.
ANY = {
    "null": said(None),
    "true": said(True),
    "minus-one": said(-1),
    "zero": said(0),
    "empty-text": said(""),
    "empty-list": said([]),
    "empty-map": said({}),
    "controls": said(CONTROLS),
    "unknown": said({"$unknown": {"reason": CONTROLS, "producer": "h1"}}),
    "int-max": said(INT_MAX),
    "int-min": said(INT_MIN),
    "real": said(1e308),
    "nan": said({"$real": "nan"}),
    "bytes": said({"$base64": "/wD+G1sySsKb"}),
    "strange-marker": said({"$base64": 7}),
    "too-big": lambda old: "99999999999999999999",
    "not-utf8": lambda old: '"\udcff\udc9b"',
    "deep": lambda old: nested(50),
    "too-deep": lambda old: nested(5000),
    "many": many_like,
    "many-entries": many_entries,
    "one-more": one_more,
    "broken": lambda old: "{]",
}
TEXT = {
    "long": lambda old: text_of("A" * (1 << 20)),
    "very-long": lambda old: text_of("A" * (4 << 20)),
    "newline": said("first\nsparkplan: everything is in sync\n\tthird"),
    "nul": said("before\0after"),
    "c1": said(C1),
    "bidi": said(BIDI),
    "upwards": said("../../../../../../etc/passwd"),
    "option": said("-oProxyCommand=touch /run/hostile/owned"),
    "shell": said("$(touch /run/hostile/owned); `touch /run/hostile/owned`"),
    "format": said("%s%n%s%n{}{0}%%"),
    "slash": said("/"),
    "dot": said("."),
    "glob": said("*"),
    "long-name": said("n" * 5000),
}
NUMBER = {
    "less": near(-1, -1),
    "more": near(1, 1),
    "int-32": said(2**31),
    "int-32-min": said(-2**31 - 1),
    "uint-32": said(2**32),
    "half": said(0.5),
    "infinity": said({"$real": "-inf"}),
    "as-text": lambda old: text_of(str(old)),
}
LIST = {
    "first-only": lambda old: text_of(old[:1] if isinstance(old, list) else []),
    "twice": lambda old: text_of(old * 2 if isinstance(old, list) else [1, 1]),
    "list-of-null": said([None]),
    "list-of-controls": said([CONTROLS] * 3),
}
MAP = {
    "controls-as-key": said({CONTROLS: CONTROLS}),
    "empty-key": said({"": ""}),
    "dollar-key": said({"$x": 1, "$$y": 2}),
    "bytes-as-key": said({"$base64:/xs=": 1}),
}
# Lies about the field itself: see place_lie() in node.py.
PLACE = ("missing", "extra", "duplicate", "renamed")
FITTING = {str: TEXT, int: NUMBER, float: NUMBER, list: LIST, dict: MAP}
BY_NAME = {**ANY, **TEXT, **NUMBER, **LIST, **MAP}


def fitting(value):
    """Names of lies of the field's own type, which a decoder accepts."""
    return [*FITTING.get(type(value), {})]
