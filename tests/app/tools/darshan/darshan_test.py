#!/usr/bin/env python3
"""`stoker darshan` on logs made here: what it prints, of logs and of runs, and what it refuses."""
import json
import sys
import unittest

from darshan_logs import DXT_POSIX, POSIX, STDIO, counters_record, darshan_log, segments_record
from stoker import StokerTest

# The order of PosixCounters in io/profiler/profile.h.
READS, BYTES_READ, MAX_BYTE_READ, CONSEC_READS, SEQ_READS, SIZE_READ_0_100 = 3, 14, 16, 18, 20, 29
ACCESS1_ACCESS, ACCESS1_COUNT = 57, 61
READ_TIME = 8


def posix_record(name, rank=0, read_s=0.5, **counters):
    values, times = [0] * 69, [0.0] * 17
    for counter, value in counters.items():
        values[globals()[counter]] = value
    times[READ_TIME] = read_s
    return counters_record("<", name, rank, values, times)


def session(**options):
    """Ten seconds and a half; two files of 12 kB are read by a read of their length and one of length zero."""
    reads = [[(0, 12000, 1, 1.25), (12000, 0, 1.25, 1.25)], [(0, 12000, 2, 2.25), (12000, 0, 2.25, 2.5)]]
    records = [posix_record(name, read_s=0.25 * name, READS=2, BYTES_READ=12000, MAX_BYTE_READ=11999, CONSEC_READS=1, SEQ_READS=1,
                            SIZE_READ_0_100=1, ACCESS1_ACCESS=12000, ACCESS1_COUNT=1) for name in (1, 2)]
    modules = {POSIX: (4, records),
               STDIO: (2, [counters_record("<", 3, 0, [1, 0, 0, 5, 0, 1, 500, 0, 0, 499] + 4 * [0], 15 * [0.0])]),
               DXT_POSIX: (1, [segments_record("<", name, 0, "node7", [], reads[name - 1]) for name in (1, 2)])}
    return darshan_log(modules, {1: "/data/a.jpg", 2: "/data/b.jpg", 3: "/out/log"}, **options)


