"""Cases with lies about the stream and the protocol: the action of streams.py, the message and the command."""
import streams
import values

# A request may take a minute; on a busy machine the controller needs additional time.
DEADLINE = 60
MARGIN = 40
QUICK = 60
LONG = 10_000_000


class Cases:
    def __init__(self):
        self.cases = []

    def add(self, command, at, does, label="", wanted="alone", waits=False, codes=(), limit=None, heavy=False, **how):
        """`waits`: the case ends only at a deadline, so it uses no processor."""
        name = f"{command}/{at}/{does}" + (f"/{label}" if label else "")
        lie = {"how": "stream", "at": at, "does": does}
        lie.update({key: how.pop(key) for key in ("nth", "install", "without_agent") if key in how})
        lie["with"] = how
        self.cases.append({"name": name, "distinct": name.split("/", 1)[1], "command": command, "lie": lie,
                           "wanted": wanted, "codes": list(codes), "waits": waits, "heavy": heavy,
                           "limit": limit or (DEADLINE + MARGIN if waits or heavy else QUICK)})


def about_noise(cases, command):
    add = cases.add
    add(command, "preamble", "noise", "endless")
    add(command, "preamble", "noise", "little", wanted="as-honest", size=60_000)
    add(command, "preamble", "noise", "a-byte-too-much", size=70_000)
    add(command, "preamble", "noise", "half-preambles", piece="\0\1SPARKPLAN-FRAMES")
    add(command, "preamble", "noise", "nul", piece="\0" * 4096)
    add(command, "preamble", "slow-noise", waits=True)
    add(command, "preamble", "twice", wanted="any", waits=True)
    add(command, "preamble", "pieces", wanted="as-honest")
    add(command, "preamble", "bytes", "wrong", waits=True, text="\0\1SPARKPLAN-FRAMED\n")
    add(command, "preamble", "bytes", "http", text="HTTP/1.1 400 Bad Request\r\n\r\n", then="close")
    add(command, "preamble", "bytes", "ssh-banner", text="SSH-2.0-OpenSSH_9.9\r\n", then="close")
    add(command, "preamble", "bytes", "controls", text="\x1b[2J\x1b]0;x\x07\x9b31m", then="close")
    for at in ("start", "preamble", "hello", "facts"):
        # Small and large writes: one packet each, and as much as a window holds.
        add(command, at, "complain", "endless", wanted="any", waits=True, times=None)
        add(command, at, "complain", "endless-in-large-pieces", wanted="any", waits=True, times=None, size=60_000)
        add(command, at, "complain", "controls", text=values.CONTROLS, times=20, then="leave")
        add(command, at, "complain", "sudo", text="sudo: " + values.CONTROLS + "\n", then="leave")
        add(command, at, "complain", "long-line", text="A" * 1_000_000, then="leave")
        add(command, at, "complain", "not-utf8", text="\udcff\udc9b\udc80" * 50, then="leave")
    add(command, "facts", "complain", "and-goes-on", wanted="as-honest", text=values.CONTROLS, times=20)
    for times in (1, 2, 1000):
        add(command, "start", "complain", f"prompt-{times}", text="SPARKPLAN-PASSWORD:" * times, then="leave")


def about_ends(cases, command, messages):
    add = cases.add
    for at in ("start", "preamble", *messages):
        for status in (0, 1, 2, 126, 127, 255):
            # 127: the node has no agent. Such a node has no history, and release has nothing to restore.
            wanted = "any" if status == 127 and command in ("history", "verify-history", "release") else "alone"
            add(command, at, "close", f"with-{status}", wanted=wanted, status=status)
        add(command, at, "stall", waits=True)
        if at == "start":
            continue
        add(command, at, "say-and-close", wanted="alone" if at != messages[-1] else "any")
        add(command, at, "say-and-stall", wanted="alone" if at != messages[-1] else "any", waits=True)
        for keep in (1, 2, 3, 4, 5, 0.25, 0.5, 0.75, -2, -1):
            add(command, at, "truncate", f"at-{keep}", keep=keep)
        for keep in (2, 4, 0.5, -1):
            add(command, at, "truncate", f"at-{keep}-and-stall", waits=True, keep=keep, then="stall")
    add(command, messages[0], "pieces", wanted="as-honest", size=7)
    add(command, messages[-1], "dribble", wanted="any", waits=True, pause=0.05)


