#!/usr/bin/env python3
"""cmake/completion.bash has the program's commands and options, and bash completes with it. With --update: writes the
tables into the file.
"""
import json
import re
import subprocess
import sys
import unittest

from stoker import SOURCE, STOKER, stoker

FILE = SOURCE / "cmake/completion.bash"
BEGIN, END = "# From here: tests/run app/commands/completion_test --update\n", "# To here.\n"


def section(text, title):
    """The lines below a title of a command's help."""
    return text.partition(f"{title}:\n")[2].partition("\n\n")[0].splitlines()


def command_tree(*path):
    """{path: (commands below it, options)}, of this one and all below."""
    text = stoker(*path, "--help", cwd=SOURCE).stdout
    below = [line.split()[0] for line in section(text, "Subcommands")]
    heads = [line[:28] for line in section(text, "Options") if line.startswith("  -")]
    tree = {path: (below, [option for head in heads for option in re.findall(r"--[a-z][a-z-]*", head)])}
    for command in below:
        tree |= command_tree(*path, command)
    return tree


def table(name, rows):
    lines = [f'    "{" ".join(path)}") echo "{" ".join(words)}" ;;' for path, words in rows if words]
    return f'{name}() {{\n  case "$*" in\n' + "\n".join(lines) + "\n  esac\n}\n"


def tables():
    tree = command_tree()
    return (table("_stoker_commands", [(path, below) for path, (below, _) in tree.items()]) +
            table("_stoker_options", [(path, options) for path, (_, options) in tree.items()]))


def parts():
    before, _, rest = FILE.read_text().partition(BEGIN)
    return before, *rest.split(END)


def completed(*words):
    """What bash offers for the last word."""
    script = (f"source {FILE}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _stoker; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script, "bash", STOKER, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


class CompletionTest(unittest.TestCase):
    def test_the_file_has_what_the_program_has(self):
        self.assertEqual(parts()[1], tables(), "tests/run app/commands/completion_test --update")

    def test_commands_and_options(self):
        self.assertLessEqual({"train", "bench", "dataset"}, completed(""))
        self.assertEqual(completed("tra"), {"train", "trace"})
        self.assertEqual(completed("bench", "lo"), {"loader"})
        self.assertLessEqual({"--json", "--quiet", "--help"}, completed("train", "--"))
        self.assertIn("--scaling", completed("bench", "loader", "some.yaml", "--"))
        self.assertEqual(completed("train", "configs/quick"), set())  # bash's own, of files

    def test_kinds_and_types(self):
        kinds = json.loads(stoker("list", "--json", cwd=SOURCE).stdout)
        del kinds["plugins"]
        self.assertEqual(completed("describe", ""), set(kinds))
        self.assertEqual(completed("describe", "loader", ""), set(kinds["loader"]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        before, _, after = parts()
        FILE.write_text(before + BEGIN + tables() + END + after)
    else:
        unittest.main(verbosity=2)
