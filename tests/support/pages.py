"""The commands of a page of docs/, run as they stand there, in a folder with the project's configurations and images."""
import os
import re
import shutil
import subprocess

from stoker import BUILD, SOURCE, StokerTest

AT_MOST = 10  # commands of a section
FINDING_OUTSIDE = 7  # of a sweep: a few steps on a busy machine need not find what a study did


class PageTest(StokerTest):
    def setUp(self):
        super().setUp()
        (self.dir / "configs").symlink_to(SOURCE / "configs")
        shutil.copytree(SOURCE / "datasets", self.dir / "datasets")  # `bench storage` writes beside the data

    def page(self, name):
        return (SOURCE / "docs" / name).read_text()

    def run_commands(self, name):
        """Those of each section, by a shell: what they print."""
        printed = ""
        path = {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
        for section in re.split(r"(?m)^## ", self.page(name)):
            commands = re.findall(r"(?m)^ {4}(stoker .+)$", section)
            self.assertLessEqual(len(commands), AT_MOST, section)
            for command in commands:
                with self.subTest(command):
                    done = subprocess.run(["bash", "-c", command], cwd=self.dir, env=os.environ | path, capture_output=True,
                                          text=True, check=False)
                    expected = (0, FINDING_OUTSIDE) if command.startswith("stoker sweep ") else (0,)
                    self.assertIn(done.returncode, expected, done.stdout + done.stderr)
                    printed += done.stdout
        return printed
