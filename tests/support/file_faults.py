"""System calls on files that fail once (preload/file_faults.cpp): which a program makes, and how it ends when one of them fails."""
import collections
import errno
import os
import re

from stoker import BUILD

PRELOAD = BUILD / "tests/libfile_faults.so"
HALF = 0  # in place of an error: half of what was asked for is done
# What Linux names for each: a call that takes no space cannot run out of it.
ERRORS = {errno.EIO: None, errno.ENOSPC: {"create", "write", "sync", "rename", "link", "mkdir", "reserve"},
          errno.EINTR: {"open", "create", "read", "write", "sync", "stat", "list", "fcntl", "reserve", "rename", "link",
                        "remove", "mkdir"},
          HALF: {"read", "write"}}
RANDOM = [(r"-\d{8}-\d{6}-\d+-[0-9a-f]{4}", "-*"), (r"[0-9a-f]{16}", "*"), (r"tfevents\..*", "tfevents.*")]

Fault = collections.namedtuple("Fault", "call path skip error")


def name(error):
    return errno.errorcode[error] if error else "half"


def environment(folder, log, fault=None):
    """Of a process whose calls on files below `folder` are written to `log`, or one of them fails."""
    strike = {} if fault is None else {"FAULTS_STRIKE": f"{fault.call} {fault.skip} {fault.error} {fault.path}"}
    return {**os.environ, "LD_PRELOAD": str(PRELOAD), "FAULTS_UNDER": str(folder), "FAULTS_LOG": str(log)} | strike


def general(path):
    """The path with stars for what is another in every run."""
    for what, star in RANDOM:
        path = re.sub(what, star, path)
    return path


def all_faults(log):
    """Every call that was written down, with each error that it may have."""
    seen = collections.Counter()
    for line in log.read_text().splitlines():
        call, _, path = line.partition(" ")
        path = general(path) or "*"
        for error, calls in ERRORS.items():
            if calls is None or call in calls:
                yield Fault(call, path, seen[call, path], error)
        seen[call, path] += 1
