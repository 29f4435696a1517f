"""The speaker of node.py for lies about the stream and the protocol instead of a field.

In a lie, `at` names the agent's message that is struck (preamble, hello, or the kind of the answered request). `does`
names the action. All messages before it are honest.
"""
import base64
import os
import time

import values
from node import FOREVER, MOST_BYTES, PREAMBLE, Honest, append, body_of, frame_of, write_all

NOISE = b"Welcome to hostile.\x1b[31m\x9b\n"
GREETING, PUT, DONE = b"SPARKPLAN-ARCHITECTURE ", b"SPARKPLAN-PUT", b"SPARKPLAN-INSTALLED\n"
PROMPT = b"SPARKPLAN-PASSWORD:"


def stall():
    time.sleep(FOREVER)


def endlessly(data, output=1, pause=0.0):
    while True:
        write_all(data, output)
        if pause:
            time.sleep(pause)


def leave(status):
    os._exit(status)


def filled(piece, opening=b"", closing=b"", size=MOST_BYTES):
    """A body of nearly `size` bytes that repeats `piece`."""
    count = (size - len(opening) - len(closing)) // len(piece)
    return opening + piece * count + closing


# Bodies that are small on the wire and large in memory.
BODIES = {
    "empty-lists": lambda: filled(b"[],", b"[", b"[]]"),
    "empty-maps": lambda: filled(b"{},", b"[", b"{}]"),
    "numbers": lambda: filled(b"1,", b"[", b"1]"),
    "nulls": lambda: filled(b"null,", b"[", b"null]"),
    "texts": lambda: filled(b'"",', b"[", b'""]'),
    "open-lists": lambda: filled(b"["),
    "open-maps": lambda: filled(b'{"a":'),
    "lists-in-lists": lambda: filled(b"[[[[[]]]]],", b"[", b"[]]"),
    "maps-in-maps": lambda: filled(b'{"a":{"b":{}}},', b"[", b"{}]"),
    "blanks": lambda: filled(b" "),
    "escapes": lambda: filled(b"\\u0000", b'"', b'"'),
    "zeros": lambda: filled(b"\0"),
    "digits": lambda: filled(b"9"),
    "keys": lambda: (b"{" + b",".join(b'"%d":0' % i for i in range(1_400_000)) + b"}")[:MOST_BYTES],
    "same-keys": lambda: filled(b'"a":0,', b"{", b'"a":0}'),
    "unknowns": lambda: filled(b'{"$unknown":{}},', b"[", b"0]"),
    "base64": lambda: filled(b"AAAA", b'{"$base64":"', b'"}'),
    "invalid-utf8": lambda: filled(b"\xff", b'"', b'"'),
    "in-a-reply": lambda: filled(b"[],", b'{"id":1,"reply":{"facts":{},"exports":{"x":[', b"[]]}}}"),
    "in-facts": lambda: filled(b"{},", b'{"id":1,"reply":{"facts":{"links":[', b"{}]}}}"),
    "in-progress": lambda: filled(b"A", b'{"id":1,"progress":"', b'"}'),
    "in-an-error": lambda: filled(b"A", b'{"id":1,"error":{"code":"failed","message":"', b'"}}'),
    "in-a-hint": lambda: filled(b"\\u001b", b'{"id":1,"error":{"code":"failed","message":"m","hint":"', b'"}}'),
    "in-context": lambda: filled(b'"c",', b'{"id":1,"error":{"code":"failed","message":"m","context":[', b'"c"]}}'),
}
SCALARS = {"nothing": b"", "a-null": b"null", "a-number": b"1", "a-text": b'"x"', "a-list": b"[]", "a-map": b"{}",
           "two-values": b"{}{}", "no-json": b"hello", "a-comma": b",", "a-nul": b"\0", "bom": b"\xef\xbb\xbf{}",
           "utf-16": "{}".encode("utf-16"), "comment": b"/**/{}", "nan": b"NaN", "half": b'{"id":1,"reply":{',
           "true": b"true", "list-of-replies": b'[{"id":1,"reply":{}}]', "null-reply": b'{"id":1,"reply":null}',
           "text-reply": b'{"id":1,"reply":"in sync"}', "list-reply": b'{"id":1,"reply":[]}',
           "empty-reply": b'{"id":1,"reply":{}}', "null-error": b'{"id":1,"error":null}',
           "empty-error": b'{"id":1,"error":{}}', "text-error": b'{"id":1,"error":"no"}',
           "a-request": b'{"id":1,"request":"facts","exports":{}}', "stop": b'{"id":0,"request":"stop"}',
           "hello-again": b'{"hello":{"protocol_major":1}}', "only-id": b'{"id":1}'}
