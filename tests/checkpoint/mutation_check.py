#!/usr/bin/env python3
"""Does a test notice when a line of io/checkpoint goes that keeps checkpoints safe?

mutation_check.py [--only NAME...] [--tests NAME...] [--jobs N] [--time SECONDS]

Compiles io/checkpoint with what it stands on (no LibTorch) and the tests of this folder into a temporary directory.
Then, for each of the mutants below: one source is compiled with a line removed or neutralised, the library is linked
anew, and the tests run until one fails, which kills the mutant. Prints who killed it. Exit code 1 where one survived,
2 where the text that a mutant replaces is not there any more (change the mutant with the source).

Not among the ctests: it takes a quarter of an hour. Run it when a mutant's source or a test of this folder changes.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ["-lisal", "-lcrypto", "-lcurl", "-lfmt", "-lxxhash", "-lyaml-cpp", "-luring", "-lpthread"]
# The quick ones first; soak_test would only say the same later.
TESTS = ("retention_test manifest_test layout_test read_set_test verify_test lock_test restore_test tiered_saves_test saved_again_test "
         "tf_saver_test snapshot_test backlog_test absent_tier_test full_disk_test faults_test "
         "crash_states_test object_sets_test object_damage_test object_crash_states_test").split()

# Name, file of io/checkpoint, then text and its replacement, once or more.
MUTANTS = [
    # A set on its way to a tier.
    ("no sync of data files", "sets/file_set_writer", "    if (sync_) file.file.sync();\n", ""),
    ("data file synced again after a failure", "sets/file_set_writer", "    if (sync_) file.file.sync();\n",
     "    try {\n      if (sync_) file.file.sync();\n    } catch (const IoError&) {\n      file.file.sync();\n    }\n"),
    ("no truncation to size", "sets/file_set_writer", "    if (file.file.size() != file.bytes) file.file.truncate(file.bytes);\n",
     ""),
    ("no sync of the manifest", "sets/file_set_writer", "manifest_text(manifest), sync_);", "manifest_text(manifest), false);"),
    ("no sync of the set's directory", "sets/file_set_writer", "  if (sync_) tree_.sync_directory(place());\n", ""),
    ("no sync of the parent", "sets/file_set_writer", "    if (sync_) tree_.sync_directory(directory_);\n", ""),
    ("no rename as commit", "sets/file_set_writer",
     "garbage_name(directory, set_name(step))", "directory + \"/\" + set_name(step)",
     "    tree_.rename(place(), name_);\n", ""),
    ("an unsynced commit stays visible", "sets/file_set_writer", "      take_back();\n", ""),
    ("a set is removed before the one in its place is there", "sets/file_set_writer",
     "    exchange();\n    replaced_ = true;\n", "    tree_.remove_directory(name_);\n    tree_.rename(place(), name_);\n"),
    ("a set goes before the name it had is durable again", "sets/file_set_writer",
     "  if (sync_) tree_.sync_directory(directory_);\n  published_ = false;\n",
     "  published_ = false;\n  if (sync_) tree_.sync_directory(directory_);\n"),
    ("no clearing up after a failure", "sets/file_set_writer", "    tree_.remove_directory(place());\n", ""),
    # A directory of sets.
    ("no lock", "sets/file_sets", "  if (!lock) return false;\n", ""),
    ("half open counts as open", "sets/file_sets",
     "    lock = tree_.lock(directory_ + \"/\" + kLock);\n    if (!lock) return false;",
     "    lock_ = tree_.lock(directory_ + \"/\" + kLock);\n    if (!lock_) return false;", "  lock_ = std::move(lock);\n", ""),
    ("no sync of what a killed process renamed", "sets/file_sets",
     "  if (sync_) tree_.sync_directory(directory_);\n  for (", "  for ("),
    ("no collection of garbage", "sets/file_sets", "    if (!is_garbage(name)) continue;\n", "    if (true) continue;\n"),
    ("removal without a rename", "sets/file_sets", "  tree_.rename(path(step), garbage);\n",
     "  tree_.remove_directory(path(step));\n"),
    ("no sync between rename and removal", "sets/file_sets",
     "  if (sync_) tree_.sync_directory(directory_);\n  discard(garbage);\n", "  discard(garbage);\n"),
    ("no sync of what is set aside", "sets/file_sets", "  if (sync_) tree_.sync_directory(directory_);\n  return tree_.root()",
     "  return tree_.root()"),
    ("a set of the same name counts as the same", "sets/set_store",
     "if (manifest_text(read_manifest(files_, set)) != manifest_text(manifest)) {", "if (false) {"),
    ("no sync of latest", "sets/file_sets", "  tree_.write_text(fresh, text, sync_);\n",
     "  tree_.write_text(fresh, text, false);\n"),
    # The same as objects.
    ("the manifest is not the last object", "sets/object_set_writer", "  if (target.written < target.bytes) return;\n", "  return;\n"),
    ("no look at who owns the directory before a commit", "sets/object_sets", "joins, [this] { check_owner(); });", "joins, [] {});"),
    ("another run's sets are taken", "sets/object_sets", "if (!run.empty() && run != run_) {", "if (false) {"),
    ("a living writer is not seen", "sets/object_sets", "  if (!taken) return;\n", "  return;\n"),
    ("no collection of unfinished objects", "sets/object_sets", "    if (set.state != \"unfinished\") continue;\n", "    continue;\n"),
    ("data are removed before the manifest", "sets/object_set_writer", "  objects.remove(set + \"/\" + kManifestName);\n", ""),
    ("what is set aside is still a set", "sets/set_names", "  if (name.starts_with(kAsidePrefix)) {", "  if (false) {"),
    # Reading.
    ("no checksums of chunks", "restoring/read_set", "    if (sum != chunk.sum) {\n", "    if (false) {\n"),
    ("no checksums of tensors", "restoring/read_set", "      if (sums[i] == manifest_.tensor_sums[i]) continue;\n",
     "      continue;\n"),
    ("no sizes of files", "restoring/read_set", "    if (sizes[i] == expected) continue;\n", "    continue;\n"),
    ("no checksum of the manifest", "sets/manifest", "  if (all.substr(body.size()) != tail_for(body)) {\n",
     "  if (false) {\n"),
    # Saving and draining.
    ("one attempt only", "saving/set_committer", "constexpr int kAttempts = 2;", "constexpr int kAttempts = 1;"),
    ("a failed save counts", "saving/set_committer", "      result.error = error.what();\n    }\n    failed_", "      result.error.clear();\n    }\n    failed_"),
    ("verify: all reads nothing back", "saving/set_committer", "    if (options_.verify != Verify::all) return;\n", "    return;\n"),
    ("what was read back and is bad stays", "saving/set_committer", "    if (there) writer->take_back();\n", ""),
    ("no reading back after the drain", "drain/drain", "  if (!there && options_.verify == Verify::none) return;\n", "  if (!there) return;\n"),
    ("a bad drained copy stays", "drain/drain", "    to_.remove(step);\n", ""),
    ("a set on the slow tier is believed", "drain/drain", "      verify(*set);\n      return \"\";\n",
     "      if (!there) verify(*set);\n      return \"\";\n"),
    ("a failed drain is forgotten", "drain/drain", "      if (!finished) queue_.push_back(step);\n", ""),
    # Removing.
    ("retention asks not for a newer set", "saving/save_tiers", "&& safe_step && step < *safe_step", ""),
    ("retention removes what is not drained", "saving/save_tiers", "    if (!on_last(step)) continue;  // not drained yet\n", ""),
    ("a full tier loses what is not drained", "saving/save_tiers", "      if (!on_last(step)) continue;\n", ""),
    # Restoring.
    ("damaged sets are not set aside", "restoring/restore",
     "  if (dynamic_cast<const DamagedSet*>(&error) != nullptr)\n", "  if (false)\n"),
    ("another step's manifest is taken", "restoring/locate", "        if (manifest.step != step) {\n", "        if (false) {\n"),
    ("newer sets are not set aside", "restoring/restore", "        set_aside(*store, other, \"superseded\");\n", ""),
    ("an unverified drain counts", "restoring/restore",
     "  if (!durable.empty() && fast.contains(*durable.rbegin())) durable.erase(*durable.rbegin());\n", ""),
    ("drains are not gone on with", "restoring/restore", "    if (!retention_.on_last(other)) restored.to_drain.push_back(other);\n", ""),
]


class Build:
    """A copy of the sources, as others may work on them, with objects, library and tests, in a directory of its own."""

    def __init__(self, directory, tests, jobs):
        self.directory = directory
        self.tests = tests
        self.jobs = jobs
        for folder in ("io", "tests"):
            shutil.copytree(ROOT / folder, directory / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (directory / "stoker_plugin_types.h").write_text('{"none", "none", "none"},\n')  # CMake makes it
        self.sources = [source for room in ("checkpoint", "core", "storage", "metrics")
                        for source in (directory / "io" / room).rglob("*.cpp") if source.parent.name != "object"]
        self.flags = ["-std=c++20", "-O1", "-fPIC", "-I%s" % directory, "-DSTOKER_SOURCE_DIR=\"%s\"" % ROOT,
                      "-DSTOKER_PLUGIN_STAMP=\"mutants\""]

    def mutated(self, name, file, *replacements):
        """The source of a mutant, and its text."""
        source = self.directory / "io/checkpoint" / (file + ".cpp")
        text = source.read_text()
        for old, new in zip(replacements[::2], replacements[1::2]):
            if text.count(old) != 1:
                print("mutant '%s': its text occurs %d times in %s.cpp:\n%s" % (name, text.count(old), file, old))
                sys.exit(2)
            text = text.replace(old, new)
        return source, text

    def object(self, source):
        return self.directory / ("%s_%s.o" % (source.parent.name, source.stem))

    def gcc(self, *arguments):
        subprocess.run(["g++", *self.flags, *map(str, arguments)], check=True)

    def link(self, target, replaced=None, by=None):
        objects = [by if source == replaced else self.object(source) for source in self.sources]
        self.gcc("-shared", *objects, *LIBRARIES, "-o", target)

    def build(self):
        def build_test(name):
            self.gcc(self.directory / "tests/checkpoint" / (name + ".cpp"), "-o", self.directory / name,
                     "-L%s" % self.directory, "-lcheckpoint", "-Wl,-rpath,$ORIGIN/library", "-lgmock", "-lgtest", "-lgtest_main",
                     *LIBRARIES)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda source: self.gcc("-c", source, "-o", self.object(source)), self.sources))
            self.link(self.directory / "libcheckpoint.so")
            list(pool.map(build_test, self.tests))
        (self.directory / "library").mkdir()

    def use(self, source=None, text=None):
        """The library, with `text` instead of `source`. A mutant that does not compile is wrong."""
        target = self.directory / "mutant.o"
        if source:
            (self.directory / "mutant.cpp").write_text(text)
            self.gcc("-c", self.directory / "mutant.cpp", "-o", target)
        self.link(self.directory / "library/libcheckpoint.so", source, target)

    def failing_test(self, seconds):
        """The first test that fails, and which of its facts; None: all pass."""
        for name in self.tests:
            with tempfile.TemporaryDirectory(prefix="stoker-mutant-") as scratch:
                command = [str(self.directory / name), "--gtest_fail_fast", "--gtest_brief=1"]
                try:
                    done = subprocess.run(command, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True, errors="replace", cwd=scratch,
                                          env=dict(os.environ, TMPDIR=scratch))
                except subprocess.TimeoutExpired:
                    return name, "does not end"
            if done.returncode != 0:
                failed = [line.split()[3] for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
                return name, failed[0].rstrip(",") if failed else "exit code %d" % done.returncode
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of mutants")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="these only, in this order")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time", type=float, default=300, help="seconds until a test counts as hanging")
    args = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="stoker-mutation-"))
    try:
        build = Build(directory, args.tests, args.jobs)
        chosen = [(mutant[0], *build.mutated(*mutant)) for mutant in MUTANTS]
        chosen = [mutant for mutant in chosen if not args.only or any(part in mutant[0] for part in args.only)]
        build.build()
        build.use()
        if killer := build.failing_test(args.time):
            sys.exit("without any mutation %s fails: %s" % killer)
        survived = 0
        for name, source, text in chosen:
            begin = time.monotonic()
            build.use(source, text)
            killer = build.failing_test(args.time)
            survived += killer is None
            print("%-45s %-8s %s (%.0f s)" % (name, "killed" if killer else "SURVIVED", " ".join(killer or ()),
                                              time.monotonic() - begin), flush=True)
        print("%d of %d mutants survived" % (survived, len(chosen)))
        return 1 if survived else 0
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(main())
