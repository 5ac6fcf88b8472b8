#!/usr/bin/env python3
"""metrics.io_profile: sessions by steps, by SIGUSR2 and by POST; what they count of a training, and what it leaves."""
import json
import os
import pathlib
import re
import shutil
import signal
import time
import unittest
import urllib.error
import urllib.request

from stoker import MINI, StokerTest, configuration, emulated, flow, long, posix, read_summary

BATCH, STEPS = 16, 16
# The tests may lie where the defaults look away.
EVERYTHING = {"exclude": "[]", "include": "[]"}
SESSIONS = flow(every_steps=4, steps=4, **EVERYTHING)
ENDLESS = ("device={type: emulated, step_ms: 2}", "training.max_steps=1000000", "training.epochs=100000",
           f"metrics.io_profile={flow(**EVERYTHING)}")


class IoProfileTest(StokerTest):
    CONFIG = configuration(
        tiers={"data": flow(type="posix", read="tensorflow", root=MINI), "slow": posix("slow")},
        loader=f"{{type: sync, batch_size: {BATCH}, shuffle: true}}", training=f"{{max_steps: {STEPS}}}",
        evaluation="{enabled: false}", checkpoint="{type: direct, slow: slow, every_steps: 6, write: stdio}",
        metrics=f"{{every_steps: 4, io_profile: {SESSIONS}, sinks: [{{type: csv}}, {{type: trace}}]}}")

    def profiles(self, *options):
        """Of each log of the latest run, in their order: (step, profile, records)."""
        logs = self.json("darshan", self.latest, "--records", "--files", 100000, *options)["logs"]
        return [(int(re.search(r"io_profile-(\d+)\.darshan$", log["log"])[1]), log["profile"], log["records"]) for log in logs]

    def images(self, records):
        return [record["POSIX"] for record in records if record["path"].endswith(".jpg")]

    def test_sessions_by_steps_count_every_read_of_their_steps(self):
        self.stoker("train", self.config)
        profiles = self.profiles()
        self.assertEqual([step for step, *_ in profiles], [0, 4, 8, 12])
        for step, profile, records in profiles:
            self.assertEqual(profile["job"]["steps"], [step, step + 4])
            images = self.images(records)
            self.assertEqual(len(images), 4 * BATCH)
            # A file is read by one call of its length and one of length zero, and by none else.
            self.assertEqual({(one["POSIX_OPENS"], one["POSIX_READS"]) for one in images}, {(1, 2)})
            self.assertEqual(sum(one["POSIX_SIZE_READ_0_100"] for one in images), 4 * BATCH)
            self.assertEqual(profile["dropped"]["files"], 0)
            for record in records:
                if record["path"].endswith(".jpg"):
                    self.assertEqual(record["POSIX"]["POSIX_BYTES_READ"], pathlib.Path(record["path"]).stat().st_size)
        read = sum(record["POSIX"]["POSIX_BYTES_READ"] for _, _, records in profiles for record in records
                   if record["path"].endswith(".jpg"))
        summary = read_summary(self.latest)
        self.assertEqual(read, summary["tiers"]["data"]["read"]["bytes"])
        self.assert_sums(summary["io_profile"], [profile for _, profile, _ in profiles])

    def assert_sums(self, together, profiles):
        """The summary's figures are those of all sessions; quotients are of the sums."""
        def total(*place):
            values = profiles
            for name in place:
                values = [value[name] for value in values]
            return [sum(column) for column in zip(*values)] if isinstance(values[0], list) else sum(values)
        self.assertEqual((together["sessions"], together["files"]), (len(profiles), total("files_in_all")))
        for place in (("posix", "opens"), ("posix", "reads"), ("stdio", "writes"), ("read", "bytes"), ("write", "bytes"),
                      ("read", "sizes", "counts"), ("file_sizes", "counts")):
            value = together
            for name in place:
                value = value[name]
            self.assertEqual(value, total(*place), place)
        self.assertEqual(together["read"]["sizes"]["bounds"], profiles[0]["read"]["sizes"]["bounds"])
        read = together["read"]
        self.assertAlmostEqual(read["sequential_share"], total("read", "sequential") / total("posix", "reads"))
        self.assertAlmostEqual(read["mb_per_s"] * together["seconds"], 1e-6 * read["bytes"])

    @long
    def test_checkpoints_are_streams_of_as_many_calls_as_the_layout_says(self):
        self.stoker("train", self.config)
        sets = {6: 4, 12: 8}  # saved after these steps, in the sessions that began there
        for step, session in sets.items():
            profile, records = next((profile, records) for first, profile, records in self.profiles() if first == session)
            written = [record for record in records if "state.safetensors" in record["path"] and record.get("STDIO")]
            self.assertEqual(len(written), 1, step)
            size = (self.latest.parents[1] / "slow/trial" / f"step-{step:010d}" / "state.safetensors").stat().st_size
            self.assertEqual(written[0]["STDIO"]["STDIO_BYTES_WRITTEN"], size)
            self.assertEqual(written[0]["STDIO"]["STDIO_WRITES"], -(-size // (8 << 20)))
            [row] = [file for file in profile["files"] if file["path"] == written[0]["path"]]
            self.assertEqual(row["bytes_written"], size)
            [folder] = [one for one in profile["directories"] if one["path"] == os.path.dirname(row["path"])]
            self.assertGreaterEqual(folder["bytes_written"], size)

    @long
    def test_each_file_has_a_row_in_the_trace(self):
        self.stoker("train", self.config)
        text = (self.latest / "trace.json").read_text()
        names = [event["args"]["name"] for event in json.loads(text) if event["name"] == "thread_name"]
        files = {record["path"] for _, _, records in self.profiles() for record in records if record["path"].endswith(".jpg")}
        self.assertLessEqual(files, set(names))

    def test_files_of_tiers_are_seen_wherever_they_lie(self):
        outside = self.dir / "left out"
        shutil.copytree(MINI, outside / "data")
        (self.dir / "link").symlink_to(outside)
        left_out = flow(every_steps=4, steps=4, exclude=f'["{self.dir}", "{MINI}"]', include="[]")
        for root in (outside / "data", "./left out//data", "link/data"):
            self.stoker("train", self.config, f'storage.data.root="{root}"', f"metrics.io_profile={left_out}",
                        "checkpoint={type: none}", "training.max_steps=4")
            [(_, _, records)] = self.profiles()
            self.assertEqual(len(self.images(records)), 4 * BATCH, root)
            self.assertEqual([record["path"] for record in records if record["path"].endswith(".csv")], [])

    @long
    def test_waits_for_an_emulated_tier_are_beside_the_calls_on_files(self):
        self.stoker("train", self.config, f"storage.data={emulated(read_latency_ms=20)}", "checkpoint={type: none}",
                    "training.max_steps=4")
        [(_, profile, records)] = self.profiles()
        [waits] = profile["emulated"]
        self.assertEqual(waits["tier"], "data")
        read = read_summary(self.latest)["tiers"]["data"]["read"]["duration_s"]
        calls = sum(one["POSIX_F_READ_TIME"] for one in self.images(records))
        self.assertGreater(waits["read_s"], 0)
        # A read takes what its calls and its wait take, and what lies between them.
        self.assertLessEqual(waits["read_s"] + calls, read["sum"] + 4 * BATCH * 0.02)
        self.assertGreaterEqual(profile["time_share"]["read"], waits["read_s"] / profile["job"]["seconds"])
        self.assertTrue(any(remark.startswith("tier 'data' is EMULATED: ") for remark in profile["remarks"]), profile["remarks"])

    @long
    def test_the_bandwidth_of_an_emulated_tier_is_its_own(self):
        rate = 2.0
        self.stoker("train", self.config, f"storage.data={emulated(read_mb_per_s=rate, write_mb_per_s=rate)}", "checkpoint={type: none}",
                    "training.max_steps=4", f"metrics.io_profile={flow(every_steps=4, steps=4)}")
        [(_, profile, records)] = self.profiles()
        [tier] = profile["emulated"]
        images = sum(one["POSIX_BYTES_READ"] for one in self.images(records))
        self.assertEqual(tier["bytes_read"], images)
        # Its meter's time has the calls below it, and the files of the system are read beside it.
        self.assertLessEqual(tier["read_mb_per_s"], rate * 1.01)
        self.assertGreater(tier["read_mb_per_s"], 0.5 * rate)
        self.assertLessEqual(profile["read"]["under_way_mb_per_s"], rate * 1.01 * profile["read"]["bytes"] / images)
        text = self.stoker("darshan", self.latest).stdout
        self.assertRegex(text, rf"read, EMULATED tier data +- +{images / 1e6:.3f} +- +{tier['read_mb_per_s']:.3f} ")
        [log] = self.json("darshan", self.latest)["logs"]
        self.assertRegex(log["metadata"]["stoker_emulated"], r"^[\d.]+ [\d.]+ [\d.]+ data ")

    def running(self, *overrides):
        process = self.start("train", self.config, *ENDLESS, "checkpoint={type: none}", *overrides)
        process.until(lambda: (self.latest / "steps.csv").read_text().count("\n") > 2)
        return process

    def ended(self, process, count=1):
        process.until(lambda: len([*self.latest.glob("io_profile-*.darshan")]) == count)

    def test_a_signal_begins_a_session_and_another_one_ends_it(self):
        process = self.running()
        self.assertEqual([*self.latest.glob("io_profile-*")], [])
        for count in (1, 2):
            process.send(signal.SIGUSR2)
            process.until(lambda: "I/O profiler: attached" in process.log)
            before = self.steps()
            process.until(lambda before=before: self.steps() > before + 8)
            process.send(signal.SIGUSR2)
            self.ended(process, count)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        for _, profile, records in self.profiles():
            self.assertGreater(len(self.images(records)), BATCH)

    @long
    def test_sessions_begin_and_end_between_batches_of_an_evaluation(self):
        slow = emulated(read_latency_ms=100)  # of 300 samples
        process = self.start("train", self.config, f"storage.data={slow}", "dataset.split={train_per_class: 1, test_per_class: 30}",
                             "loader={type: sync, batch_size: 2}", "training.max_steps=5", "evaluation={every_epochs: 1}",
                             f"metrics.io_profile={flow(**EVERYTHING)}", "metrics.every_steps=1", "checkpoint={type: none}")
        process.until(lambda: "\n5," in (self.latest / "steps.csv").read_text())

        def toggled():  # two before a batch are one
            process.send(signal.SIGUSR2)
            time.sleep(0.3)
            return {path.name for path in self.latest.glob("io_profile*")} >= {"io_profile-5.darshan", "io_profile-5-2.darshan"}
        process.until(toggled)
        self.assertNotIn("top-1", process.log)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertEqual(self.json("darshan", self.latest)["logs"][0]["profile"]["job"]["steps"], [5, 5])

    def steps(self):
        return int((self.latest / "steps.csv").read_text().splitlines()[-1].split(",")[0])

    @long
    def test_a_session_that_is_open_at_the_end_is_kept(self):
        process = self.running()
        process.send(signal.SIGUSR2)
        process.until(lambda: "I/O profiler: attached" in process.log)
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75)
        self.assertEqual(len(self.profiles()), 1)

    def post(self, port, path):
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method="POST")
        try:
            with urllib.request.urlopen(asked, timeout=20) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    def serving(self, control):
        sink = flow(type="prometheus", listen="127.0.0.1:9464", port="auto", control=control)
        process = self.running(f"metrics.sinks=[{{type: csv}}, {sink}]")
        return process, int(re.search(r"http://127.0.0.1:(\d+)/", process.log)[1])

    @long
    def test_the_live_server_begins_and_ends_a_session_and_shows_it(self):
        process, port = self.serving("true")
        self.assertEqual(self.post(port, "/api/io_profile/begin"), 200)
        process.until(lambda: "I/O profiler: attached" in process.log)
        before = self.steps()
        process.until(lambda: self.steps() > before + 8)
        self.assertEqual(self.post(port, "/api/io_profile/end"), 200)
        self.ended(process)

        def shown():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status", timeout=20) as reply:
                return json.load(reply).get("io_profile")
        profile = process.until(shown)
        self.assertGreater(profile["posix"]["reads"], 2 * BATCH)
        process.send(signal.SIGTERM)
        process.wait()

    def test_the_live_server_takes_no_orders_unless_it_is_told_to(self):
        process, port = self.serving("false")
        self.assertEqual(self.post(port, "/api/io_profile/begin"), 405)
        process.send(signal.SIGTERM)
        process.wait()
        self.assertEqual([*self.latest.glob("io_profile-*")], [])


if __name__ == "__main__":
    unittest.main()
