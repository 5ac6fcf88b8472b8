#!/usr/bin/env python3
"""What the first ./run.sh builds: the program and its default decoder, without tools and other plug-ins."""
import shutil
import unittest

import images
from stoker import BUILD, MINI, StokerTest, configuration, free_port


class FirstBuildTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}")

    def setUp(self):
        super().setUp()
        lib = self.dir / "lib"
        (lib / "stoker").mkdir(parents=True)
        for library in BUILD.glob("lib/*.so"):
            (lib / library.name).symlink_to(library)
        for name in ("stoker_train.so", "stoker_jpeg.so"):
            (lib / "stoker" / name).symlink_to(BUILD / "lib/stoker" / name)
        self.lib = lib / "stoker"

    def run_it(self, *arguments, code):
        return self.stoker(*arguments, code=code, env={"LD_LIBRARY_PATH": str(self.lib.parent)})

    def test_it_trains(self):
        self.run_it("check", self.config, code=0)

    def test_a_tool_or_plug_in_that_is_not_there_is_one_line_that_says_how_to_get_it(self):
        for arguments, code, what, plugin in (
                (["report", "runs/latest"], 3, "command 'report'", "stoker_report"),
                (["check", self.config, "decoder.type=opencv"], 2, "decoder 'opencv'", "stoker_opencv"),
                (["healthcheck", "127.0.0.1:1"], 3, "http transport 'curl'", "stoker_http")):
            done = self.run_it(*arguments, code=code)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(f"{what} is in the plug-in {self.lib}/{plugin}.so, which is not there: build the target {plugin}, "
                          "or install it (./run.sh list builds all of them; of the wheels, stoker-train has the trainer's)", done.stderr)

    def test_an_image_that_needs_the_plug_in_is_one_line_that_names_both(self):
        folder = self.dir / "mixed" / "one"
        folder.mkdir(parents=True)
        for image in sorted((MINI / "watch").iterdir())[:8]:
            shutil.copy(image, folder)
        words = ["storage.data.root=mixed", "dataset.split={}", "decoder={size: 32}", "loader.drop_last=false", "metrics.sinks=[]"]
        self.run_it("train", self.config, *words, code=0)
        (folder / "other.png").write_bytes(images.png())
        for policy in ("fail", "skip"):
            done = self.run_it("train", self.config, *words, f"dataset.on_error={{policy: {policy}}}", code=2)
            self.assertIn("error: dataset: one/other.png: it is a PNG image, which decoder.type=auto leaves to opencv: decoder 'opencv' is "
                          f"in the plug-in {self.lib}/stoker_opencv.so, which is not there: build the target stoker_opencv",
                          done.stderr.splitlines()[-1])

    def test_a_sink_that_pushes_is_an_error_before_the_training(self):
        sink = f"{{type: prometheus, listen: '127.0.0.1:{free_port()}', pushgateway: 'http://127.0.0.1:1'}}"
        done = self.run_it("train", self.config, f"metrics.sinks=[{sink}]", code=3)
        self.assertIn(f"http transport 'curl' is in the plug-in {self.lib}/stoker_http.so, which is not there", done.stderr)
        self.assertNotIn("step 1", done.stderr)

    def test_the_help_names_the_commands_that_are_not_there(self):
        done = self.run_it("--help", code=0)
        self.assertRegex(done.stdout, r"Not built here, or not usable: .*\breport\b.*\. `./run.sh list` builds all; of the wheels, "
                                      r"stoker-train has the trainer's\.")


if __name__ == "__main__":
    unittest.main()
