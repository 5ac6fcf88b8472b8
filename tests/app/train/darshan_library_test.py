#!/usr/bin/env python3
"""metrics.io_profile.library: a library that counts beside the I/O profiler, attached while the program runs. Darshan's own
runtime is in no package: STOKER_LIBDARSHAN names those that somebody built (paths, with colons between them)."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from stoker import MINI, StokerTest, configuration, flow, needed, posix

# As Darshan's: it calls what the loader finds behind it, and writes when it is told that the process ends.
COUNTING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
static ssize_t (*next)(int, void*, size_t, off_t);
static long calls, bytes;
ssize_t pread(int fd, void* to, size_t size, off_t at) {
  if (next == NULL) next = (ssize_t (*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  const ssize_t read = next(fd, to, size, at);
  if (read >= 0) __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED), __atomic_fetch_add(&bytes, read, __ATOMIC_RELAXED);
  return read;
}
void serial_finalize(void) {
  FILE* const out = fopen(getenv("DARSHAN_LOGFILE"), "w");
  fprintf(out, "%ld %ld %s\n", calls, bytes, getenv("DARSHAN_ENABLE_NONMPI"));
  fclose(out);
}
"""
COUNTERS = ("OPENS", "READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN", "CONSEC_READS", "SEQ_READS", "SIZE_READ_0_100", "SIZE_READ_10K_100K")


class DarshanLibraryTest(StokerTest):
    CONFIG = configuration(
        loader="{type: sync, batch_size: 16, shuffle: true}", training="{max_steps: 8}", evaluation="{enabled: false}",
        tiers={"data": flow(type="posix", read="tensorflow", root=MINI), "slow": posix("slow")},
        checkpoint="{type: direct, slow: slow, every_steps: 4, write: stdio}",
        metrics=f"{{io_profile: {flow(every_steps=100, steps=100, exclude='[]', include='[]')}, sinks: [{{type: csv}}]}}")

    def run_with(self, library):
        """The session's records, by path."""
        shutil.rmtree(self.dir / "slow", ignore_errors=True)
        self.stoker("train", self.config, f"metrics.io_profile.library={library}")
        [log] = self.json("darshan", self.latest / "io_profile-0.darshan", "--records")["logs"]
        return {record["path"]: record for record in log["records"]}

    def test_a_library_is_called_in_libcs_place_and_counts_the_same_calls(self):
        source = self.dir / "counting.c"
        source.write_text(COUNTING)
        library = self.dir / "libcounting.so"
        subprocess.run([needed("cc", "gcc", package="gcc"), "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
        records = self.run_with(library)
        images = [record["POSIX"] for path, record in records.items() if path.endswith(".jpg")]
        calls, read, switch = (self.latest / "libdarshan.darshan").read_text().split()
        self.assertEqual(switch, "1")
        # It sees pread() alone, and the profiler other ways as well.
        self.assertEqual(len(images), 128)
        self.assertEqual(sum(one["POSIX_READS"] for one in images), 256)
        self.assertGreaterEqual(int(calls), 256)
        self.assertGreaterEqual(int(read), sum(one["POSIX_BYTES_READ"] for one in images))
        self.assertLess(int(calls), 2 * 256)

    def test_darshans_own_library_unchanged_counts_what_the_profiler_counts(self):
        libraries = [path for path in os.environ.get("STOKER_LIBDARSHAN", "").split(":") if path]
        if not libraries:
            self.skipTest("STOKER_LIBDARSHAN names no libdarshan.so")
        for library in libraries:
            with self.subTest(library):
                ours = self.run_with(library)
                [log] = self.json("darshan", self.latest / "libdarshan.darshan", "--records")["logs"]
                self.assertNotIn("stoker", log["metadata"]["lib_ver"])
                theirs = {record["path"]: record for record in log["records"]}
                images = {path for path in ours if path.endswith(".jpg")}
                self.assertEqual(len(images), 128)
                self.assertLessEqual(images, theirs.keys())
                for path in images:
                    self.assertEqual({name: theirs[path]["POSIX"][f"POSIX_{name}"] for name in COUNTERS},
                                     {name: ours[path]["POSIX"][f"POSIX_{name}"] for name in COUNTERS}, path)
                [state] = [path for path in ours if "state.safetensors" in path and "step-0000000004" in path]
                for name in ("OPENS", "WRITES", "BYTES_WRITTEN"):
                    self.assertEqual(theirs[state]["STDIO"][f"STDIO_{name}"], ours[state]["STDIO"][f"STDIO_{name}"], name)

    def test_what_is_no_such_library_is_an_error_that_says_so(self):
        said = self.stoker("train", self.config, "metrics.io_profile.library=absent.so", code=3).stderr
        self.assertIn("name a libdarshan.so that was configured --without-mpi", said)
        other = next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libm.so" in line)
        said = self.stoker("train", self.config, f"metrics.io_profile.library={other}", code=3).stderr
        self.assertIn("has none of the functions", said)


if __name__ == "__main__":
    sys.exit(unittest.main())
