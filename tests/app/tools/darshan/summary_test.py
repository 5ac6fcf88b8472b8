#!/usr/bin/env python3
"""Each view of a session that saw reads by descriptors and checkpoints by streams, beside PyDarshan's summary of its log: the
tables and pictures of `python -m darshan summary` are made of the functions that are called here."""
import importlib
import json
import os
import pathlib
import sys
import tempfile
import unittest

from stoker import DARSHAN, MINI, configuration, flow, posix, stoker, with_packages

with_packages(darshan=DARSHAN)

import darshan  # noqa: E402, pylint: disable=wrong-import-position
from darshan.backend.cffi_backend import accumulate_records  # noqa: E402, pylint: disable=wrong-import-position

darshan.enable_experimental()
# By name: what the package calls plot_io_cost is the function of that module.
data_access_by_filesystem, plot_common_access_table, plot_io_cost, plot_opcounts = (
    importlib.import_module(f"darshan.experimental.plots.{name}")
    for name in ("data_access_by_filesystem", "plot_common_access_table", "plot_io_cost", "plot_opcounts"))

WHOLE = flow(every_steps=1000000, steps=1000000, exclude="[]", include="[]")
DIRECTIONS = {"read": "reads", "write": "writes"}


# The paper's checkpoint experiment: a set after each two steps, as TensorFlow's Saver writes it, with fwrite().
CONFIG = configuration(
    loader="{type: sync, batch_size: 16, shuffle: true}", training="{max_steps: 8}", evaluation="{enabled: false}",
    tiers={"data": flow(type="posix", read="tensorflow", root=MINI), "slow": posix("slow")}, model="{type: two_layer_cnn}",
    checkpoint="{type: direct, slow: slow, every_steps: 2, write: stdio, layout: tf_saver}",
    metrics=f"{{every_steps: 4, io_profile: {WHOLE}, sinks: [{{type: csv}}]}}")


class SummaryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))
        (cls.dir / "trial.yaml").write_text(CONFIG)
        stoker("train", "trial.yaml", cwd=cls.dir)
        [cls.path] = (cls.dir / "runs/latest").glob("io_profile-*.darshan")
        cls.profile = cls.shown(cls.path)
        cls.report = darshan.DarshanReport(str(cls.path), read_all=True)
        cls.frames = {module: cls.report.records[module].to_df() for module in ("POSIX", "STDIO")}

    @classmethod
    def shown(cls, path):
        return json.loads(stoker("darshan", path, "--files", 100000, "--json", cwd=cls.dir).stdout)["logs"][0]["profile"]

    def summed(self, module, name):
        return int(self.frames[module]["counters"][f"{module}_{name}"].sum())

    def overview(self, module):
        """The module's sums over all its files: how many they are, and their bytes."""
        metrics = accumulate_records(dict(self.frames[module]), module, 1).derived_metrics  # the sums are its memory
        of_all = metrics.category_counters[0]
        return int(of_all.count), {"read": int(of_all.total_read_volume_bytes), "write": int(of_all.total_write_volume_bytes)}

    def test_bandwidth_is_of_the_bytes_of_both_modules(self):
        (_, of_posix), (_, of_stdio) = map(self.overview, ("POSIX", "STDIO"))
        self.assertGreater(of_stdio["write"], 10 * of_posix["write"])
        for direction in DIRECTIONS:
            moved = of_posix[direction] + of_stdio[direction]
            view = self.profile[direction]
            self.assertEqual(view["bytes"], moved)
            self.assertEqual(view["operations"], sum(self.summed(module, DIRECTIONS[direction].upper()) for module in ("POSIX", "STDIO")))
            self.assertAlmostEqual(view["mb_per_s"], 1e-6 * moved / self.report.metadata["job"]["run_time"], delta=1e-3 * view["mb_per_s"])
            self.assertAlmostEqual(view["under_way_mb_per_s"] * view["under_way_s"], 1e-6 * moved, places=3)

    def test_operations_and_files_are_those_of_each_module(self):
        names = {"POSIX": {"Read": "reads", "Write": "writes", "Open": "opens", "Stat": "stats", "Seek": "seeks", "Mmap": "mmaps",
                           "Fsync": "syncs"},
                 "STDIO": {"Read": "reads", "Write": "writes", "Open": "opens", "Seek": "seeks", "Flush": "flushes"}}
        for module, labels in names.items():
            counts = dict(zip(*plot_opcounts.gather_count_data(self.report, module)))
            self.assertEqual(counts.keys(), labels.keys())
            for label, count in counts.items():
                self.assertEqual(self.profile[module.lower()][labels[label]], count, (module, label))
            self.assertEqual(self.profile[module.lower()]["files"], self.overview(module)[0])

    def test_the_time_in_calls_is_that_of_io_cost(self):
        cost = plot_io_cost.get_io_cost_df(self.report)
        for module in ("POSIX", "STDIO"):
            for part in ("Read", "Write", "Meta"):
                self.assertAlmostEqual(self.profile[module.lower()][f"{part.lower()}_s"], cost.loc[module, part], places=5)

    def test_the_order_of_reads_is_that_of_posix(self):
        for direction, calls in DIRECTIONS.items():
            count = self.summed("POSIX", calls.upper())
            for kind, counter in (("sequential", "SEQ"), ("consecutive", "CONSEC")):
                expected = self.summed("POSIX", f"{counter}_{calls.upper()}") / count
                self.assertAlmostEqual(self.profile[direction][f"{kind}_share"], expected)

    def test_sizes_of_requests_are_those_of_posix_and_of_streams(self):
        self.report.mod_agg_iohist("POSIX")
        for direction, calls in DIRECTIONS.items():
            sizes = self.profile[direction]["sizes"]["counts"]
            # PyDarshan says no sizes of streams; their number it does.
            posix_sizes = [count for name, count in self.report.summary["agg_iohist"]["POSIX"].items()
                           if name.startswith(direction.upper() + "_")]
            self.assertEqual(len(posix_sizes), len(sizes))
            of_streams = [ours - theirs for ours, theirs in zip(sizes, posix_sizes)]
            self.assertGreaterEqual(min(of_streams), 0)
            self.assertEqual(sum(of_streams), self.summed("STDIO", calls.upper()))
        # Pieces of 8 MiB at most: what is above 100 KiB is the tensors of the four sets.
        large = sum(self.profile["write"]["sizes"]["counts"][4:])
        self.assertGreaterEqual(large, 4)
        self.assertEqual(large % 4, 0)

    def test_commonest_sizes_are_those_of_posix(self):
        theirs = plot_common_access_table.get_most_common_access_sizes(plot_common_access_table.combine_access_sizes(
            plot_common_access_table.remove_nonzero_rows(
                plot_common_access_table.get_access_count_df(self.frames["POSIX"]["counters"], "POSIX"))))
        ours = {row["value"]: row["count"] for row in self.profile["access_sizes"]}
        for size, count in theirs.itertuples(index=False):
            self.assertEqual(ours.get(size), count, size)

    def test_sizes_of_files_are_of_as_many_files(self):
        # An average of two modules' files is no figure of PyDarshan's: it has one for each module.
        records = {module: frame["counters"].set_index("id") for module, frame in self.frames.items()}
        used = set()
        for module, counters in records.items():
            moved = (counters[f"{module}_BYTES_READ"] > 0) | (counters[f"{module}_BYTES_WRITTEN"] > 0)
            used |= set(counters.index[moved])
        self.assertEqual(sum(self.profile["file_sizes"]["counts"]), len(used))

    def bytes_of_files(self):
        """{path: [bytes read, bytes written]} of PyDarshan's records of both modules."""
        names, sums = self.report.name_records, {}
        for module, frame in self.frames.items():
            columns = [f"{module}_BYTES_READ", f"{module}_BYTES_WRITTEN"]
            for number, *moved in frame["counters"][["id", *columns]].itertuples(index=False):
                row = sums.setdefault(names[number], [0, 0])
                row[:] = [before + int(more) for before, more in zip(row, moved)]
        return sums

    def test_tables_of_files_and_directories_have_the_bytes_of_both_modules(self):
        files = self.bytes_of_files()
        self.assertEqual({row["path"]: [row["bytes_read"], row["bytes_written"]] for row in self.profile["files"]}, files)
        folders = {}
        for path, moved in files.items():
            row = folders.setdefault(os.path.dirname(path) or path, [0, 0])
            row[:] = [before + more for before, more in zip(row, moved)]
        sets = [row for row in self.profile["directories"] if ".tmp-step-" in row["path"]]
        self.assertEqual(len(sets), 4)
        for row in self.profile["directories"]:
            self.assertEqual([row["bytes_read"], row["bytes_written"]], folders[row["path"]], row["path"])

    def test_bytes_by_file_system_are_those_of_data_access_by_category(self):
        roots = data_access_by_filesystem.identify_filesystems(self.report.name_records)
        read, written = data_access_by_filesystem.unique_fs_rw_counter(
            self.report, roots, self.report.name_records, processing_func=data_access_by_filesystem.process_byte_counts)
        for root in roots:
            inside = [row for row in self.profile["files"] if data_access_by_filesystem.convert_file_path_to_root_path(row["path"]) == root]
            self.assertEqual(sum(row["bytes_read"] for row in inside), read.get(root, 0), root)
            self.assertEqual(sum(row["bytes_written"] for row in inside), written.get(root, 0), root)

    def test_the_course_is_that_of_both_heat_maps(self):
        self.assertEqual(set(self.report.heatmaps), {"POSIX", "STDIO"})
        for direction, key in (("read", "read"), ("write", "write")):
            maps = [self.report.heatmaps[module].to_df([key]).to_numpy().sum(axis=0) for module in ("POSIX", "STDIO")]
            edges = [0, *self.profile["course"]["end_s"]]
            rates = self.profile["course"][f"{direction}_mb_per_s"]
            moved = [1e6 * rate * (end - begin) for begin, end, rate in zip(edges, edges[1:], rates)]
            for module, heat in zip(("POSIX", "STDIO"), maps):
                self.assertEqual(heat.sum(), self.summed(module, "BYTES_READ" if direction == "read" else "BYTES_WRITTEN"))
            self.assertAlmostEqual(sum(moved), sum(heat.sum() for heat in maps), delta=1)
            # What had been moved by then, as each of them has it: at the edges of their bins, to within one of ours.
            # pylint: disable-next=protected-access
            width, bins = self.report.heatmaps["POSIX"]._bin_width_seconds, len(maps[0])
            longest = max(end - begin for begin, end in zip(edges, edges[1:]))
            for bin_at in range(1, bins):
                theirs = sum(heat[:bin_at].sum() for heat in maps)
                ours = [sum(part for part, end in zip(moved, edges[1:]) if end <= width * bin_at + slack) for slack in (-longest, longest)]
                self.assertLessEqual(ours[0] - 1, theirs, (direction, bin_at))
                self.assertGreaterEqual(ours[1] + 1, theirs, (direction, bin_at))

    def test_a_log_that_is_written_again_says_the_same(self):
        copy = self.dir / "copy.darshan"
        stoker("darshan", self.path, "--output", copy, cwd=self.dir)
        again = self.shown(copy)
        for part in ("read", "write", "course", "posix", "stdio", "file_sizes", "files", "directories"):
            self.assertEqual(again[part], self.profile[part], part)


if __name__ == "__main__":
    sys.exit(unittest.main())
