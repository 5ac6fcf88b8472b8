#!/usr/bin/env python3
"""tests/experiments/run.py NAME [OPTION...]: runs an experiment. `--list` says which there are, `NAME --help` its
options."""
import ast
import importlib
import json
import os
import sys

import frame

HELPERS = {"frame", "machine", "run", "saving"}


def listed():
    """{name: the first line of what it says of itself}"""
    found = {}
    for path in sorted(frame.HERE.glob("*.py")):
        if path.stem not in HELPERS:
            found[path.stem] = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0]
    return found


def child(name, function, arguments):
    """What Lab.child() starts. Some libraries' threads do not end: the process does."""
    print(json.dumps(getattr(importlib.import_module(name), function)(*json.loads(arguments))), flush=True)
    os._exit(0)


def main(words):
    if words[:1] == ["--child"]:
        child(*words[1:])
    if not words or words[0] in ("--list", "--help", "-h"):
        print(__doc__ if words[:1] != ["--list"] else "\n".join(f"{name:24} {line}" for name, line in listed().items()))
        return 0 if words else 2
    if words[0] not in listed():
        print(f"there is no experiment '{words[0]}': see --list", file=sys.stderr)
        return 2
    return frame.experiment(words[0], words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
