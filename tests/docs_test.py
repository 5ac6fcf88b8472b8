"""What the pages of the project name is there, what is there stands in them, and no question is answered twice."""
import collections
import fnmatch
import functools
import itertools
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md"] + [page for folder in ("app", "cmake", "configs", "datasets", "docker", "docs", "io",
                                                    "models", "python", "tests") for page in (ROOT / folder).rglob("*.md")]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:\.ci|app|cmake|configs|datasets|docker|docs|io|models|python|tests)/[\w./*-]+)[^`\n]*`")
SOURCES = (".h", ".cpp", ".cu")
ROOMS = ("app", "io", "models")


def there(path):
    """Also `io/device/frame_upload` for its header and source, `*.yaml` for several; a new file is called mine."""
    return path.stem == "mine" or path.exists() or any(path.parent.glob(path.name + ("" if "*" in path.name else ".*")))


def rows(text, *first):
    """The rows below a head of a table that begins with one of these words, each as its cells."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0] in first:
            inside = True
        elif inside and not re.fullmatch(r"[- :]*", cells[0]):
            yield cells


def names(text):
    """What stands in backticks or in a listing; {a,b} is two names, and `x.h` is x."""
    for quoted in re.findall(r"`([^`\n]+)`", text) + re.findall(r"[\w./*{},-]+", "\n".join(re.findall(r"(?m)^(?: {4}|```).*$", text))):
        choices = re.split(r"[{}]", quoted)
        parts = [part.split(",") if place % 2 else [part] for place, part in enumerate(choices)]
        for name in map("".join, itertools.product(*parts)):
            yield re.sub(r"\.(h|cpp|cu)$", "", name)


@functools.cache
def said_by(page):
    return {name.rstrip("/") for name in names(page.read_text())} if page.exists() else set()


def units():
    """Headers and sources that belong together, as paths without the end of their names. A kernel for one set of
    instructions belongs to that for all."""
    found = {path.parent / re.sub(r"_(avx2|avx512)$", "", path.stem) for room in ROOMS
             for path in (ROOT / room).rglob("*") if path.suffix in SOURCES}
    return sorted(found)


def page_of(unit):
    """The README that describes it: of its folder, or of the nearest one above that has one, but not the project's."""
    pages = [folder / "README.md" for folder in unit.parents if folder.is_relative_to(ROOT) and folder != ROOT]
    return next((page for page in pages if page.exists()), pages[0])


def tests_of(cell):
    """The paths of the tests that a cell names; one that begins with no `tests/` lies beside the one before it."""
    paths = []
    for name in re.findall(r"`([\w./-]+_test\.\w+)`", cell):
        paths.append(name if name.startswith("tests/") else str(pathlib.Path(paths[-1]).parent / name))
    return paths


class Pages(unittest.TestCase):
    maxDiff = None

    def test_every_path_exists(self):
        absent = []
        for page in PAGES:
            text = page.read_text()
            absent += [f"{page.relative_to(ROOT)}: {name}" for name in LINK.findall(text) + NAMED.findall(text)
                       if not there(page.parent / name) and not there(ROOT / name)]
        self.assertEqual(absent, [])

    def test_every_unit_stands_in_a_readme(self):
        absent = collections.defaultdict(list)
        for unit in units():
            page = page_of(unit)
            said = said_by(page)
            below = unit.relative_to(page.parent)
            if not any(fnmatch.fnmatchcase(name, pattern) for name in (unit.name, str(below)) for pattern in said):
                absent[str(page.relative_to(ROOT))].append(str(below))
        self.assertEqual(dict(absent), {}, "units that their README does not name")

    def test_every_file_in_a_table_of_a_room_exists(self):
        absent = []
        for page in PAGES:
            if page.relative_to(ROOT).parts[0] not in ROOMS:
                continue
            for cells in rows(page.read_text(), "file", "files", "unit", "folder", "room", "part"):
                absent += [f"{page.relative_to(ROOT)}: {name}" for name in names(cells[0])
                           if re.fullmatch(r"[\w./*-]+", name) and not there(page.parent / name.rstrip("/"))
                           and not any(there(folder / name) for folder in page.parent.rglob("*/"))]
        self.assertEqual(absent, [])

    def test_no_question_stands_twice_in_where(self):
        asked = [question for cells in rows((ROOT / "docs/where.md").read_text(), "question")
                 for question in cells[0].split(" · ")]
        self.assertGreater(len(asked), 40)
        self.assertEqual([question for question, times in collections.Counter(asked).items() if times > 1], [])

    def test_each_promise_has_its_tests_in_the_gate(self):
        lists = (ROOT / "tests/CMakeLists.txt").read_text()
        left_out = set(re.search(r"(?ms)^set\(long\b(.*?)\)", lists)[1].split())
        wrong, count = [], 0
        for promise, lowest, end_to_end, *others in rows((ROOT / "docs/promises.md").read_text(), "promise"):
            count += 1
            named = [test for cell in (lowest, end_to_end) for test in tests_of(cell)]
            if len(others) != 2 or not named or len(tests_of(end_to_end)) > 1:
                wrong.append(f"{promise}: a test at the lowest level, or one from end to end, or both")
            wrong += [f"{promise}: {test}" for test in named if not (ROOT / test).is_file()]
            wrong += [f"{promise}: {test} is in `long`" for test in named
                      if re.sub(r"^tests/|\.\w+$", "", test) in left_out]
        self.assertGreater(count, 80)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
