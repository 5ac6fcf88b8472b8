#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/saving/layout.h"
#include "io/checkpoint/saving/set_writer.h"

namespace stoker {

// sync: a save returns when the set is committed on the first tier. async: it returns at once; the
// copy runs beside the next forward and backward, the write beside whatever follows. swap: nothing
// is copied; the state lives in snapshot memory, is written from there, and the next update writes
// into another one.
enum class SnapshotMode { sync, async, swap };
EnumNames<SnapshotMode> enum_names(SnapshotMode);

// What a save does where all snapshot buffers are taken. block: training waits for one. skip: it
// goes on without this checkpoint. replace: the oldest that waits to be written is given up for
// this one; where none waits it is as skip. The last checkpoint of a run always waits.
enum class Backlog { block, skip, replace };
EnumNames<Backlog> enum_names(Backlog);

// Which copies are read back from their tier and compared with their checksums before they count:
// none of them, those on the slow tier of a burst buffer, or those that a save writes as well.
enum class Verify { none, drained, all };
EnumNames<Verify> enum_names(Verify);

// automatic: past the page cache (O_DIRECT) where the tier can, else through it. uring: likewise,
// by io_uring where the kernel allows it, with several requests in flight per thread. stdio:
// through the page cache by fwrite(3), 8 MiB a call, as TensorFlow's Saver writes.
enum class WriteMode { automatic, uring, buffered, stdio };
EnumNames<WriteMode> enum_names(WriteMode);

// How many bytes per second a drain may copy. A value.
struct DrainLimit {
  std::optional<ByteSize> fixed;  // absent: auto, as DrainController says
};

// How a configuration writes it.
template <>
struct Scalar<DrainLimit> {
  static bool parse(const std::string& text, DrainLimit& out);
  static std::string format(const DrainLimit& value);
  static constexpr const char* expected = "auto or a size such as 4096, 64KiB, 2MiB or 1GiB";
  static constexpr const char* word = "auto";
};

// The tiers of a checkpointer that is given none. Where storage: defines no tier of such a name,
// whoever reads the whole configuration defines it as the directory of that name below run.dir.
inline constexpr const char* kFastTier = "checkpoints_fast";
inline constexpr const char* kSlowTier = "checkpoints";

// The options of every checkpointer, so that a sweep changes nothing but checkpoint.type. A value.
// A checkpoint is taken at the end of the run and when a signal asks to stop, and before that
// whenever one of the every_* options that are given asks for it. What each means is in its help
// below.
struct CheckpointOptions {
  std::optional<TierName> fast;
  std::optional<TierName> slow;
  std::optional<int64_t> every_steps;
  std::optional<double> every_seconds;
  std::optional<int64_t> every_epochs;
  int64_t keep_last = 5;
  std::optional<int64_t> keep_every;
  int64_t keep_best = 0;
  SnapshotMode snapshot = SnapshotMode::sync;
  Backlog on_backlog = Backlog::block;
  int64_t slots = 2;
  std::optional<ByteSize> staging_memory;
  Verify verify = Verify::drained;
  FileLayout layout = FileLayout::safetensors;
  int64_t shards = 1;
  Durability durability = Durability::fsync;
  WriteMode write = WriteMode::automatic;
  int64_t threads = 0;
  Path resume{"none"};
  std::string directory;
  bool renamed_classes = false;
  double grace_seconds = 30;
  double hang_seconds = 60;
  double retry_seconds = 1;
  std::optional<DrainLimit> drain_limit;