def about_frames(cases, command, at):
    add = cases.add
    for size in (0xffffffff, 0x80000000, 0x7fffffff, (16 << 20) + 1):
        add(command, at, "announce", f"{size:x}", size=size, then="stall")
    add(command, at, "announce", "5-mib-and-stall", waits=True, size=5 << 20)
    add(command, at, "announce", "16-mib-and-stall", waits=True, size=16 << 20)
    add(command, at, "announce", "zero", wanted="alone", size=0, then="close")
    for name in streams.BODIES:
        add(command, at, "body", name, heavy=True, name=name)
    for name in streams.SCALARS:
        add(command, at, "body", name, wanted="any", name=name)
    add(command, at, "bodies", "progress-of-16-mib", wanted="any", heavy=True, name="in-progress", times=12)


def about_protocol(cases, command, messages):
    add = cases.add
    replies = messages[1:]
    for at in replies:
        for how in streams.IDS:
            add(command, at, "number", how, how=how)
        for code in streams.ERROR_CODES:
            label = code if code.isascii() and code.isprintable() else "controls"
            add(command, at, "error", label, codes=(5, 6, 8), code=code)
        add(command, at, "error", "controls-in-words", words=values.CONTROLS)
        add(command, at, "error", "long", long=LONG)
        add(command, at, "error-and-reply", wanted="any")
        add(command, at, "neither")
        add(command, at, "twice", wanted="any")
        add(command, at, "many", "1000", wanted="any", times=1000)
        add(command, at, "again-for-ever", wanted="any", heavy=True)
        # Progress messages are only expected during the steps of an apply; elsewhere they are an error of that node.
        alive = "as-honest" if at == "apply" else "any"
        add(command, at, "progress", "one", wanted=alive, times=1)
        add(command, at, "progress", "controls", wanted=alive, times=3, words=values.CONTROLS)
        add(command, at, "progress", "100000", wanted="any", times=100_000)
        add(command, at, "progress", "long", wanted="any", times=12, words="A" * (1 << 20))
        add(command, at, "progress", "endless", heavy=True, limit=DEADLINE + MARGIN)
        add(command, at, "progress", "slow-and-endless", waits=True, pause=1.0)
        add(command, at, "progress", "other-number", wanted="any", times=3, number=77)
    add(command, "hello", "progress", "before-hello", wanted="any", times=3)
    add(command, "hello", "progress", "endless", heavy=True, limit=DEADLINE + MARGIN)
    add(command, "hello", "twice", wanted="any")
    add(command, "hello", "error")
    add(command, "facts", "reply-before", "hello", wanted="any", first={"hello": {"protocol_major": 1}})
    add(command, "facts", "reply-before", "request", wanted="any", first={"id": 1, "request": "apply", "steps": []})
    add(command, "hello", "reply-before", "reply", wanted="any", first={"id": 1, "reply": {"facts": {}}})


def about_hello(cases, command):
    """The controller then runs the installer. The installer is honest, and the installed agent lies again."""
    def greet(label, wanted="any", **fields):
        cases.add(command, "hello", "greet-with", label, wanted=wanted, fields=fields)
    for major in (0, -1, 2, 99, values.INT_MAX, values.INT_MIN, "1", None, 1.5, [1], "missing"):
        greet(f"major-{major}", protocol_major=major)
    for minor in (-1, 0, 1, 2, 99, values.INT_MAX, values.INT_MIN, "3", None, "missing"):
        greet(f"minor-{minor}", protocol_minor=minor)
    for label, one in (("aarch64", "aarch64"), ("riscv", "riscv64"), ("controls", values.CONTROLS), ("long", "long"),
                       ("number", 7), ("upwards", "../../x86_64"), ("missing", "missing"), ("empty", "")):
        greet(f"architecture-{label}", architecture=one)
    for label, one in (("other", "00" * 20), ("controls", values.CONTROLS), ("long", "long"), ("list", []),
                       ("missing", "missing"), ("empty", "")):
        greet(f"build-{label}", build=one)
    for label, one in (("none", []), ("missing", "missing"), ("numbers", [1, 2]), ("controls", [values.CONTROLS]),
                       ("many", ["sysctl"] * 20_000), ("map", {"sysctl": 1}), ("unknown", ["no_such_type"] * 3)):
        greet(f"types-{label}", types=one)
    everything = {"protocol_major": 2, "protocol_minor": 99, "build": "x", "architecture": values.CONTROLS, "types": []}
    greet("all-of-it", wanted="alone", **everything)


