#!/usr/bin/env python3
"""The I/O profiler's log of a training beside what other tools saw of the same process: strace below it, dftracer above
it; and Darshan's own report of that log."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import strace_log
from stoker import DARSHAN, MINI, StokerTest, configuration, environment, flow, needed, posix

# The tests may lie where the defaults look away.
WHOLE = flow(every_steps=1000000, steps=1000000, exclude="[]", include="[]")
DFTRACER = "dftracer==2.2.0"


class OtherToolsTest(StokerTest):
    # Without workers, which may read while the session begins or ends.
    CONFIG = configuration(
        loader="{type: sync, batch_size: 16}",
        tiers={"data": flow(type="posix", read="tensorflow", root=MINI), "slow": posix("slow")},
        evaluation="{every_epochs: 1}", checkpoint="{type: direct, slow: slow, every_steps: 6, write: buffered}",
        metrics=f"{{every_steps: 4, io_profile: {WHOLE}, sinks: [{{type: csv}}]}}")
    maxDiff = 2000

    def session(self):
        """(when it began and ended, {path: its record}) of the latest run's only session."""
        [log] = self.json("darshan", self.latest, "--records")["logs"]
        job = log["profile"]["job"]
        return ((job["begin_unix_s"], job["begin_unix_s"] + job["seconds"]),
                {os.path.realpath(record["path"]): record for record in log["records"]})

    def traced(self, *overrides):
        """What strace and the session saw of the data set and the checkpoints: {path: (calls, record)}."""
        traces = self.dir / "traces"
        traces.mkdir()
        self.stoker("train", self.config, *overrides,
                    before=[needed("strace", package="strace"), *strace_log.OPTIONS, "-o", traces / "t"])
        (begin, end), records = self.session()
        both = {}
        for path, calls in strace_log.calls_by_file(traces).items():
            calls = [call for call in calls if begin <= call.at <= end]
            if calls and path.startswith((f"{MINI.resolve()}/", f"{self.dir.resolve()}/slow/")):
                both[path] = calls, records.get(path)
        images = {path for path in records if path.endswith(".jpg")}
        self.assertEqual(images, {path for path in both if path.endswith(".jpg")})
        self.assertGreater(len(images), 300)
        return both

    def test_every_counter_of_posix_is_what_the_rules_make_of_straces_calls(self):
        compared = collections.Counter()
        for path, (calls, record) in self.traced().items():
            if os.path.isdir(path):
                continue
            self.assertIn("POSIX", record or {}, path)
            self.assertNotIn("STDIO", record, path)
            counters = record["POSIX"]
            expected = strace_log.posix_counters(calls, counters["POSIX_FILE_ALIGNMENT"])
            self.assertEqual({name: counters[name] for name in expected}, expected, f"{path}: {calls}")
            compared.update(name for name, value in expected.items() if value != 0)
        for name in ("OPENS", "READS", "BYTES_READ", "CONSEC_READS", "WRITES", "BYTES_WRITTEN", "STATS", "SIZE_READ_10K_100K"):
            self.assertGreater(compared[f"POSIX_{name}"], 0, name)

    def test_streams_write_what_strace_saw_arrive(self):
        streams = 0
        for path, (calls, record) in self.traced("checkpoint.write=stdio").items():
            if not (record or {}).get("STDIO"):
                continue
            streams += 1
            written = sum(call.result for call in calls if call.kind == "write")
            self.assertEqual(record["STDIO"]["STDIO_BYTES_WRITTEN"], written, path)
            self.assertEqual(record["STDIO"]["STDIO_OPENS"], sum(call.kind == "open" for call in calls), path)
        self.assertGreaterEqual(streams, 3)

    def test_dftracer_in_the_same_process_counts_the_same_opens_reads_and_bytes(self):
        python = environment(DFTRACER)
        [library] = pathlib.Path(python).parents[1].rglob("libdftracer_preload.so")
        self.stoker("train", self.config, "checkpoint={type: none}", env={
            "LD_PRELOAD": library, "DFTRACER_ENABLE": "1", "DFTRACER_INIT": "PRELOAD", "DFTRACER_DATA_DIR": "all",
            "DFTRACER_INC_METADATA": "1", "DFTRACER_TRACE_COMPRESSION": "0", "DFTRACER_LOG_FILE": self.dir / "calls"})
        (begin, end), records = self.session()
        [trace] = self.dir.glob("calls*.pfw")
        events = [json.loads(line.rstrip(",")) for line in trace.read_text().splitlines() if line.startswith("{")]
        names = {event["args"]["value"]: event["args"]["name"] for event in events if event["name"] == "FH"}
        theirs = collections.defaultdict(collections.Counter)
        for event in events:
            path, at = os.path.realpath(names.get(event.get("args", {}).get("fhash"), "")), 1e-6 * event.get("ts", 0)
            if path.endswith(".jpg") and begin <= at <= end and event["name"] != "close":
                theirs[path][event["name"]] += 1
                theirs[path]["bytes"] += max(0, event["args"].get("ret", 0))
        ours = {path: collections.Counter({"open": one["POSIX"]["POSIX_OPENS"], "pread": one["POSIX"]["POSIX_READS"],
                                           "bytes": one["POSIX"]["POSIX_BYTES_READ"]})
                for path, one in records.items() if path.endswith(".jpg")}
        self.assertGreater(len(ours), 300)
        self.assertEqual({path: (dict(counts), dict(theirs[path])) for path, counts in ours.items() if counts != theirs[path]}, {})
        self.assertEqual(theirs.keys(), ours.keys())

    def test_pydarshan_reports_on_the_log_of_a_training(self):
        self.stoker("train", self.config, "checkpoint.write=stdio")
        [log] = self.latest.glob("io_profile-*.darshan")
        done = subprocess.run([environment(DARSHAN), "-m", "darshan", "summary", log, "--output", self.dir / "page.html"],
                              cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, re.compile("error|traceback", re.IGNORECASE))
        page = (self.dir / "page.html").read_text()
        for words in ("Heat Map: HEATMAP POSIX", "Operation Counts", "POSIX", "STDIO", "stoker train"):
            self.assertIn(words, page)


if __name__ == "__main__":
    sys.exit(unittest.main())
