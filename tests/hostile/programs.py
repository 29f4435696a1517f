"""Cases with lies of the programs that sparkplan starts on a node: sparkplan-job (`exec`, `run`) and sparkplan-nccl
(`verify`, `tune`). Their fields are in lies.py; here are their streams, their output and claims with a meaning."""
import base64

import meaning
import scripted
import streams
import values

# The longest wait of the controller for a program is two minutes, beside the time of the machine.
PATIENT = 2 * scripted.DEADLINE + scripted.MARGIN
# Messages of each command's program. A node that fails in `verify` or `tune` can also be a failed check.
MESSAGES = (("exec", ("job-hello", "job-started", "job-output", "job-ended", "job-finished"), "alone"),
            ("run", ("preflight-started", "preflight-output", "preflight-finished", "job-started"), "alone"),
            ("run-watch", ("job-seen", "watch-output", "watch-finished"), "any"),
            ("verify-gpu", ("rank-hello", "rank-measure_gpus"), "any"),
            ("verify-nccl", ("rank-prepare", "rank-join", "rank-run"), "any"),
            ("tune", ("rank-measure_gpus", "rank-prepare", "rank-run"), "any"))
# Where a program is silent without --full: each waits up to two minutes.
SILENT = (("exec", "job-hello"), ("exec", "job-ended"), ("run", "preflight-output"), ("run-watch", "job-seen"),
          ("verify-gpu", "rank-measure_gpus"), ("verify-nccl", "rank-prepare"))
BODIES = ("empty-maps", "numbers", "open-lists", "same-keys", "in-progress")
SCALARS = ("nothing", "a-null", "a-list", "a-map", "no-json", "a-nul", "nan", "half", "stop", "hello-again")
# The largest message of such a program has 256 KiB.
SIZES = {"ffffffff": 0xffffffff, "7fffffff": 0x7fffffff, "256-kib-and-one": (256 << 10) + 1}
JOB_ANSWERS = {
    "no-such-answer": {"answer": "no such answer"}, "without-a-name": {"rank": 0}, "of-a-rank": {"answer": "joined"},
    "alive": {"answer": "alive"}, "seen-unasked": {"answer": "seen", "ranks": []},
    "started-elsewhere": {"answer": "started", "rank": 1, "pid": 1},
    "output-elsewhere": {"answer": "output", "rank": 1, "error": False, "bytes": "eA=="},
    "ended-elsewhere": {"answer": "ended", "rank": 1, "ending": "exited", "exit_code": 1},
    "finished": {"answer": "finished", "left": [], "containers_left": []},
    "left": {"answer": "finished", "left": [*range(1, 257)], "containers_left": [values.CONTROLS * 40] * 256},
    "not-started": {"answer": "ended", "rank": 0, "ending": "not_started", "errno": 4095,
                    "failed_step": values.CONTROLS},
    "ended-in-no-way": {"answer": "ended", "rank": 0, "ending": "exited"},
    "ended-in-both-ways": {"answer": "ended", "rank": 0, "ending": "stopped", "exit_code": 0, "signal": 64},
}
OUTPUTS = {
    "controls": values.CONTROLS.encode() * 20 + b"\n",
    "raw-c1": b"\x9b31m\x90\x9d0;owned\x9c\n" * 50,
    "not-utf8": b"\xff\xfe\xc3\n\xf0\x9f\x98" * 50,
    "half-a-character": b"a" * 8191 + "\u202e".encode() * 100,
    "carriage-returns": b"\r" * 30_000,
    "empty-lines": b"\n" * 30_000,
    "nul": b"\0" * 30_000,
    "line-of-another-node": b"\nactor: all is well\r\x1b[1Aactor: owned\n",
    "one-long-line": b"A" * 36_000,
    "prompt": b"SPARKPLAN-PASSWORD:" * 100,
    "formats": b"%s%n{}{0}%%\n" * 100,
    "many-gpus": b"GPU 0: NVIDIA GB10\n" * 1_800,
    "gpus-65": b"GPU 0: NVIDIA GB10\n" * 65,
    "processes": f"1, {values.CONTROLS}\n".encode() * 300,
    "faults": f"Errors\n======\n{values.CONTROLS}\n  {values.CONTROLS}\n".encode() * 100,
    "image-id-upwards": b"sha256:../../../etc/passwd\n",
    "port-in-use": b"   0: 0100007F:733C 00000000:0000 0A 0\n" * 500,
}
WITH_OUTPUT = (("exec", "job-output"), ("exec-text", "job-output"), ("run-watch", "job-output"),
               ("run", "preflight-output"), ("run-image", "preflight-output"), ("run-watch", "watch-output"))