  template <class V>
  void visit(V& v) {
    v("fast", fast,
      "The tier that training waits for with burst_buffer; every type restores from it. Without it "
      "burst_buffer takes the tier checkpoints_fast, by default that directory below run.dir.");
    v("slow", slow,
      "The tier where sets stay: direct writes to it, burst_buffer drains to it. Without it they "
      "take the tier checkpoints, by default that directory below run.dir.");
    v("every_steps", every_steps, "Save a checkpoint whenever this number of steps has been done.",
      Limits{1, 1e15});
    v("every_seconds", every_seconds, "Save a checkpoint when this time has passed since the last.",
      Limits{1e-3, 1e9});
    v("every_epochs", every_epochs,
      "Save a checkpoint whenever this number of epochs has ended, after their evaluation.",
      Limits{1, 1e9});
    v("keep_last", keep_last, "The number of newest sets that stay on each tier.", Limits{1, 1e9});
    v("keep_every", keep_every, "Sets whose step is a multiple of this stay for ever.",
      Limits{1, 1e15});
    v("keep_best", keep_best,
      "The number of sets that stay for having the best values of the metric's first measure. Sets "
      "that were saved right after an evaluation have one.",
      Limits{0, 1e9});
    visit_saving(v);
    v("resume", resume,
      "What the run goes on from: none, latest (it starts afresh where there is no checkpoint), or "
      "the path of a set.");
    v("renamed_classes", renamed_classes,
      "Go on from a set whose classes had other names. Labels must still mean the same classes.");
    v("directory", directory, "The folder below each tier's root. Empty: the run's name.");
    v("grace_seconds", grace_seconds, "The seconds from SIGTERM to the end of the process.",
      Limits{0, 1e6});
    v("hang_seconds", hang_seconds,
      "Training goes on without a tier that makes no progress for this many seconds.",
      Limits{0.1, 1e6});
    v("drain_limit", drain_limit,
      "The bytes per second that the drain may copy and read back. auto: as many as slow the "
      "input down by at most 1 %, but enough to be done before the next save. Absent: no limit.");
    v("retry_seconds", retry_seconds,
      "The pause after a failed drain. It doubles with each further failure, up to 64 times.",
      Limits{1e-3, 1e6});
  }
  // Of these, how a state becomes files.
  template <class V>
  void visit_saving(V& v) {
    v("snapshot", snapshot,
      "sync: wait until the set is on the first tier. async: copy the state and go on training. "
      "swap: copy nothing, and let the update after a save write into other memory (CPU only).");
    v("on_backlog", on_backlog,
      "What a save does when all slots are taken: wait for one, skip this checkpoint, or replace "
      "one that waits to be written.");
    v("slots", slots, "The number of states that the snapshot memory holds.", Limits{1, 64});
    v("staging_memory", staging_memory,
      "The most snapshot memory of a process, from 64MiB. A larger state goes through it in "
      "pieces, and training waits until the last one is in it. Absent: as much as `slots` states "
      "need.");
    v("verify", verify,
      "Which copies are read back and checked: none, those that were drained, or all.");
    v("layout", layout, "Files of a set: one .safetensors, or those of TensorFlow's Saver.");
    v("shards", shards, "The number of files that share the bytes of a set (safetensors).",
      Limits{1, 256});
    v("durability", durability,
      "fsync: a checkpoint counts when it is on the medium. none: trust the page cache.");
    v("write", write,
      "auto: past the page cache where the tier can. uring: the same by io_uring where the kernel "
      "allows it. buffered: through the page cache. stdio: by fwrite, 8 MiB a call.");
    v("threads", threads,
      "The threads that copy, write and read. 0: one a core, at most four; and eight that read.",
      Limits{0, 1024});
  }
  // Error(ExitCode::config) where options contradict each other. Implementations add which tiers
  // they need.
  void check(const Section& section) const;
  // Without `written`, which is the implementation's to say.
  CheckpointerInfo info() const;

  // Whether what a run offers is to be saved. since_s: seconds since the last save began.
  bool due(const CheckpointOffer& offer, double since_s) const;
  // `threads`, or what 0 stands for on this machine: for copying and writing, and for reading back.
  int64_t resolve_threads() const;
  int64_t resolve_readers() const;
};

// How a set's data files are opened for writing: past the page cache, unless that is asked for.
FileAccess data_access(WriteMode mode);
// How the small files beside them are opened: they go through the page cache.
FileAccess text_access(WriteMode mode);

}  // namespace stoker
