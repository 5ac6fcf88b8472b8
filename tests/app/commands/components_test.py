"""docs/components.md is what the program describes. With --update: writes the page."""
import json
import sys
import unittest

from stoker import SOURCE, stoker

PAGE = SOURCE / "docs/components.md"
INTRODUCTION = """# Components and their options

Made from `stoker describe` by `tests/run app/commands/components_test --update`; a test holds it equal to what the program says.
In YAML a component is `{type: name, option: value, ...}`. The decoder `opencv` is a plug-in and not on this page.
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
        tables = {}  # types with the same options share one
        for name, rows in ask("describe", kind).items():
            tables.setdefault(table(rows), []).append(f"`{name}`")
        parts.append(f"## {kind}\n")
        for options, names in tables.items():
            parts += [f"### {kind} {', '.join(names)}\n", options]
    return "\n".join(parts)


class Page(unittest.TestCase):
    def test_the_page_says_what_the_program_says(self):
        self.assertEqual(PAGE.read_text(), page(), "tests/run app/commands/components_test --update")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(page())
    else:
        unittest.main()
