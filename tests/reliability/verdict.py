"""Old or new, and nothing in between: what a node is held to after a strike, and after it was mended."""
import re

# A change that was confirmed stays under guard until it is tidied up: at the next boot, or by the next run,
# after which nothing of it may be left.
OF_THE_RUN = ("/var/lib/sparkplan", "/run/sparkplan", "/etc/systemd/system/sparkplan-recover.service",
              "/etc/systemd/system/sysinit.target.wants/sparkplan-recover.service")
TEMPORARY = re.compile(r"(\.sparkplan-new|\.sparkplan-trial|/\.agent\.[A-Za-z0-9]{6})$")
IGNORED = re.compile(r"zz-lab-filler$")
DIRECTORY = re.compile(r"^directory ")
# Directories made with the first file in them; systemd makes and removes its own as it likes. An empty one
# for drop-ins cannot be told from somebody else's, and does nothing.
SOMETIMES_THERE = re.compile(r"^/run/systemd/(transient|network|system)|^/run/netplan|^/etc/systemd/system/[^/]+\.d$")


def torn(found, old, new):
    """Paths that are neither as before nor as after; empty when all is well."""
    problems = []
    for path in sorted(set(found) | set(old) | set(new)):
        now = found.get(path)
        if IGNORED.search(path) or now in (old.get(path), new.get(path)):
            continue
        if path.startswith(OF_THE_RUN):
            if now and "DAMAGED" in now:
                problems.append(f"{path}: {now}")
            continue
        # What is in the way of nobody is judged after the next run, which has to clear it away.
        if TEMPORARY.search(path) or (now and DIRECTORY.match(now) and now.split()[1] in ("0755", "0700")):
            continue
        problems.append(f"{path}: {now}, which is neither {old.get(path)} nor {new.get(path)}")
    return problems


def left_over(found, wanted):
    """What differs from an undisturbed run's end: one line each."""
    problems = []
    for path in sorted(set(found) | set(wanted)):
        now, then = found.get(path), wanted.get(path)
        if now == then or IGNORED.search(path):
            continue
        if SOMETIMES_THERE.match(path) and (now or then).startswith("directory"):
            continue
        # How many runs there were is told by the number of journals, which is one name here.
        problems.append(f"{path}: {now} instead of {then}")
    return problems


def differs(found, wanted):
    """What sparkplan manages is not all as it would leave it."""
    return any(found.get(path) != wanted.get(path) for path in set(found) | set(wanted)
               if not path.startswith(OF_THE_RUN) and not TEMPORARY.search(path) and
               not SOMETIMES_THERE.match(path) and not path.startswith("/usr/local/"))