def is_slow(command):
    """`run --watch` waits for silence, so its runs use no processor."""
    return command == "run-watch"


def about_streams(cases, command, messages, wanted):
    for at in messages:
        def add(does, label="", at=at, wanted=wanted, **how):
            how.setdefault("waits", is_slow(command))
            cases.add(command, at, does, label, wanted=wanted, **how)
        # At the last message of a job, all is done.
        end = "any" if at.endswith("-finished") else wanted
        for status in (0, 1, 127, 255):
            # 127: the program is missing, and sparkplan installs it.
            add("close", f"with-{status}", status=status)
        add("say-and-close", wanted="any")
        for keep in (3, 0.5, -1):
            add("truncate", f"at-{keep}", keep=keep)
        for label, size in SIZES.items():
            add("announce", label, size=size)
        add("twice", wanted="any")
        add("many", "1000", wanted="any", times=1000)
        add("complain", "controls", wanted="any", text=values.CONTROLS, times=20, then="leave")
        add("complain", "and-goes-on", wanted="any", text=values.CONTROLS, times=20)
        add("body", "empty-maps", wanted=end, name="empty-maps")
    for name in BODIES[1:]:
        cases.add(command, messages[-1], "body", name, wanted="any", waits=is_slow(command), name=name)
    for name in SCALARS:
        cases.add(command, messages[1], "body", name, wanted="any", waits=is_slow(command), name=name)
    for code in streams.ERROR_CODES:
        first = {"answer": "failure", "fault": "nccl", "error": {"code": code, "message": values.CONTROLS,
                                                                 "hint": values.CONTROLS, "context": [code]}}
        label = code if code.isascii() and code.isprintable() else "controls"
        cases.add(command, messages[-1], "reply-before", f"failure-{label}", wanted="any", waits=is_slow(command),
                  first=first)
    # Slowly, so that they use no processor: the lie is that there is no end.
    for at in messages:
        cases.add(command, at, "again-for-ever", "slowly", wanted="any", waits=True, limit=PATIENT, pause=0.01)
    cases.add(command, messages[-1], "complain", "endless", wanted="any", waits=True, times=None, size=60_000)


def about_answers(cases):
    for label, first in JOB_ANSWERS.items():
        for command, at in (("exec", "job-started"), ("exec", "job-finished"), ("exec-text", "job-ended"),
                            ("run", "preflight-ended"), ("run", "job-ended")):
            cases.add(command, at, "reply-before", label, wanted="any", first=first)
    cases.add("exec", "job-ended", "reply-for-ever", "alive", waits=True, first={"answer": "alive"}, pause=0.5)
    cases.add("exec", "job-started", "output", "64-mib", wanted="any", heavy=True, times=1800)
    cases.add("exec-text", "job-started", "output", "8-mib", wanted="any", heavy=True, times=220)
    cases.add("run", "preflight-started", "output", "64-mib", wanted="any", heavy=True, times=1800)
    cases.add("run-watch", "job-seen", "output", "8-mib", wanted="any", waits=True, times=220)


def about_silence(cases, full):
    for command, messages, wanted in MESSAGES:
        for at in messages:
            if full or (command, at) in SILENT:
                cases.add(command, at, "stall", wanted="any", waits=True, limit=PATIENT)
            if full:
                cases.add(command, at, "say-and-stall", wanted="any", waits=True, limit=PATIENT)
                cases.add(command, at, "truncate", "at-0.5-and-stall", wanted="any", waits=True, limit=PATIENT,
                          keep=0.5, then="stall")


def about_installer(cases, full):
    """The node reports that it has no process starter."""
    for number, (does, how, waits) in enumerate(scripted.INSTALLERS, 1):
        if waits and not (full or does == "silence"):
            continue
        cases.add("exec", "install", does, str(number), waits=waits, without_agent=True,
                  limit=PATIENT if waits else None, install={"does": does, "with": how})


def outputs():
    for label, data in OUTPUTS.items():
        text = base64.b64encode(data).decode()
        for command, message in WITH_OUTPUT:
            yield meaning.case(command, f"{message}/{label}", [[["bytes"], text]], "any", message,
                               waits=is_slow(command))


