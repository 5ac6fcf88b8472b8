#!/usr/bin/env python3
"""What the first ./run.sh builds: the program and its default decoder, without tools and other plug-ins."""
import unittest

from stoker import BUILD, StokerTest, configuration, free_port


class FirstBuildTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}")

    def setUp(self):
        super().setUp()
        lib = self.dir / "lib"
        (lib / "stoker").mkdir(parents=True)
        for library in BUILD.glob("lib/*.so"):
            (lib / library.name).symlink_to(library)
        (lib / "stoker/stoker_jpeg.so").symlink_to(BUILD / "lib/stoker/stoker_jpeg.so")
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
                          "or install it (./run.sh list builds all of them)", done.stderr)

    def test_a_sink_that_pushes_is_an_error_before_the_training(self):
        sink = f"{{type: prometheus, listen: '127.0.0.1:{free_port()}', pushgateway: 'http://127.0.0.1:1'}}"
        done = self.run_it("train", self.config, f"metrics.sinks=[{sink}]", code=3)
        self.assertIn(f"http transport 'curl' is in the plug-in {self.lib}/stoker_http.so, which is not there", done.stderr)
        self.assertNotIn("step 1", done.stderr)

    def test_the_help_names_the_commands_that_are_not_there(self):
        done = self.run_it("--help", code=0)
        self.assertRegex(done.stdout, r"Not built here, or not usable: .*\breport\b.*\. `./run.sh list` builds all\.")


if __name__ == "__main__":
    unittest.main()