INSTALLERS = (
    ("silence", {}, True), ("greet", {"then": "stall"}, True), ("greet", {"architecture": "riscv64"}, False),
    ("greet", {"architecture": values.CONTROLS}, False), ("greet", {"architecture": "A" * 50_000}, False),
    ("greet", {"architecture": ""}, False), ("greet", {"architecture": "x86_64 aarch64"}, False),
    ("greet", {"architecture": "../x86_64"}, False), ("greet", {"then": "drain"}, True),
    ("greet", {"then": "exit"}, False),
    ("noise", {}, False), ("noise", {"size": 60_000}, False), ("noise", {"size": 70_000}, False),
    ("noise", {"size": 65_000, "piece": "\x1b[2J\u009b31m"}, False),
    ("at-once", {}, False), ("unread", {}, False), ("complain", {}, False), ("complain", {"size": None}, True),
    ("complain", {"size": 1_000_000}, False), ("complain", {"text": "sudo: " + values.CONTROLS}, False),
    ("complain", {"text": "gzip: " + "A" * 100_000}, False), ("prompt", {"times": 1}, True),
    ("prompt", {"times": 2}, True),
    ("prompt", {"times": 1000}, True), ("prompt-for-ever", {}, True), ("dribble", {}, True),
    ("exit", {"status": 0}, False), ("exit", {"status": 1}, False), ("exit", {"status": 65}, False),
    ("exit", {"status": 66}, False), ("exit", {"status": 126}, False), ("exit", {"status": 255}, False),
    ("honest", {}, False),
)


def about_installer(cases, command, full):
    """The node reports that it has no agent, and then sends wrong replies as the installer."""
    for number, (does, how, waits) in enumerate(INSTALLERS, 1):
        # An installation has a deadline of two minutes, so a short run includes only one case that uses all of it.
        if waits and not full and does != "silence":
            continue
        cases.add(command, "install", does, str(number), waits=waits, without_agent=True,
                  limit=2 * DEADLINE + MARGIN if waits else None,
                  install={"does": does, "with": how})


def stream_cases(full):
    cases = Cases()
    about_noise(cases, "plan")
    about_ends(cases, "plan", ("hello", "facts", "observe"))
    about_frames(cases, "plan", "hello")
    about_frames(cases, "plan", "facts")
    about_protocol(cases, "plan", ("hello", "facts", "observe"))
    about_hello(cases, "plan")
    about_hello(cases, "apply")
    about_installer(cases, "plan", full)
    cases.add("rollback", "undo", "largest-steps", wanted="any", heavy=True)
    cases.add("apply", "facts", "many-values", wanted="any", heavy=True)
    for command, messages in (("apply", ("hello", "facts", "lock", "apply", "commit", "unlock")),
                              ("history", ("hello", "facts", "history")),
                              ("verify-history", ("hello", "facts", "measurement_history")),
                              ("release", ("hello", "facts", "lock"))):
        shorter = Cases()
        about_ends(shorter, command, messages)
        about_protocol(shorter, command, messages)
        # Cases that wait for a deadline take five times as long in an apply.
        kept = [case for case in shorter.cases if full or not (case["waits"] or case["heavy"])]
        cases.cases += kept if full else kept[::3]
    if full:
        for command in ("drift", "status", "facts", "doctor", "verify", "init"):
            about_noise(cases, command)
            about_ends(cases, command, ("hello", "facts"))
            about_frames(cases, command, "facts")
            about_hello(cases, command)
    return cases.cases
