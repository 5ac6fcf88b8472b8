#!/usr/bin/env python3
"""A wall clock that is set while a training runs, forwards and back: durations and rates stay right, nothing waits for
it, and the newest sets are kept.
"""
import re
import unittest
import urllib.request

from stoker import BUILD, StokerTest, configuration, flow, free_port, posix, slow_decoder

DAY = 86400
JUMPS = (DAY, -2 * DAY, 3650 * DAY, -30, 0)  # after so many steps each, the clock is off by so many seconds
STEPS_EACH = 3
LAST = STEPS_EACH * len(JUMPS)
SHORT_S = 120  # no duration of this run is longer
NO_DURATION = re.compile(r"unix|timestamp|system")  # of this run


class ClockTest(StokerTest):
    CONFIG = configuration(
        tiers={"fast": posix("fast"), "slow": posix("slow")},
        dataset="{type: synthetic, samples: 400, test_samples: 4, unique: 4}", loader="{type: sync, batch_size: 4}",
        training=flow(max_steps=LAST),
        checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 2, retry_seconds: 0.01}")

    def test_set_forwards_and_back(self):
        shift, port = self.dir / "shift", free_port()
        shift.write_text("0")
        clock = {"LD_PRELOAD": str(BUILD / "tests/libshifted_clock.so"), "CLOCK_SHIFT": str(shift)}
        sinks = ", ".join(f"{{type: {sink}}}" for sink in ("console", "csv", "trace", "timelogger", "tensorboard"))
        process = self.start(
            "train", self.config, *slow_decoder(20, 16), "--json",
            f"metrics={{every_steps: 1, sinks: [{sinks}, {{type: timeline, seconds: 0.05}}, "
            f"{{type: prometheus, listen: '127.0.0.1:{port}', save_seconds: 1, stalled_seconds: 60}}]}}",
            env=clock)
        for number, seconds in enumerate(JUMPS):
            self.assertTrue(process.wait_for(rf" step {number * STEPS_EACH + 1}/{LAST} "), process.log)
            shift.write_text(str(seconds))
            self.expect_scraped(port)
        self.assertEqual(process.wait(), 0, process.log)
        run = self.latest
        self.expect_durations((run / "metrics.prom").read_text())
        for name in ("steps.csv", "timeline.csv"):
            self.expect_rows((run / name).read_text().splitlines())
        shift.write_text(str(-DAY))
        sets = self.json("checkpoint", "list", self.config, env=clock)
        self.assertEqual({one["step"] for one in sets}, {LAST - 1, LAST})
        self.assertFalse([one for one in sets if one.get("age_s") and one["age_s"] < 0])
        self.stoker("checkpoint", "verify", self.config, "--all")

    def expect_scraped(self, port):
        for page in ("metrics", "healthz", "api/status"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as reply:
                self.assertEqual(reply.status, 200)
                text = reply.read().decode()
            if page == "metrics":
                self.expect_durations(text)

    def expect_durations(self, text):
        for name, value in re.findall(r"^(stoker_\w+)(?:\{.*\})? (-?[\d.e+-]+)$", text, re.MULTILINE):
            if not NO_DURATION.search(name):
                self.assertGreaterEqual(float(value), 0, name)
                if name.endswith(("_seconds", "_seconds_total")):
                    self.assertLess(float(value), SHORT_S, name)

    def expect_rows(self, lines):
        names = lines[0].split(",")
        self.assertGreater(len(lines), 3)
        for line in lines[1:]:
            for name, value in zip(names, line.split(",")):
                if value and re.search(r"(?<!unix)_s$", name):
                    self.assertGreaterEqual(float(value), 0, name)
                    if "per_s" not in name:
                        self.assertLess(float(value), SHORT_S, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
