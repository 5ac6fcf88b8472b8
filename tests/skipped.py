#!/usr/bin/env python3
"""Names each test that was skipped, and why: skipped.py FOLDER/Testing/Temporary/LastTest.log (of ctest)."""
import re
import sys

CTEST = re.compile(r"\d+/\d+ Test: (.+)")
BEGIN = re.compile(r"\S+:\d+: Skipped")
END = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)")
UNITTEST = re.compile(r"OK \(.*\bskipped=(\d+).*\)")


def skipped(lines):
    program, reason = "", []
    for line in map(str.strip, lines):
        if found := CTEST.fullmatch(line):
            program = found[1]
        elif BEGIN.fullmatch(line):
            reason = []
        elif found := END.fullmatch(line):
            yield f"{program}: {found[1].rstrip(',')}: {' '.join(filter(None, reason))}"
        elif found := UNITTEST.fullmatch(line):
            yield f"{program}: {found[1]} of its tests in Python"
        else:
            reason.append(line)


if __name__ == "__main__":
    with open(sys.argv[1], errors="replace") as log:
        found = list(skipped(log))
    print(f"skipped: {len(found)} tests, for this machine lacks what they need" if found else "skipped: nothing")
    for text in found:
        print(f"  {text}")
