"""What the measurements print alike: the machine, tables, and a page's part between the marks of a script."""
import datetime
import os
import pathlib
import re


def machine():
    """The day and this machine, in words."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) >> 20
    return (f"{datetime.date.today()}, {os.cpu_count()} x {model.group(1) if model else os.uname().machine}, "
            f"{memory} GB, {system.group(1)}")


def table(head, rows):
    """The lines of a table in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return lines


def finish(name, text, page):
    """Prints `text`, and puts it between the marks of script `name` in `page` if there is one."""
    print(text)
    if page is None:
        return
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, rest = page.read_text().split(begin, 1)
    page.write_text(before + begin + text + end + rest.split(end, 1)[1])
