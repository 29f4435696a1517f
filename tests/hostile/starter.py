"""The answers of an honest sparkplan-job. No process is started: each program of a job has a made-up output.

The program `wait` ends one second after its node was looked at twice, at a stop, or at the time limit.
"""
import base64
import os
import select
import time

from stage import HERE, build_id

SECOND = 1.0
LOOKS = 2
WITHOUT_LIMIT = 600
IMAGE_ID = "sha256:" + "5" * 64
NCCL_STATUS = "Job summary\n===========\n\nErrors\n======\nDEAD: 1 job process is considered dead\n  #0: rank 1\n"


def printed(argv):
    """What a program prints, as [(is standard error, text)]."""
    if argv[:2] == ["nvidia-smi", "-L"]:
        return [(False, "GPU 0: NVIDIA GB10 (UUID: GPU-5)\n")]
    if argv[0] == "nvidia-smi" and argv[1].startswith("--query-gpu"):
        return [(False, "96 %, 41.20 W\n")]
    if argv[0] in ("docker", "podman"):
        return [(False, IMAGE_ID + "\n")]
    if argv[0] == "bash":
        return [(False, NCCL_STATUS)]
    if argv[0] == "cat":
        return [(False, "  sl  local_address rem_address   st\n   0: 0100007F:0016 00000000:0000 0A 0\n")]
    if argv[0] == "wait":
        return [(False, "step 1\n")]
    return [] if argv[0] == "nvidia-smi" else [(False, "step 1\nstep 2\n"), (True, "a warning\n")]


def kind_of(job):
    """The prefix of the names of its messages: a run starts its questions as jobs of their own."""
    return next((name for name in ("preflight", "watch") if job["id"].endswith("-" + name)), "job")


def seen(rank):
    process = {"pid": 100 + rank, "name": "python3", "state": "S", "waits_in": "futex_wait_queue", "cpu_ms": 10}
    return {"rank": rank, "processes": [process, {**process, "pid": 200 + rank, "name": "train"}],
            "sockets": [{"state": "closed_by_peer", "local": "192.168.100.11:43210", "remote": "192.168.100.12:29500"}]}


def wait_for_end(speaker, frames, ranks, seconds):
    """Returns how the ranks ended; None if the controller has gone."""
    end, looks, ending = time.monotonic() + seconds, 0, "time_limit"
    while (left := end - time.monotonic()) > 0:
        if not frames.buffer and not select.select([frames.source], [], [], left)[0]:
            break
        command = frames.next()
        if command is None:
            return None
        if command["command"] == "stop":
            return "stopped"
        if command["command"] == "look":
            looks += 1
            speaker.say("job-seen", {"answer": "seen", "ranks": [seen(rank) for rank in ranks]})
            if looks == LOOKS:
                end, ending = time.monotonic() + SECOND, "exited"
    return ending


def ended(rank, ending):
    how = {"exit_code": 0} if ending == "exited" else {"signal": 15}
    return {"answer": "ended", "rank": rank, "ending": ending, "duration_ms": 20, **how}


def be_starter(speaker, frames):
    """Acts as sparkplan-job until its ranks have ended."""
    status = speaker.may_speak()
    if status is not True:
        return status
    speaker.greet()
    speaker.say("job-hello", {"answer": "hello", "build": build_id(f"{HERE}/sparkplan-job"),
                              "architecture": os.uname().machine})
    job = frames.next()
    if job is None:
        return 0
    kind = kind_of(job)
    for rank in job["ranks"]:
        speaker.say(f"{kind}-started", {"answer": "started", "rank": rank["rank"], "pid": 100 + rank["rank"]})
        for error, text in printed(rank["argv"]):
            speaker.say(f"{kind}-output", {"answer": "output", "rank": rank["rank"], "error": error,
                                           "bytes": base64.b64encode(text.encode()).decode()})
    waiting = [rank["rank"] for rank in job["ranks"] if rank["argv"][0] == "wait"]
    ending = "exited"
    if waiting:
        ending = wait_for_end(speaker, frames, waiting, job["time_limit_ms"] / 1000 or WITHOUT_LIMIT)
    if ending is None:
        return 0
    for rank in job["ranks"]:
        speaker.say(f"{kind}-ended", ended(rank["rank"], ending if rank["rank"] in waiting else "exited"))
    speaker.say(f"{kind}-finished", {"answer": "finished", "left": [], "containers_left": []})
    return 0