class DarshanTest(StokerTest):
    def log(self, data=None, name="io_profile.darshan"):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or session())
        return path

    def test_a_log_is_shown_with_its_sums_files_and_remarks(self):
        text = self.stoker("darshan", self.log()).stdout
        lines = {line.strip() for line in text.splitlines()}
        self.assertIn("program -x", lines)
        self.assertIn("format 3.41, POSIX 4, STDIO 2, DXT_POSIX 1", lines)
        for words in ("10.5 s from 2017-07-14 02:40:00 UTC, job 42, user 1000, 1 rank, node7", "/data/b.jpg", "/data",
                      "never seen: page faults of mapped files"):
            self.assertIn(words, text)
        self.assertLess(text.index("/data/b.jpg"), text.index("/data/a.jpg"))  # by the time that they took

    def test_names_have_escapes(self):
        records = [posix_record(1, READS=1, BYTES_READ=12000, MAX_BYTE_READ=11999)]
        text = self.stoker("darshan", self.log(darshan_log({POSIX: (4, records)}, {1: "/data/a\x1b[2J\nb.jpg"}))).stdout
        self.assertIn("/data/a\\x1b[2J\\x0ab.jpg", text)
        self.assertNotIn("\x1b", text)

    def test_json_has_what_is_shown(self):
        [log] = self.json("darshan", self.log())["logs"]
        profile = log["profile"]
        self.assertEqual(profile["posix"]["reads"], 4)
        self.assertEqual(profile["stdio"]["writes"], 5)
        self.assertAlmostEqual(profile["read"]["mb_per_s"], 0.024 / 10.5)
        self.assertAlmostEqual(profile["read"]["under_way_s"], 0.75)
        self.assertEqual(profile["read"]["sequential_share"], 0.5)
        self.assertEqual(profile["access_sizes"], [{"value": 12000, "count": 2}])
        self.assertEqual([row["path"] for row in profile["files"]], ["/data/b.jpg", "/data/a.jpg", "/out/log"])
        self.assertEqual(profile["directories"][0]["path"], "/data")
        self.assertNotIn("records", log)

    def test_logs_of_a_run_are_found_in_its_directory_and_its_ranks(self):
        for name in ("io_profile-000005.darshan", "io_profile-000010.darshan", "rank-1/io_profile-000005.darshan", "other.darshan"):
            self.log(name=f"run/{name}")
        logs = self.json("darshan", self.dir / "run")["logs"]
        self.assertEqual([log["log"].partition("/run/")[2] for log in logs],
                         ["io_profile-000005.darshan", "io_profile-000010.darshan", "rank-1/io_profile-000005.darshan"])

    def test_sessions_are_in_the_order_of_their_steps(self):
        names = ["io_profile-0", "io_profile-5", "io_profile-5-2", "io_profile-10", "io_profile-15", "io_profile-100", "rank-1/io_profile-5",
                 "rank-1/io_profile-10", "rank-2/io_profile-10", "rank-10/io_profile-5"]
        for name in sorted(names):
            self.log(name=f"run/{name}.darshan")
        logs = self.json("darshan", self.dir / "run")["logs"]
        self.assertEqual([log["log"].partition("/run/")[2].removesuffix(".darshan") for log in logs], names)
        text = self.stoker("darshan", self.dir / "run").stdout
        self.assertEqual(sorted(names, key=lambda name: text.index(f"/run/{name}.darshan")), names)

    def test_modules_that_are_left_out_are_named(self):
        data = bytearray(session())
        places, versions = 48, 1072
        # DXT_POSIX as module 2, MPI-IO, and as one that nobody knows.
        place, version = data[places + 160:places + 176], data[versions + 40:versions + 44]
        for module in (2, 40):
            data[places + 16 * module:places + 16 * module + 16] = place
            data[versions + 4 * module:versions + 4 * module + 4] = version
        self.assertIn("; left out: MPI-IO, module 40\n", self.stoker("darshan", self.log(bytes(data))).stdout)

    def test_fewer_files_can_be_asked_for(self):
        text = self.stoker("darshan", self.log(), "--files", 1).stdout
        self.assertIn("and 2 more", text)
        self.assertNotIn("/data/a.jpg", text)

    def test_a_session_that_saw_nothing_is_shown(self):
        text = self.stoker("darshan", self.log(darshan_log({}, {}))).stdout
        self.assertIn("never seen", text)

    def test_what_cannot_be_shown_is_an_error_that_says_why(self):
        self.assertIn("has no io_profile*.darshan", self.stoker("darshan", self.dir, code=3).stderr)
        self.assertIn("there is no such file", self.stoker("darshan", self.dir / "none", code=3).stderr)
        self.assertIn("is no log of Darshan 3", self.stoker("darshan", self.config, code=4).stderr)
        self.assertIn("cut off", self.stoker("darshan", self.log(session()[:-1]), code=4).stderr)
        log = self.log()
        self.assertIn("name one", self.stoker("darshan", log, log, "--output", "copy", code=2).stderr)
        self.stoker("darshan", log, "--records", code=2)

    def test_records_have_every_counter(self):
        [log] = self.json("darshan", self.log(), "--records")["logs"]
        record = log["records"][0]
        self.assertEqual(record["POSIX"]["POSIX_BYTES_READ"], 12000)
        self.assertEqual(record["POSIX"]["POSIX_F_READ_TIME"], 0.25)
        self.assertEqual(record["read_segments"], [[0, 12000, 1.0, 1.25], [12000, 0, 1.25, 1.25]])
        self.assertEqual(len(record["POSIX"]), 69 + 17)

    def test_single_reads_become_a_trace_with_a_row_for_each_file(self):
        done = self.stoker("darshan", self.log(), "--trace", self.dir)
        self.assertIn("trace: 4 events in", done.stderr)
        events = json.loads((self.dir / "trace.json").read_text())
        rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        reads = [event for event in events if event["ph"] == "X"]
        self.assertEqual([(rows[event["tid"]], event["args"]["offset"], event["args"]["bytes"], event["dur"]) for event in reads],
                         [("/data/a.jpg", 0, 12000, 250000.0), ("/data/a.jpg", 12000, 0, 0.0),
                          ("/data/b.jpg", 0, 12000, 250000.0), ("/data/b.jpg", 12000, 0, 250000.0)])
        self.assertAlmostEqual(reads[2]["ts"] - reads[0]["ts"], 1e6, delta=1)

    def test_the_json_is_one_document(self):
        json.loads(self.stoker("darshan", self.log(), self.log(name="b.darshan"), "--json").stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