ERROR_CODES = ("invalid_input", "not_found", "permission_denied", "unreachable", "untrusted", "busy", "stale_plan",
               "verify_failed", "refused", "unsupported", "interrupted", "failed", "bug", "no such code",
               values.CONTROLS)
IDS = {"other": 7777, "zero": 0, "minus": -1, "max": values.INT_MAX, "min": values.INT_MIN, "text": "1", "real": 1.5,
       "null": None, "list": [1], "next": "+1", "last": "-1", "missing": "missing"}


def numbered(message, how):
    wrong = dict(message)
    if how == "missing":
        wrong.pop("id", None)
    else:
        wrong["id"] = {"+1": message.get("id", 0) + 1, "-1": message.get("id", 0) - 1}.get(how, how) \
            if isinstance(how, str) else how
    return wrong


def error_reply(message, code, words="no"):
    return {"id": message.get("id", 1), "error": {"code": code, "message": words, "hint": words, "context": [words]}}


class StreamLiar(Honest):
    def may_speak(self):
        append("told", {})
        self.status = 0
        if self.at("start"):
            self.strike(b"", None)
            return self.status
        if self.lie.get("without_agent"):
            return 127
        return True

    def at(self, place):
        return self.lie["at"] == place

    def greet(self):
        if self.at("preamble"):
            self.strike(PREAMBLE, None)
        else:
            super().greet()

    def say(self, kind, message):
        nth = self.seen[kind] = self.seen.get(kind, 0) + 1
        if self.at(kind) and self.lie.get("nth", 1) == nth:
            self.strike(frame_of(body_of(message)), message)
        else:
            super().say(kind, message)

    def strike(self, data, message):
        """`data` is the message that an honest agent would send now."""
        getattr(self, "do_" + self.lie["does"].replace("-", "_"))(data, message, **self.lie.get("with", {}))

    # The stream.
    def do_close(self, data, message, status=0):
        leave(status)

    def do_say_and_close(self, data, message, status=0):
        write_all(data)
        leave(status)

    def do_stall(self, data, message):
        stall()

    def do_say_and_stall(self, data, message):
        write_all(data)
        stall()

    def do_truncate(self, data, message, keep=0.5, then="close"):
        size = int(keep if keep >= 1 else len(data) * keep) if keep >= 0 else len(data) + int(keep)
        write_all(data[:size])
        stall() if then == "stall" else leave(0)

    def do_dribble(self, data, message, pause=0.02):
        for byte in data:
            write_all(bytes([byte]))
            time.sleep(pause)

    def do_pieces(self, data, message, size=1):
        for begin in range(0, len(data), size):
            write_all(data[begin:begin + size])

    def do_noise(self, data, message, size=None, piece=None):
        piece = piece.encode("latin-1") if piece else NOISE
        if size is None:
            endlessly(piece)
        write_all((piece * (size // len(piece) + 1))[:size])
        write_all(data)

    def do_slow_noise(self, data, message, pause=0.5):
        endlessly(b".", 1, pause)

    def do_complain(self, data, message, size=None, text=None, times=1, then="say", status=1):
        text = text.encode("utf-8", "surrogateescape") * (times or 1) if text else NOISE
        if times is None:
            endlessly(text * max(1, (size or 1) // len(text)), 2)
        write_all((text * (size // len(text) + 1))[:size] if size else text, 2)
        if then == "say":
            write_all(data)
        else:
            leave(status)

    def do_bytes(self, data, message, text, then="stall"):
        write_all(text.encode("latin-1"))
        if then == "say":
            write_all(data)
        elif then == "close":
            leave(0)
        else:
            stall()

    def do_twice(self, data, message):
        write_all(data + data)

    def do_many(self, data, message, times):
        for _ in range(times):
            write_all(data)

    def do_again_for_ever(self, data, message, pause=0.0):
        endlessly(data, 1, pause)

    def do_reply_for_ever(self, data, message, first, pause=0.5):
        endlessly(frame_of(body_of(first)), 1, pause)

    def do_output(self, data, message, times):
        """Sends as much output of rank 0 as one message holds, many times."""
        piece = base64.b64encode(NOISE * (36_000 // len(NOISE))).decode()
        frame = frame_of(body_of({"answer": "output", "rank": 0, "error": False, "bytes": piece}))
        for _ in range(times):
            write_all(frame)
        write_all(data)

    # Frames.
    def do_announce(self, data, message, size, then="stall"):
        write_all(size.to_bytes(4, "big") + data[4:])
        stall() if then == "stall" else leave(0)

    def do_body(self, data, message, name):
        write_all(frame_of(BODIES[name]() if name in BODIES else SCALARS[name]))
        # Keeps the connection open for a moment: a controller that accepts the lie as a reply continues.
        time.sleep(0.2)
        leave(0)

    def do_bodies(self, data, message, name, times):
        frame = frame_of(BODIES[name]())
        for _ in range(times):
            write_all(frame)
        write_all(data)

    # Replies that are accepted, and as large as their kind may be.
    def do_largest_steps(self, data, message):
        """Steps of a rollback, each with a text of 1 MB."""
        states = {"before": {"state": "absent"},
                  "after": {"state": "present", "value": {"content": "x" * 1_000_000, "mode": "0644"}}}
        steps = [{"type": "file", "artifact": f"file:/etc/large{i}", "phase": "files", "resources":
                  [f"file//etc/large{i}"], **states} for i in range(16)]
        write_all(frame_of(body_of({**message, "reply": {**message["reply"], "steps": steps}})))

    def do_many_values(self, data, message):
        """A manifest of small values, in resources of a type that the controller does not know."""
        manifest = message["reply"]["manifest"]
        more = {f"later_type/{i}": {"last_applied": [""] * 9_000, "artifacts": []} for i in range(10)}
        manifest = {**manifest, "resources": {**manifest["resources"], **more}}
        write_all(frame_of(body_of({**message, "reply": {**message["reply"], "manifest": manifest}})))

    # The protocol.
    def do_number(self, data, message, how):
        write_all(frame_of(body_of(numbered(message, IDS[how]))))

    def do_error(self, data, message, code="failed", words="no", long=0):
        write_all(frame_of(body_of(error_reply(message, code, words + "A" * long))))

    def do_error_and_reply(self, data, message):
        write_all(frame_of(body_of({**message, **error_reply(message, "failed")})))

    def do_neither(self, data, message):
        write_all(frame_of(body_of({"id": message.get("id", 1)})))

    def do_progress(self, data, message, times=None, words="working", pause=0.0, number=None, then="say"):
        progress = {"id": message.get("id", 1) if number is None else number, "progress": words}
        frame = frame_of(body_of(progress))
        if times is None:
            endlessly(frame, 1, pause)
        for _ in range(times):
            write_all(frame)
        write_all(data)

    def do_greet_with(self, data, message, fields):
        hello = dict(message["hello"])
        for key, value in fields.items():
            if value == "missing":
                hello.pop(key, None)
            else:
                hello[key] = values.CONTROLS * 1000 if value == "long" else value
        write_all(frame_of(body_of({"hello": hello})))

    def do_reply_before(self, data, message, first):
        """Sends an unrequested message before the requested one."""
        write_all(frame_of(body_of(first)))
        write_all(data)

    # The installer. The controller starts it when the agent is missing or has another build.
    def be_installed(self):
        append("told", {})
        install = self.lie.get("install", {"does": "honest"})
        return getattr(self, "install_" + install["does"].replace("-", "_"))(**install.get("with", {})) or 0

    def install_honest(self):
        write_all(GREETING + os.uname().machine.encode() + b"\n")
        while data := os.read(0, 65536):
            append("pushed", {"bytes": len(data)})
        write_all(DONE)

    def install_silence(self):
        stall()

    def install_greet(self, architecture="x86_64", then="stall"):
        write_all(GREETING + architecture.encode("utf-8", "surrogateescape") + b"\n")
        if then == "stall":
            stall()
        if then == "drain":
            while os.read(0, 65536):
                pass
            stall()
        return 65

    def install_noise(self, size=None, piece="noise\x1b[2J\n"):
        if size is None:
            endlessly(piece.encode())
        write_all(piece.encode() * (size // len(piece)))
        return 1

    def install_at_once(self):
        write_all(DONE)

    def install_unread(self):
        write_all(GREETING + b"x86_64\n" + DONE)

    def install_complain(self, text=None, size=0, status=1):
        text = (text or values.CONTROLS).encode("utf-8", "surrogateescape")
        if size is None:
            endlessly(text, 2)
        write_all(text * max(1, size // len(text)), 2)
        return status

    def install_prompt(self, times=3):
        for _ in range(times):
            write_all(PROMPT, 2)
            time.sleep(0.05)
        stall()

    def install_prompt_for_ever(self):
        endlessly(PROMPT, 2, 0.01)

    def install_dribble(self):
        for byte in GREETING + b"x" * 60_000:
            write_all(bytes([byte]))
            time.sleep(0.1)

    def install_exit(self, status=1):
        return status
