"""Every file and folder that a page of the project names is there."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md"] + [page for folder in ("app", "cmake", "configs", "datasets", "docker", "docs", "io",
                                                    "models", "tests") for page in (ROOT / folder).rglob("*.md")]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:\.ci|app|cmake|configs|datasets|docker|docs|io|models|tests)/[\w./*-]+)[^`\n]*`")


def there(path):
    """Also `io/device/frame_upload` for its header and source, `*.yaml` for several; a new file is called mine."""
    return path.stem == "mine" or path.exists() or any(path.parent.glob(path.name + ("" if "*" in path.name else ".*")))


class Pages(unittest.TestCase):
    def test_every_path_exists(self):
        absent = []
        for page in PAGES:
            text = page.read_text()
            absent += [f"{page.relative_to(ROOT)}: {name}" for name in LINK.findall(text) + NAMED.findall(text)
                       if not there(page.parent / name) and not there(ROOT / name)]
        self.assertEqual(absent, [])


if __name__ == "__main__":
    unittest.main()
