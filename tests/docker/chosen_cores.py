#!/usr/bin/env python3
"""chosen_cores.py RUN: "W workers, T threads" of a run directory, as `auto` chose them."""
import json
import pathlib
import sys

run = pathlib.Path(sys.argv[1])
summary = json.loads((run / "summary.json").read_text())
environment = json.loads((run / "environment.json").read_text())
print(f"{summary['loaders']['train']['workers']} workers, {environment['threads']} threads")