def looks():
    process = {"pid": 1, "name": values.CONTROLS, "state": values.CONTROLS, "waits_in": values.CONTROLS, "cpu_ms": 0}
    sockets = [{"state": state, "local": values.CONTROLS, "remote": values.CONTROLS}
               for state in ("no_answer", "unacknowledged")] * 16
    answers = {
        "full": [{"rank": 0, "processes": [process] * 32, "sockets": sockets}],
        "of-another-rank": [{"rank": 1, "processes": [process]}],
        "twice": [{"rank": 0, "processes": [process]}] * 2,
        "without-processes": [{"rank": 0}, {"rank": -1}],
        "nothing": [],
        "stopped": [{"rank": 0, "processes": [{**process, "pid": 2**31 - 1, "state": "T"}]}],
        "in-the-kernel": [{"rank": 0, "processes": [{**process, "state": "D"}]}],
        "busy-for-ages": [{"rank": 0, "processes": [{**process, "cpu_ms": values.INT_MAX}]}],
    }
    for label, ranks in answers.items():
        for nth in (1, 2):
            one = meaning.case("run-watch", f"seen/{label}-{nth}", [[["ranks"], ranks]], "any", "job-seen", waits=True)
            one["lie"]["nth"] = nth
            yield one


def claims_of_a_rank():
    """[(label, message, edits, commands)]"""
    nccl, gpu = ("verify-nccl", "verify-nccl-text", "tune", "tune-text"), ("verify-gpu", "tune", "tune-text")
    load = ["gpus", 0, "load"]
    processes = [{"pid": values.INT_MAX, "name": values.CONTROLS * 50}] * 16
    lines = [values.CONTROLS * 20] * 256
    trouble = {"fault": "hangs", "error": {"code": "failed", "message": values.CONTROLS, "hint": values.CONTROLS}}
    yield "processes", "rank-measure_gpus", [[["gpus", 0, "processes"], processes]], gpu
    yield "no-gpu", "rank-measure_gpus", [[["gpus"], []]], gpu
    yield "gpus-64", "rank-measure_gpus", [[["gpus"], [{"name": values.CONTROLS, "bus": str(i), "processes": processes}
                                                       for i in range(64)]]], gpu
    yield "trouble", "rank-measure_gpus", [[["gpus", 0, "trouble"], trouble]], gpu
    yield "nothing-but-trouble", "rank-measure_gpus", [[load, None], [["gpus", 0, "trouble"], trouble]], gpu
    yield "without-nvml", "rank-measure_gpus", [[["nvml_missing"], values.CONTROLS * 300], [["driver"], ""]], gpu
    for label, value in (("fastest", 1e9), ("stopped", 0.0), ("smallest", 5e-324)):
        yield (f"load-{label}", "rank-measure_gpus",
               [[[*load, field], value] for field in ("teraflops", "copy_gigabytes", "power_watts")], gpu)
    yield "transport-of-controls", "rank-join", [[["transport", "warnings"], lines], [["transport", "devices"], lines],
                                                 [["transport", "network"], values.CONTROLS]], nccl
    for network in ("Socket", "", values.CONTROLS, "A" * 200_000):
        label = network[:8] if network.isalpha() else ("none" if not network else "controls")
        yield f"network-{label}", "rank-run", [[["transport", "network"], network]], nccl
    yield "conf-lines", "rank-prepare", [[["other_conf_lines"], [values.CONTROLS] * 1500]], nccl
    yield "id-short", "rank-prepare", [[["id"], "AA=="]], nccl
    yield "id-long", "rank-prepare", [[["id"], "A" * 200_000]], nccl
    for memory in (0, 1, 4096, values.INT_MAX):
        yield f"memory-{memory}", "rank-prepare", [[["memory_free_bytes"], memory]], nccl
    for version in (0, -1, 22104, 2**31 - 1, -2**31):
        yield f"version-{version}", "rank-prepare", [[["nccl_version"], version], [["driver_version"], version]], nccl
    yield "gpus-of-a-rank-64", "rank-prepare", [[["gpus"], 64]], ("tune",)
    for label, seconds in (("shortest", 1e-9), ("longest", 3600.0), ("too-short", 1e-10), ("too-long", 3600.1)):
        yield f"seconds-{label}", "rank-run", [[["seconds"], seconds]], nccl
    yield "wrong", "rank-run", [[["wrong"], values.INT_MAX], [["first_wrong"], values.CONTROLS * 200]], nccl
    yield "another-size", "rank-run", [[["bytes"], values.INT_MAX]], nccl


def stream_cases(full):
    cases = scripted.Cases()
    for command, messages, wanted in MESSAGES:
        about_streams(cases, command, messages, wanted)
    about_answers(cases)
    about_installer(cases, full)
    # The others differ from these in the command or in the message.
    kept = [case for number, case in enumerate(cases.cases) if full or number % 6 == 0 or case["heavy"]]
    silence = scripted.Cases()
    about_silence(silence, full)
    return kept + silence.cases


def claim_cases():
    claims = [meaning.case(command, f"{message}/{label}", edits, "any", message)
              for label, message, edits, commands in claims_of_a_rank() for command in commands]
    return [*claims, *outputs(), *looks()]
