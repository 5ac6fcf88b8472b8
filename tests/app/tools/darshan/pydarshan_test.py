#!/usr/bin/env python3
"""`stoker darshan` beside PyDarshan: every counter and segment of the logs that PyDarshan brings, as both read them; and
what `--output` writes again of them, as PyDarshan reads it.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

from stoker import DARSHAN, environment, stoker, with_packages

with_packages(darshan=DARSHAN)

import darshan  # noqa: E402, pylint: disable=wrong-import-position
from darshan.backend import cffi_backend as backend  # noqa: E402, pylint: disable=wrong-import-position
from darshan_logs import (DXT_POSIX, POSIX, STDIO, counters_record, darshan_log, posix_record,  # noqa: E402
                          segments_record)

EXAMPLES = sorted({path.name: path for path in pathlib.Path(darshan.__file__).parent.rglob("*.darshan")}.values())
READ = {"POSIX", "STDIO", "DXT_POSIX", "HEATMAP"}


def finite(value):
    value = float(value)
    return value if math.isfinite(value) else 0.0


def theirs(path):
    """Everything that PyDarshan reads of a log of what we read."""
    log = backend.log_open(str(path))
    job, modules = backend.log_get_job(log), backend.log_get_modules(log)
    names = backend.log_get_name_records(log)
    result = {"job": {key: job[key] for key in ("uid", "start_time_sec", "start_time_nsec", "end_time_sec", "nprocs", "jobid")},
              "metadata": job["metadata"], "command": backend.log_get_exe(log),
              "mounts": {(kind, mount) for mount, kind in backend.log_get_mounts(log)},
              "modules": {name: (one["ver"], one["partial_flag"]) for name, one in modules.items()}, "records": {}, "names": {}}
    for module in ("POSIX", "STDIO"):
        columns = backend.counter_names(module), backend.fcounter_names(module)
        while (record := backend.log_get_record(log, module, "numpy")) is not None:
            key = module, int(record["id"]), int(record["rank"])
            assert key not in result["records"], key
            result["records"][key] = (dict(zip(columns[0], map(int, record["counters"])))
                                      | dict(zip(columns[1], map(finite, record["fcounters"]))))
            result["names"][key[1]] = names.get(key[1], "")
    while (record := backend.log_get_record(log, "DXT_POSIX", "dict")) is not None:
        key = int(record["id"]), int(record["rank"])
        for part in ("read_segments", "write_segments"):
            if record[part]:
                result["records"][part, *key] = [[one["offset"], one["length"], one["start_time"], one["end_time"]]
                                                 for one in record[part]]
    backend.log_close(log)
    return result


def ours(path, *arguments):
    [log] = json.loads(stoker("darshan", path, "--json", "--records", *arguments, cwd=path.parent).stdout)["logs"]
    job = log["profile"]["job"]
    begin = round(1e9 * job["begin_unix_s"])
    result = {"job": {"uid": job["uid"], "begin_ns": begin, "seconds": job["seconds"], "nprocs": job["ranks"], "jobid": job["job_id"]},
              "metadata": log["metadata"], "command": job["command"],
              "mounts": {(mount["type"], mount["path"]) for mount in log["mounts"]},
              "modules": {module["name"]: (module["version"], module["partial"]) for module in log["modules"]},
              "left_out": {module["name"] for module in log["modules"] if not module["read"]}, "records": {}, "names": {}}
    for record in log["records"]:
        key = record["id"], record["rank"]
        for part in ("POSIX", "STDIO", "read_segments", "write_segments"):
            if part in record:
                result["records"][part, *key] = record[part]
        result["names"][record["id"]] = record["path"]
    return result


LAST_TIMES = [f"POSIX_F_{name}" for name in ("FASTEST_RANK_TIME", "SLOWEST_RANK_TIME", "VARIANCE_RANK_TIME", "VARIANCE_RANK_BYTES")]


class PydarshanTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))

    def write(self, log, name="made.darshan"):
        path = self.dir / name
        path.write_bytes(log)
        return path

    def assert_same_records(self, got, expected):
        self.assertEqual(got["records"].keys(), expected["records"].keys())
        # PyDarshan has 0 for what a record of version 2 or 3 says last.
        lost = {2: LAST_TIMES, 3: LAST_TIMES[2:]}.get(expected["modules"].get("POSIX", (0,))[0], ())
        for key, values in expected["records"].items():
            other = got["records"][key]
            if key[0] == "POSIX" and lost:
                values, other = ({name: value for name, value in one.items() if name not in lost} for one in (values, other))
            self.assertEqual(other, values, key)
        for name, path in expected["names"].items():
            self.assertEqual(got["names"][name], path)

    def assert_same(self, path):
        got, expected = ours(path), theirs(path)
        job = expected["job"]
        for key in ("uid", "nprocs", "jobid"):
            self.assertEqual(got["job"][key], job[key])
        self.assertLess(abs(got["job"]["begin_ns"] - job["start_time_sec"] * 10**9 - job["start_time_nsec"]), 1000)
        self.assertEqual(got["metadata"], expected["metadata"])
        self.assertEqual(got["modules"], expected["modules"])
        self.assertEqual(got["left_out"], expected["modules"].keys() - READ)
        if expected["command"]:  # theirs is empty where there was no room for a mount
            self.assertEqual(got["command"], expected["command"])
        self.assertLessEqual(expected["mounts"], got["mounts"])
        self.assert_same_records(got, expected)
        return expected

    def test_every_counter_of_the_examples_is_what_pydarshan_reads(self):
        counted = set()
        for path in EXAMPLES:
            with self.subTest(path.name):
                counted |= {key[0] for key in self.assert_same(path)["records"]}
        self.assertGreater(len(EXAMPLES), 10)
        self.assertEqual(counted, {"POSIX", "STDIO", "read_segments", "write_segments"})

    def test_what_is_written_again_is_what_pydarshan_read_before(self):
        for path in EXAMPLES:
            with self.subTest(path.name):
                copy = self.dir / path.name
                ours(path, "--output", copy)
                before, after = theirs(path), theirs(copy)
                self.assertEqual(after["job"], before["job"])
                self.assertTrue(after["command"])
                self.assert_same_records(after, before)
                self.assertLessEqual(after["modules"].items(), {"POSIX": (4, False), "STDIO": (2, False), "DXT_POSIX": (1, False),
                                                                "HEATMAP": (1, False)}.items())

    def test_bytes_of_the_heat_map_are_those_of_the_segments(self):
        path = next(path for path in EXAMPLES if path.name == "dxt.darshan")
        copy = self.dir / "copy.darshan"
        ours(path, "--output", copy)
        report = darshan.DarshanReport(str(copy), read_all=True)
        records = theirs(copy)["records"]
        for direction in ("read", "write"):
            moved = sum(segment[1] for key, segments in records.items() if key[0] == f"{direction}_segments" for segment in segments)
            self.assertEqual(report.heatmaps["POSIX"].to_df([direction]).to_numpy().sum(), moved)

    def made(self, order="<", version="3.41", posix=4, stdio=2, **options):
        modules = {
            POSIX: (posix, [posix_record(order, posix, 7, rank, list(range(3, 72)), [0.25 * at for at in range(17)])
                            for rank in (0, 1, -1)]),
            STDIO: (stdio, [counters_record(order, 2**63 + 9, 0, range(14 if stdio == 2 else 13), [0.5 * at for at in range(15)])]),
            DXT_POSIX: (1, [segments_record(order, 7, 0, "node7", [(0, 10, 0.5, 0.75)], [(5, 0, 1, 1), (5, 3, 1, 2)])])}
        if version == "3.00":  # there was no more then
            modules = {POSIX: modules[POSIX]}
        return darshan_log(modules, {7: "/data/a b", 2**63 + 9: "/log/ä"}, version=version, order=order, **options)

    def test_logs_by_bzip2_are_those_by_zlib(self):
        # PyDarshan's package is built without bzip2.
        for order, version, posix, streams in (("<", "3.41", 4, 1), (">", "3.21", 4, 5), ("<", "3.00", 1, 1)):
            with self.subTest(order=order, version=version, streams=streams):
                logs = [self.write(self.made(order, version, posix, packing=packing, streams=streams), packing)
                        for packing in ("zlib", "bzip2")]
                self.assertEqual(ours(logs[1]), ours(logs[0]))

    def test_logs_of_every_version_order_and_compression_are_read(self):
        for order, version, posix, stdio, packing, streams in (
                ("<", "3.41", 4, 2, "zlib", 1), (">", "3.41", 4, 2, "zlib", 1), ("<", "3.41", 4, 2, "none", 1),
                ("<", "3.21", 4, 2, "zlib", 7), ("<", "3.20", 4, 2, "zlib", 1), ("<", "3.10", 3, 1, "zlib", 1),
                ("<", "3.10", 3, 1, "none", 1), ("<", "3.10", 2, 1, "zlib", 1), ("<", "3.00", 1, 1, "zlib", 1)):
            with self.subTest(order=order, version=version, posix=posix, packing=packing, streams=streams):
                self.assert_same(self.write(self.made(order, version, posix, stdio, packing=packing, streams=streams)))

    def test_old_modules_in_the_other_byte_order_are_those_in_ours(self):
        # PyDarshan swaps the counters that it puts in, too.
        for version, posix, partial in (("3.10", 3, {POSIX, STDIO}), ("3.10", 2, {STDIO}), ("3.00", 1, {POSIX})):
            with self.subTest(version=version, posix=posix):
                here = ours(self.write(self.made("<", version, posix, 1)))
                there = ours(self.write(self.made(">", version, posix, 1, partial=partial)))
                self.assert_same_records(there, here)
                self.assertEqual({name for name, (_, is_partial) in there["modules"].items() if is_partial}, partial)

    def test_calls_of_streams_that_old_records_count_apart_are_calls(self):
        # PyDarshan leaves such records out.
        record = posix_record("<", 1, 7, 0, list(range(3, 72)), 17 * [0.5], streams=(10, 200, 3000, 40000))
        log = self.write(darshan_log({POSIX: (1, [record])}, {7: "/data/a"}, version="3.00"))
        self.assertEqual(theirs(log)["records"], {})
        got = ours(log)["records"]["POSIX", 7, 0]
        self.assertEqual([got[f"POSIX_{name}"] for name in ("OPENS", "FILENOS", "READS", "WRITES", "SEEKS", "STATS", "MMAPS", "FSYNCS")],
                         [13, -1, 206, 3007, 40008, 9, 10, 11])
        self.assertEqual([got[f"POSIX_F_{name}_TIMESTAMP"] for name in ("OPEN_START", "CLOSE_START", "OPEN_END", "CLOSE_END")],
                         [0.5, -1, -1, 0.5])

    def test_segments_with_threads_are_those_without(self):
        # Version 2, which came after PyDarshan 3.5.
        segments = [(0, 10, 0.5, 0.75)], [(5, 0, 1, 1), (5, 3, 1, 2)]
        log = darshan_log({DXT_POSIX: (2, [segments_record("<", 7, 0, "node7", *segments, threads=(4, 5, 6))])}, {7: "/data/a"})
        records = ours(self.write(log))["records"]
        self.assertEqual(records["write_segments", 7, 0], [[0, 10, 0.5, 0.75]])
        self.assertEqual(records["read_segments", 7, 0], [[5, 0, 1.0, 1.0], [5, 3, 1.0, 2.0]])

    def test_partial_modules_are_so_when_they_are_written_again(self):
        path, copy = self.write(self.made(partial=(STDIO, DXT_POSIX))), self.dir / "copy.darshan"
        self.assert_same(path)
        ours(path, "--output", copy)
        partial = {name for name, (_, is_partial) in theirs(copy)["modules"].items() if is_partial}
        self.assertEqual(partial, {"STDIO", "DXT_POSIX", "HEATMAP"})

    def test_pydarshans_commands_report_on_what_we_write(self):
        copies = []
        for name in ("dxt.darshan", "sample-dxt-simple.darshan"):
            copies.append(self.dir / name)
            ours(next(path for path in EXAMPLES if path.name == name), "--output", copies[-1])

        def run(*arguments):
            done = subprocess.run([environment(DARSHAN), "-m", "darshan", *map(str, arguments)], capture_output=True, text=True,
                                  cwd=self.dir, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        page = self.dir / "summary.html"
        run("summary", copies[0], "--output", page)
        text = page.read_text()
        for words in ("Heat Map: HEATMAP POSIX", "Operation Counts", "POSIX"):
            self.assertIn(words, text)
        for copy in copies:
            self.assertIn(copy.name, run("job_stats", copy, "--csv"))
            self.assertGreater(run("file_stats", copy, "--csv").count("\n"), 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
