"""Runs between sshd and the agent on a node, reads the frames, and strikes at one of them.

usage: frame_relay.py ACTION K COMMAND...

Frames of all connections of a run are counted together, in both directions, in order. At the K-th:
  record    nothing happens (K is 0); in every mode /run/lab/frames has a line for each frame
  cut       the connection ends instead of the frame
  truncate  half of the frame passes, then the connection ends
  delay     the frame waits three seconds
  hold      the frame waits until /run/lab/proceed exists; /run/lab/held exists while it waits
"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time

PREAMBLE = b"\0\1SPARKPLAN-FRAMES\n"
FRAMES = "/run/lab/frames"
DELAY_S = 3
HOLD_S = 120


def kind_of(speaker, body):
    message = json.loads(body)
    if speaker == "controller":
        return message.get("request", "?")
    return next((word for word in ("progress", "error", "reply") if word in message), "hello")


def number_of(speaker, body):
    with open(FRAMES, "a+", encoding="utf-8") as frames:
        fcntl.flock(frames, fcntl.LOCK_EX)
        frames.seek(0)
        number = len(frames.readlines()) + 1
        frames.write(f"{speaker} {kind_of(speaker, body)}\n")
    return number


def cut():
    # Kills the sshd process of this login: both ends lose the network.
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(1)


def strike(action, frame, output):
    if action == "cut":
        cut()
    if action == "truncate":
        os.write(output, frame[:4 + (len(frame) - 4) // 2])
        # Gives the written bytes time to leave before the connection ends.
        time.sleep(0.1)
        cut()
    if action == "delay":
        time.sleep(DELAY_S)
    if action == "hold":
        with open("/run/lab/held", "w", encoding="utf-8"):
            pass
        begun = time.monotonic()
        while not os.path.exists("/run/lab/proceed") and time.monotonic() - begun < HOLD_S:
            time.sleep(0.01)


def write_all(output, data):
    while data:
        data = data[os.write(output, data):]


def relay(source, output, speaker, action, wanted):
    buffer = b""
    begun = False
    try:
        while data := os.read(source, 65536):
            buffer += data
            if not begun and PREAMBLE in buffer:
                end = buffer.index(PREAMBLE) + len(PREAMBLE)
                write_all(output, buffer[:end])
                buffer, begun = buffer[end:], True
            while begun and len(buffer) >= 4:
                size = 4 + int.from_bytes(buffer[:4], "big")
                if len(buffer) < size:
                    break
                frame, buffer = buffer[:size], buffer[size:]
                if number_of(speaker, frame[4:]) == wanted:
                    strike(action, frame, output)
                write_all(output, frame)
    except (BrokenPipeError, ConnectionResetError):
        pass
    os.close(output)


def main(action, wanted, *command):
    for ignored in (signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        agent_input, agent_output = os.dup(agent.stdin.fileno()), os.dup(agent.stdout.fileno())
        agent.stdin.close()
        threading.Thread(target=relay, args=(0, agent_input, "controller", action, int(wanted)), daemon=True).start()
        relay(agent_output, 1, "agent", action, int(wanted))
        status = agent.wait()
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main(*sys.argv[1:])
