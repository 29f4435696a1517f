"""The program that sshd starts in place of a login shell, for every node reached over SSH.

usage: node.py NAME          (SSH_ORIGINAL_COMMAND as sshd sets it)

A node relays to an agent on its tree. The node that lie.json names as the liar sends that file's lie instead. The trap
is a machine that the cluster does not name; it records every visitor.
"""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import values  # noqa: E402

WORLD = "/run/hostile"
PREAMBLE = b"\0\1SPARKPLAN-FRAMES\n"
MARK = "@@LIE@@"
MOST_BYTES = 16 << 20
FOREVER = 3600


class Gone(Exception):
    """Raised when the controller has closed the connection."""


def write_all(data, output=1):
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(output, view):]
        except OSError as problem:
            raise Gone from problem


def frame_of(body):
    return len(body).to_bytes(4, "big") + body


def body_of(message):
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def read_json(name):
    with open(f"{WORLD}/{name}", encoding="utf-8") as file:
        return json.load(file)


def append(name, entry):
    with open(f"{WORLD}/{name}", "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


class Frames:
    """The frames of a stream; bytes before the preamble are skipped."""

    def __init__(self, source):
        self.source, self.buffer, self.begun = source, b"", False

    def next(self):
        """The next message; None at the end."""
        while True:
            if not self.begun and PREAMBLE in self.buffer:
                self.buffer = self.buffer[self.buffer.index(PREAMBLE) + len(PREAMBLE):]
                self.begun = True
            if self.begun and len(self.buffer) >= 4:
                size = 4 + int.from_bytes(self.buffer[:4], "big")
                if len(self.buffer) >= size:
                    body, self.buffer = self.buffer[4:size], self.buffer[size:]
                    return json.loads(body)
            data = os.read(self.source, 65536)
            if not data:
                return None
            self.buffer += data


class Agent:
    """The real agent, on the node's tree."""

    def __init__(self, program, tree):
        read_end, self.input = os.pipe()
        output, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(read_end, 0)
            os.dup2(write_end, 1)
            os.closerange(3, 64)
            os.execv(program, [program, "--stdio", "--root", tree])
        os.close(read_end)
        os.close(write_end)
        write_all(PREAMBLE, self.input)
        self.frames = Frames(output)

    def hello(self):
        return self.frames.next()

    def ask(self, request):
        """Returns all messages up to the reply, including progress."""
        write_all(frame_of(body_of(request)), self.input)
        answers = []
        while True:
            answer = self.frames.next()
            if answer is None:
                return answers
            answers.append(answer)
            if "progress" not in answer:
                return answers

    def end(self):
        os.close(self.input)
        os.waitpid(self.pid, 0)


def parent_of(message, path):
    for key in path[:-1]:
        message = message[key]
    return message


def place_lie(message, path, name, raw):
    """`message` as text, with a lie in place of the field at `path` (never empty)."""
    parent, key = parent_of(message, path), path[-1]
    old = parent[key]
    if name == "missing":
        del parent[key]
        return json.dumps(message, ensure_ascii=False)
    if name == "renamed" and isinstance(parent, dict):
        parent[values.CONTROLS] = parent.pop(key)
        return json.dumps(message, ensure_ascii=False)
    if name == "extra" and isinstance(parent, dict):
        parent[key + "_"] = values.CONTROLS
        return json.dumps(message, ensure_ascii=False)
    parent[key] = MARK
    text = json.dumps(message, ensure_ascii=False)
    if name == "duplicate" and isinstance(parent, dict):
        one = json.dumps(old, ensure_ascii=False)
        raw = f"{one},{json.dumps(key)}:{one}"
    elif raw is None:
        raw = values.BY_NAME[name](old)
    return text.replace(f'"{MARK}"', raw, 1)


def edited(message, edits):
    """`message` with each [PATH, VALUE] of `edits` applied; missing containers are created."""
    for path, value in edits:
        at = message
        for key, following in zip(path, path[1:]):
            if isinstance(at, dict):
                at = at.setdefault(key, [] if isinstance(following, int) else {})
            else:
                at = at[key]
        if isinstance(at, list) and path[-1] == len(at):
            at.append(value)
        else:
            at[path[-1]] = value
    return message


class Honest:
    """Sends each message unchanged, as the agent would."""

    def __init__(self, lie):
        self.lie = lie
        self.seen = {}

    def may_speak(self):
        return True

    def greet(self):
        write_all(PREAMBLE)

    def say(self, kind, message):
        write_all(frame_of(body_of(message)))


class Recorder(Honest):
    """Records the messages; the lies are made from the record."""

    def say(self, kind, message):
        append("record.jsonl", {"kind": kind, "message": message})
        super().say(kind, message)


class FieldLiar(Honest):
    """Replaces one field in the n-th message of a kind, or in all messages of the kind."""

    def say(self, kind, message):
        nth = self.seen[kind] = self.seen.get(kind, 0) + 1
        if kind == self.lie["message"] and self.lie.get("nth", nth) == nth:
            append("told", {})
            message = edited(message, self.lie.get("edits", []))
            if "path" not in self.lie:
                return super().say(kind, message)
            text = place_lie(message, self.lie["path"], self.lie["value"], self.lie.get("raw"))
            return super().say(kind, text.encode("utf-8", "surrogateescape"))
        return super().say(kind, message)


def liar_for(lie):
    how = lie.get("how", "honest")
    if how == "stream":
        import streams
        return streams.StreamLiar(lie)
    return {"record": Recorder, "field": FieldLiar}.get(how, Honest)(lie)


def speak(name, speaker, stage):
    """Serves one agent connection until it ends."""
    agent = Agent(f"{WORLD}/agent", f"{WORLD}/trees/{name}")
    speaker.greet()
    speaker.say("hello", stage.answer("hello", None, agent.hello()))
    requests = Frames(0)
    while (request := requests.next()) is not None:
        kind = request.get("request", "?")
        if kind == "stop":
            continue
        if speaker.lie.get("how"):
            # Otherwise the order of the nodes would decide whether the message contains the roster that a lie replaces.
            request.pop("known_rosters", None)
        made_up = stage.reply(request)
        answers = [made_up] if made_up is not None else agent.ask(request)
        for answer in answers:
            if "progress" in answer:
                speaker.say("progress", answer)
            else:
                answer = stage.answer(kind, request, answer)
                speaker.say(kind, answer)
        if not answers:
            return
    agent.end()


def note_visit(command):
    """Records the command and the bytes that a controller sends to the trap; no controller may contact it."""
    sent = b""
    append("trap", {"command": command})
    end = time.monotonic() + 2
    os.set_blocking(0, False)
    while time.monotonic() < end and len(sent) < MOST_BYTES:
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        if not data:
            break
        sent += data
    append("trap", {"bytes": len(sent)})


def main(name):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    command = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if name == "trap":
        note_visit(command)
        return 127
    lie = read_json("lie.json")
    if name != lie.get("liar", "liar"):
        lie = {"scene": lie.get("scene")}
    if lie.get("how") == "absent":
        return 255
    import stage
    speaker = liar_for(lie)
    try:
        if "agent --stdio" in command:
            status = speaker.may_speak()
            if status is not True:
                return status
            speak(name, speaker, stage.Stage(lie.get("scene"), name))
            return 0
        if "/bin/sh -c 'name=" in command and hasattr(speaker, "be_installed"):
            return speaker.be_installed()
        if "sparkplan-nccl --stdio" in command:
            return stage.be_rank(speaker, Frames(0))
        if "sparkplan-copy --stdio" in command:
            return stage.be_copier(name, speaker, Frames(0))
        if "sparkplan-job --stdio" in command:
            import starter
            return starter.be_starter(speaker, Frames(0))
        return 127
    except Gone:
        return 1


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))
