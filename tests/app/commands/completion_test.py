#!/usr/bin/env python3
"""cmake/completion.bash has the program's commands, options and keys, and bash completes with it. With --update: writes
the tables into the file.
"""
import json
import re
import subprocess
import sys
import unittest

from stoker import SOURCE, STOKER, stoker

FILE = SOURCE / "cmake/completion.bash"
BEGIN, END = "# From here: tests/run update\n", "# To here.\n"


def section(text, title):
    """The lines below a title of a command's help."""
    return text.partition(f"{title}:\n")[2].partition("\n\n")[0].splitlines()


def command_tree(*path):
    """{path: (commands below it, options)}, of this one and all below."""
    text = stoker(*path, "--help", cwd=SOURCE).stdout
    below = [line.split()[0] for line in section(text, "Subcommands")]
    heads = [re.split(r" (?:Needs|Excludes):", line)[0][:28] for line in section(text, "Options") if line.startswith("  -")]
    tree = {path: (below, [option for head in heads for option in re.findall(r"--[a-z][a-z-]*", head)])}
    for command in below:
        tree |= command_tree(*path, command)
    return tree


def table(name, rows):
    lines = [f'    "{" ".join(path)}") echo "{" ".join(words)}" ;;' for path, words in rows if words]
    return f'{name}() {{\n  case "$*" in\n' + "\n".join(lines) + "\n  esac\n}\n"


def keys_and_values():
    """The keys a.b of an experiment, but for those below names that the file makes up, and the words that may stand there."""
    keys, values = [], {}

    def add(prefix, rows):
        for row in rows:
            key = prefix + row["key"]
            if row["type"].startswith("{type: <"):
                add_component(key, row["type"][8:].partition(">")[0])
            elif not row["type"].startswith(("names", "mapping")) and key not in keys:
                keys.append(key)
                if "|" in row["type"] and " " not in row["type"]:
                    values[key] = row["type"].split("|")

    def add_component(key, kind):
        if key.count(".") > 2:  # a component inside of another one, and so on
            return
        types = json.loads(stoker("describe", kind, "--json", cwd=SOURCE).stdout)
        keys.append(f"{key}.type")
        values[f"{key}.type"] = list(types)
        for rows in types.values():
            add(f"{key}.", [row for row in rows if not row["type"].startswith("{type: <")])

    add("", json.loads(stoker("describe", "--json", cwd=SOURCE).stdout))
    return keys, values


def tables():
    tree = command_tree()
    keys, values = keys_and_values()
    return (table("_stoker_commands", [(path, below) for path, (below, _) in tree.items()]) +
            table("_stoker_options", [(path, options) for path, (_, options) in tree.items()]) +
            f'_stoker_keys() {{\n  echo "{" ".join(f"{key}=" for key in keys)}"\n}}\n' +
            table("_stoker_values", [((key,), words) for key, words in values.items()]))


def parts():
    before, _, rest = FILE.read_text().partition(BEGIN)
    return before, *rest.split(END)


def completed(*words):
    """What bash offers for the last word."""
    script = (f"source {FILE}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _stoker; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script, "bash", STOKER, *words], capture_output=True, text=True, check=True, cwd=SOURCE)
    return set(done.stdout.split())


class CompletionTest(unittest.TestCase):
    def test_the_file_has_what_the_program_has(self):
        self.assertEqual(parts()[1], tables(), "tests/run update")

    def test_commands_and_options(self):
        self.assertLessEqual({"train", "bench", "dataset"}, completed(""))
        self.assertEqual(completed("tra"), {"train", "trace"})
        self.assertEqual(completed("runs", "r"), {"rm"})
        self.assertEqual(completed("help", "e"), {"environment", "exit-codes"})
        self.assertEqual(completed("help", "runs", ""), {"rm"})
        self.assertEqual(completed("bench", "lo"), {"load", "loader"})
        self.assertLessEqual({"--json", "--quiet", "--help"}, completed("train", "--"))
        self.assertIn("--scaling", completed("bench", "loader", "some.yaml", "--"))

    def test_configurations(self):
        self.assertEqual(completed("train", "configs/quick"), {"configs/quickstart.yaml"})
        self.assertLessEqual({"configs/quickstart.yaml", "configs/paper/"}, completed("sweep", ""))
        self.assertNotIn("configs/README.md", completed("bench", "loader", "configs/"))

    def test_keys_and_their_values(self):
        of_loader = completed("train", "configs/quickstart.yaml", "loader.")
        self.assertLessEqual({"loader.type=", "loader.workers=", "loader.batch_size="}, of_loader)
        self.assertEqual({key.split(".")[0] for key in of_loader}, {"loader"})
        types = {"sync", "threaded", "prefetched", "device_prefetched", "device_resident", "lmdbio"}
        self.assertEqual(completed("train", "some.yaml", "loader.type", "="), types)  # as bash cuts words
        self.assertEqual(completed("train", "some.yaml", "loader.type", "=", "s"), {"sync"})
        self.assertEqual(completed("train", "some.yaml", "loader.type=s"), {"loader.type=sync"})
        self.assertEqual(completed("sweep", "some.yaml", "loader.type=sync,pre"), {"loader.type=sync,prefetched"})
        self.assertEqual(completed("train", "some.yaml", "training.precision=b"), {"training.precision=bf16"})

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
