"""Files that commands write where the user says: standard output, a device, a FIFO or a link stays what it is, and gets the whole file and nothing else."""
import json
import os
import stat
import subprocess
import threading
import unittest

from stoker import MINI, STOKER, StokerTest, configuration, emulated, long, posix

PICTURE = next(MINI.rglob("*.jpg"))


class Outputs(StokerTest):
    CONFIG = configuration(tiers={"data": emulated(profile="ssd"), "fast": emulated("fast", profile="optane")}, model="{type: linear}", training="{max_steps: 2}")

    def setUp(self):
        super().setUp()
        self.stoker("run", "--log", "cat.darshan", "--", "wc", PICTURE)
        self.plain = {}
        for number, words in enumerate(self.commands()):
            self.stoker(*words, f"plain-{number}")
            self.plain[number] = (self.dir / f"plain-{number}").read_bytes()

    def commands(self):
        """Each ends with the option that takes the file."""
        return [["report", "cat.darshan", "--output"], ["darshan", "cat.darshan", "--output"],
                ["advise", self.config, "--fast", "fast", "--max-file", 10_000, "--output"]]

    def check(self, number, written):
        """Plans say when they were made."""
        if written[:1] == b"{":
            self.assertEqual(json.loads(written)["objects"], json.loads(self.plain[number])["objects"])
        else:
            self.assertEqual(written, self.plain[number])

    def test_standard_output_gets_the_file_alone(self):
        for number, words in enumerate(self.commands()):
            for name in ("-", "/dev/stdout"):
                with self.subTest(words, name=name):
                    done = subprocess.run([STOKER, *map(str, words), name], cwd=self.dir, capture_output=True, check=True)
                    self.check(number, done.stdout)

    def test_a_link_stays_and_its_file_is_written(self):
        for number, words in enumerate(self.commands()):
            with self.subTest(words):
                link = self.dir / f"link-{number}"
                link.symlink_to(f"target-{number}")
                self.stoker(*words, link)
                self.assertTrue(link.is_symlink())
                self.check(number, (self.dir / f"target-{number}").read_bytes())

    def test_a_device_stays(self):
        null = self.dir / "null"
        try:
            os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            null.open("wb").close()
        except OSError as error:
            self.skipTest(f"no devices can be made here: {error}")
        for words in self.commands():
            with self.subTest(words):
                self.stoker(*words, null)
                self.assertTrue(stat.S_ISCHR(null.stat().st_mode))

    def test_a_fifo_gets_the_file(self):
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        for number, words in enumerate(self.commands()):
            with self.subTest(words):
                read = []
                reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
                reader.start()
                self.stoker(*words, fifo)
                reader.join()
                self.check(number, read[0])
                self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    @long
    def test_a_plan_that_a_training_reads_is_a_file(self):
        for name in ("-", "/dev/null"):
            done = self.stoker("advise", self.config, "--fast", "fast", "--max-file", 10_000, "--auto", "--output", name, code=2)
            self.assertIn("keeps none: name a file by --output", done.stderr)


if __name__ == "__main__":
    unittest.main()
