#!/usr/bin/env python3
"""Runs the shipped program against a node that sends false fields, floods, stalls and ends connections.

usage: hostile.py [--full] [--share K/N] [--only NAME...] [--list] [--jobs N] [--waiting N] [--show]

Needs root and a release build. Without --full each command runs with a selection of the lies, the same in every run.
With --share K/N only the K-th of N parts is sent of the false fields and of the claims of started programs, and every
other lie.
NAME is a lie's name as printed, or a pattern of such names. The last line is "N passed, N failed, N skipped", counted
in lies.
"""
import argparse
import collections
import fnmatch
import os
import queue
import signal
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True
DEBIANS_PYTHON = "/usr/bin/python3"
try:
    import jsonschema  # noqa: F401
except ImportError:
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIANS_PYTHON) and os.path.exists(DEBIANS_PYTHON):
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, *sys.argv])
    print("SKIPPED: there is no jsonschema for Python: tests/install-dependencies.sh hostile\n"
          "0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import lies  # noqa: E402
import meaning  # noqa: E402
import programs  # noqa: E402
import scenes  # noqa: E402
import scripted  # noqa: E402
import slot  # noqa: E402
import world  # noqa: E402

# The number of cases that wait for a deadline of the controller in parallel; they use no processor.
WAITING = 28


class Tally:
    """Collects the verdicts and prints each one as it arrives."""

    def __init__(self):
        self.total = self.distinct = 0
        self.verdicts = []
        self.lock = threading.Lock()
        self.begun = time.monotonic()

    def add(self, verdict, show):
        with self.lock:
            self.verdicts.append(verdict)
            if show:
                print(verdict["out"].decode("utf-8", "replace"), verdict["err"].decode("utf-8", "replace"), sep="\n")
                print(f"exit {verdict['code']}, {verdict['seconds']:.2f} s, {verdict['peak'] >> 10} MiB")
            for problem in verdict["problems"]:
                print(f"FAILED: {verdict['name']}: {problem}", flush=True)
            if len(self.verdicts) % 250 == 0:
                print(f"{len(self.verdicts)} of {self.total}, {self.seconds():.0f} s", flush=True)

    def seconds(self):
        return time.monotonic() - self.begun

    def failed(self):
        return sum(bool(verdict["problems"]) for verdict in self.verdicts)


class Worker:
    """The main process's end of the pipes to a slot's process."""

    def __init__(self, keys, others):
        to_slot, self.output = os.pipe()
        self.source, from_slot = os.pipe()
        self.lock = threading.Lock()
        self.pid = os.fork()
        if self.pid == 0:
            # A slot ends when its input ends. It would not end while another slot holds an end of the pipe open.
            for descriptor in (self.output, self.source, *(end for one in others for end in (one.output, one.source))):
                os.close(descriptor)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            status = 1
            try:
                slot.live(to_slot, from_slot, keys)
                status = 0
            finally:
                os._exit(status)
        os.close(to_slot)
        os.close(from_slot)

    def ask(self, *request):
        slot.send(self.output, request)
        answer = slot.receive(self.source)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self):
        os.close(self.output)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.source)


def share_of(cases, share):
    """The cases of one part. A case stays in its part when others come or go, because its name decides."""
    part, parts = share
    return [case for case in cases if zlib.crc32(case["name"].encode()) % parts == part - 1]


def all_cases(baselines, trap_key, full, share=(1, 1)):
    cases = share_of([*lies.field_cases(baselines, scenes.COMMANDS, full), *programs.claim_cases()], share)
    cases += scripted.stream_cases(full)
    cases += meaning.meaning_cases(baselines, trap_key, full)
    cases += programs.stream_cases(full)
    names = collections.Counter(case["name"] for case in cases)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise RuntimeError(f"two lies are named {twice[0]}")
    return cases


def chosen_cases(cases, patterns):
    return [case for case in cases if any(case["name"] == one or fnmatch.fnmatchcase(case["name"], one)
                                          for one in patterns)]


