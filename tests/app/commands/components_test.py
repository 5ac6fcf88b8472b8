"""docs/components.md is what the program describes. With --update: writes the page."""
import json
import sys
import unittest

from stoker import SOURCE, long, stoker

PAGE = SOURCE / "docs/components.md"
INTRODUCTION = """# Components and their options

Made from `stoker describe` by `tests/run update`; a test holds it equal to what the program says.
In YAML a component is `{type: name, option: value, ...}`.
"""


def ask(*arguments):
    return json.loads(stoker(*arguments, "--json", cwd=SOURCE).stdout)


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def short(default):
    """A component's own defaults stand in its own table."""
    return f"{{{default.splitlines()[0]}}}" if default.startswith("type: ") else cell(default)


def table(rows):
    if not rows:
        return "No options.\n"
    lines = ["| option | value | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        assert row["help"], row
        default = "required" if row["required"] else f"`{short(row['default'])}`"
        lines.append(f"| `{row['key']}` | {cell(row['type'])} | {default} | {cell(row['help'])} |")
    return "\n".join(lines) + "\n"


def page():
    parts = [INTRODUCTION, "## The experiment file\n", table(ask("describe"))]
    for kind in ask("list"):
        if kind == "plugins":  # which types lie in which, on this machine
            continue
        tables = {}  # types with the same options share one
        for name, rows in ask("describe", kind).items():
            tables.setdefault(table(rows), []).append(f"`{name}`")
        parts.append(f"## {kind}\n")
        for options, names in tables.items():
            parts += [f"### {kind} {', '.join(names)}\n", options]
    return "\n".join(parts)


class Page(unittest.TestCase):
    def test_the_page_says_what_the_program_says(self):
        self.assertEqual(PAGE.read_text(), page(), "tests/run update")

    @long
    def test_options_without_a_meaning_for_a_type_are_accepted_and_not_shown(self):
        """A sweep changes nothing but `type:`."""
        shown = {name: {row["key"] for row in rows} for name, rows in ask("describe", "loader").items()}
        everything = shown["device_prefetched"]
        self.assertLessEqual({"workers", "prefetch_batches", "device_batches"}, everything)
        self.assertEqual(everything - shown["prefetched"], {"device_batches"})
        self.assertEqual(everything - shown["sync"],
                         {"workers", "pin_workers", "prefetch_batches", "device_batches", "in_order"})
        for loader in "sync", "threaded", "prefetched":
            stoker("check", "configs/quickstart.yaml", f"loader.type={loader}", "loader.workers=2",
                   "loader.prefetch_batches=3", "loader.device_batches=4", cwd=SOURCE)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(page())
    else:
        unittest.main()
