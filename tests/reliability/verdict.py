"""Old or new, and nothing in between: requirements on a node after a strike, and after the next run."""
import re

# A confirmed change stays guarded until the next boot or the next run cleans it up. After that, nothing of it may be
# left.
OF_THE_RUN = ("/var/lib/sparkplan", "/run/sparkplan", "/etc/systemd/system/sparkplan-recover.service",
              "/etc/systemd/system/sysinit.target.wants/sparkplan-recover.service")
TEMPORARY = re.compile(r"(\.sparkplan-new|\.sparkplan-trial|/\.agent\.[A-Za-z0-9]{6})$")
IGNORED = re.compile(r"zz-lab-filler$")
DIRECTORY = re.compile(r"^directory ")
# Directories created for their first file; systemd also creates and removes its own. An empty drop-in directory has no
# effect, and its owner cannot be determined.
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
        # Temporary files and plain directories are harmless; left_over() checks that the next run has removed them.
        if TEMPORARY.search(path) or (now and DIRECTORY.match(now) and now.split()[1] in ("0755", "0700")):
            continue
        problems.append(f"{path}: {now}, which is neither {old.get(path)} nor {new.get(path)}")
    return problems


def left_over(found, wanted):
    """Differences from the end of an undisturbed run: one line each."""
    problems = []
    for path in sorted(set(found) | set(wanted)):
        now, then = found.get(path), wanted.get(path)
        if now == then or IGNORED.search(path):
            continue
        if SOMETIMES_THERE.match(path) and (now or then).startswith("directory"):
            continue
        # All journals have one name here, because their number depends on the number of runs.
        problems.append(f"{path}: {now} instead of {then}")
    return problems


def differs(found, wanted):
    """True when a managed path differs from the state that sparkplan would leave."""
    return any(found.get(path) != wanted.get(path) for path in set(found) | set(wanted)
               if not path.startswith(OF_THE_RUN) and not TEMPORARY.search(path) and
               not SOMETIMES_THERE.match(path) and not path.startswith("/usr/local/"))