def work_off(workers, cases, tally, options):
    """Every worker takes the next case until no case is left; raises the first exception of a worker."""
    pending = queue.SimpleQueue()
    for case in cases:
        pending.put(case)
    problems = []

    def one(worker):
        try:
            while not problems:
                case = pending.get_nowait()
                tally.add(worker.ask("case", {**case, "show": options.show}), options.show)
        except queue.Empty:
            pass
        except (Exception, EOFError) as problem:
            problems.append(problem if str(problem) else RuntimeError("a slot has ended"))

    threads = [threading.Thread(target=one, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    return threads, problems


def run(options, workers, keys, tally):
    first = Worker(keys, workers)
    workers.append(first)
    template = first.ask("prepare")
    baselines = template["material"]["baselines"]
    cases = all_cases(baselines, world.fingerprint(keys, "trap"), options.full, options.share)
    if options.only:
        cases = chosen_cases(cases, options.only)
        if not cases:
            raise RuntimeError("there is no such lie: --list prints their names")
    if options.list:
        print("\n".join(case["name"] for case in cases))
        return False
    tally.total, tally.distinct = len(cases), len({case["distinct"] for case in cases})
    print(f"{tally.total} runs, {tally.distinct} distinct lies", flush=True)
    waiting = [case for case in cases if case.get("waits")]
    busy = sorted((case for case in cases if not case.get("waits")), key=lambda case: lies.number_of(case["name"]))
    of_the_waiting = [Worker(keys, workers) for _ in range(min(options.waiting, len(waiting)))]
    workers += of_the_waiting
    of_the_busy = [first]
    for _ in range(min(options.jobs, len(busy)) - 1):
        of_the_busy.append(Worker(keys, workers))
        workers.append(of_the_busy[-1])
    for worker in workers:
        worker.ask("take", template)
    threads, problems = [], []
    for group, share in ((of_the_waiting, waiting), (of_the_busy, busy)):
        started, troubles = work_off(group, share, tally, options)
        threads += started
        problems.append(troubles)
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)
    for troubles in problems:
        for trouble in troubles:
            raise trouble
    return True


def closing(tally):
    untold = [verdict["name"] for verdict in tally.verdicts if not verdict["told"]]
    peak = max((verdict["peak"] for verdict in tally.verdicts), default=0)
    slowest = max(tally.verdicts, key=lambda verdict: verdict["seconds"], default=None)
    codes = collections.Counter(verdict["code"] for verdict in tally.verdicts)
    print(f"{len(tally.verdicts)} lies tried ({tally.distinct} distinct) in {tally.seconds():.0f} s; exit codes: "
          + ", ".join(f"{count} x {code}" for code, count in sorted(codes.items(), key=str))
          + f"; at most {peak >> 10} MiB; slowest {slowest['seconds']:.0f} s: {slowest['name']}")
    # If the run ended before the lie was sent, the case proves nothing.
    if untold:
        print(f"{len(untold)} struck nothing, the run ended before: {untold[:3]}")
    return len(untold) * 10 > len(tally.verdicts)


def part_of_parts(text):
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N with K from 1 to N")
    return int(part), int(parts)


def parse():
    arguments = argparse.ArgumentParser(description="Lies, floods, stalls.")
    arguments.add_argument("--full", action="store_true", help="every lie with every command (hours)")
    arguments.add_argument("--share", type=part_of_parts, default=(1, 1), metavar="K/N",
                           help="the K-th of N parts of the false fields and of the claims of started programs")
    arguments.add_argument("--only", nargs="+", metavar="NAME", help="these lies; * and ? are wild")
    arguments.add_argument("--list", action="store_true", help="print the names and run nothing")
    arguments.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="that run side by side")
    arguments.add_argument("--waiting", type=int, default=WAITING, help="that wait for deadlines side by side")
    arguments.add_argument("--show", action="store_true", help="print what the controller prints")
    return arguments.parse_args()


def stop(number, frame):
    raise KeyboardInterrupt


def main():
    options = parse()
    reason = world.obstacle()
    if not reason and not (world.ROOT / "build/bin/sparkplan").exists():
        reason = "there is no build/bin/sparkplan"
    if reason:
        print(f"SKIPPED: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    workers, tally, broken = [], Tally(), ""
    try:
        if not run(options, workers, world.make_keys(), tally):
            return 0
        if closing(tally):
            broken = "more than a tenth of the lies struck nothing"
    except KeyboardInterrupt:
        broken = "interrupted"
    except (RuntimeError, OSError, EOFError) as problem:
        broken = str(problem) or "a slot has ended"
    finally:
        for worker in workers:
            worker.end()
    if broken:
        print(f"FAILED: {broken}")
    failed = tally.failed()
    print(f"{len(tally.verdicts) - failed} passed, {failed + bool(broken)} failed, 0 skipped")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
