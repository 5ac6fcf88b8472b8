"""docs/figures.md is what the program prints. With --update: writes the page."""
import sys
import unittest

from stoker import SOURCE, stoker

PAGE = SOURCE / "docs/figures.md"


def page():
    return stoker("list", "--figures", cwd="/").stdout


class Page(unittest.TestCase):
    def test_the_page_says_what_the_program_says(self):
        self.assertEqual(PAGE.read_text(), page(), "tests/run update")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        PAGE.write_text(page())
    else:
        unittest.main()
