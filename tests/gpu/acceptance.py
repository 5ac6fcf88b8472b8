"""acceptance.py OUT [--stand-in] [--only PART...]: runs the parts, writes OUT/acceptance.json, OUT/acceptance.md, and OUT/failures.log.

The exit code is 0 where no check failed, else 1. A part that fails, or takes too long, does not stop the others.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

import parts_device
import parts_python
import parts_storage
from plan import GPU, SHORT, STAND_IN
from program import Failed, NotRun, Program

PARTS = {"environment": parts_device.environment, "frames": parts_device.frames, "resume": parts_storage.resume,
         "training": parts_device.training, "idle": parts_device.idle, "checkpoint": parts_storage.checkpoint,
         "loader": parts_storage.loader, "peers": parts_python.peers, "python": parts_python.python}
HEADS = {True: "GPU acceptance", False: "GPU acceptance, stand-in: says nothing about a GPU"}


class Part:
    """What a part found."""

    def __init__(self, name, gpu):
        self.name, self.gpu = name, gpu
        self.rows, self.checks, self.notes, self.logs, self.seconds = [], [], [], [], 0.0

    def row(self, **figures):
        self.rows.append(figures)

    def note(self, text):
        self.notes.append(text)

    def check(self, name, value, limit, passed, hardware=False):
        """hardware: nothing that a stand-in could pass or fail."""
        outcome = "reported" if hardware and not self.gpu else "passed" if passed else "failed"
        self.checks.append({"name": name, "value": value, "limit": limit, "outcome": outcome})

    def failed(self, name, failed, **figures):
        """A command of the part did not end well. What it wrote is kept."""
        self.logs.append(f"== {self.name}: {name}: {failed}\n{failed.log}\n")
        self.row(**figures, outcome=str(failed), exit_code=failed.code)
        self.check(f"{name} runs", f"exit code {failed.code}" if failed.code is not None else str(failed), "yes", False)

    def not_run(self, name, reason):
        self.checks.append({"name": name, "value": None, "limit": None, "outcome": f"not run: {reason}"})

    def run(self, function, program, plan):
        begin = time.monotonic()
        program.deadline = begin + plan.budget_s[self.name]
        try:
            function(program, plan, self)
        except NotRun as reason:
            self.not_run(self.name if not self.rows else f"the rest of {self.name}", reason)
        except Failed as failed:
            self.failed(self.name, failed)
        # What the program wrote is not as expected.
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
            self.check(f"{self.name} runs", f"{type(error).__name__}: {error}", "yes", False)
        self.seconds = time.monotonic() - begin


def shown(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value).replace("|", "/").replace("\n", " ")


def table(rows):
    """Markdown, one table for each run of rows with a column in common."""
    lines, names = [], []
    for row in rows:
        if not set(row) & set(names):
            names = list(dict.fromkeys(name for other in rows if set(other) & set(row) for name in other))
            heads = [name.replace("_", " ") for name in names]
            lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(names) + "|"]
        lines.append("| " + " | ".join(shown(row.get(name)) for name in names) + " |")
    return lines


def markdown(plan, parts, head, took):
    lines = [f"# {head}", "", f"{took:.0f} s in all. Shares are of 1, levels of 0 to 255; `-` was not measured. "
             "Outcomes: passed, failed (by the limit), reported (only a GPU could pass or fail it), not run (and why)."]
    for part in parts:
        lines += ["", f"## {part.name}", "", f"{part.seconds:.1f} s of {plan.budget_s[part.name]}"]
        lines += [*(f"\n{note}" for note in part.notes), *table(part.rows), *table(part.checks)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", metavar="PART", default=list(PARTS),
                        help=f"these, in this order, of {', '.join(PARTS)}; default: all")
    parser.add_argument("--short", action="store_true", help="every part, as small as shows whether it works")
    parser.add_argument("--stand-in", action="store_true", help="on the CPU and an emulated device")
    options = parser.parse_args()
    if unknown := set(options.only) - PARTS.keys():
        parser.error(f"unknown part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    plan = STAND_IN if options.stand_in else SHORT if options.short else GPU
    parts, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stoker-acceptance-", ignore_cleanup_errors=True) as directory:
        program = Program(directory, plan.command_s)
        for name in options.only:
            parts.append(Part(name, plan.gpu))
            print(f"{name} ...", flush=True)
            parts[-1].run(PARTS[name], program, plan)
            for check in parts[-1].checks:
                value, limit = shown(check["value"]), shown(check["limit"])
                print(f"  {check['outcome']}: {check['name']}: {value} (limit {limit})", flush=True)
            write(options.out, plan, parts, time.monotonic() - begin)
            if name == "environment" and any(check["outcome"] == "failed" for check in parts[-1].checks):
                break
    failed = sum(check["outcome"] == "failed" for part in parts for check in part.checks)
    print(f"{HEADS[plan.gpu]}: {failed} of {sum(len(part.checks) for part in parts)} checks failed; "
          f"{options.out / 'acceptance.md'}")
    return 1 if failed else 0


def write(out, plan, parts, took):
    """After each part, so that what is known outlives a machine that is taken away."""
    result = {"title": HEADS[plan.gpu], "plan": plan.name, "seconds": took,
              "batch": plan.batch, "size": plan.size, "workers": plan.workers,
              "parts": {part.name: {"seconds": part.seconds, "budget_s": plan.budget_s[part.name], "notes": part.notes,
                                    "rows": part.rows, "checks": part.checks} for part in parts}}
    (out / "acceptance.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (out / "failures.log").write_text("".join(log for part in parts for log in part.logs), encoding="utf-8")
    (out / "acceptance.md").write_text(markdown(plan, parts, HEADS[plan.gpu], took), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
