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
// none; those on the slow tier of a burst buffer; or those that a save writes as well.
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
// Without any every_* a checkpoint is taken at the end of the run and when a signal asks to stop;
// with several, when any of them is due. What each means is in its help below.
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
  Verify verify = Verify::drained;
  FileLayout layout = FileLayout::safetensors;
  int64_t shards = 1;
  Durability durability = Durability::fsync;
  WriteMode write = WriteMode::automatic;
  int64_t threads = 0;
  std::string resume = "none";
  std::string directory;
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
    v("keep_last", keep_last, "the newest sets that stay on each tier", Limits{1, 1e9});
    v("keep_every", keep_every, "sets whose step is a multiple of this stay for ever",
      Limits{1, 1e15});
    v("keep_best", keep_best,
      "How many checkpoints with the best score stay. The score is the first measure of "
      "evaluation.metric, so only checkpoints that are saved right after an evaluation have one.",
      Limits{0, 1e9});
    v("snapshot", snapshot,
      "sync: wait until the set is on the first tier; async: copy it and go on training; swap: "
      "copy "
      "nothing, the update after a save writes into other memory (CPU only)");
    v("on_backlog", on_backlog, "when all slots are taken: wait, skip, or replace a waiting one");
    v("slots", slots, "snapshot memory for so many states", Limits{1, 64});
    v("verify", verify, "which written copies are read back and checked");
    v("layout", layout, "files of a set: one .safetensors, or the roles of TensorFlow's Saver");
    v("shards", shards, "files that share the bytes (safetensors)", Limits{1, 256});
    v("durability", durability, "none: trust the page cache, as TensorFlow's Saver does");
    v("write", write,
      "auto: past the page cache where the tier can; uring: the same by io_uring where the kernel "
      "allows it; stdio: by fwrite, 8 MiB a call");
    v("threads", threads,
      "threads that copy, write and read; 0: one per core, up to four, and four that read",
      Limits{0, 1024});
    v("resume", resume, "none, latest (or start afresh), or the path of a set");
    v("directory", directory, "below each tier's root; empty: the run's name");
    v("grace_seconds", grace_seconds, "seconds from SIGTERM to the end of the process",
      Limits{0, 1e6});
    v("hang_seconds", hang_seconds,
      "seconds without progress on a tier until training goes on without it", Limits{0.1, 1e6});
    v("drain_limit", drain_limit,
      "bytes per second that the drain may copy and read back; auto: as many as slow the input "
      "down by at most 1 %, but enough to be done before the next save; absent: any");
    v("retry_seconds", retry_seconds, "first pause after a failed drain; doubles up to 64 times",
      Limits{1e-3, 1e6});
  }
  // Error(ExitCode::config) where options contradict each other. Implementations add which tiers
  // they need.
  void check(const Section& section) const;
  // Without `written`, which is the implementation's to say.
  CheckpointerInfo info() const;

  // Whether what a run offers is to be saved, so long after the last one that began.
  bool due(const CheckpointOffer& offer, double since_s) const;
  // `threads`, or what 0 stands for on this machine: for copying and writing, and for reading back.
  int64_t resolve_threads() const;
  int64_t resolve_readers() const;
};

// How a set's data files are opened for writing: past the page cache unless it is asked for.
FileAccess data_access(WriteMode mode);
// The same of the small files beside them, which go through it.
FileAccess text_access(WriteMode mode);

// Which sets of a tier may go, ascending. A pure function. `sets` are the steps on the tier, with
// the scores of those that were evaluated. `safe_step` is the newest step on the last tier: only
// older sets may go, so that there is always a newer one there; absent: none may. What stays: the
// keep_last newest, the multiples of keep_every, and the keep_best with the highest scores (of
// equals the oldest; NaN is no score).
std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options);

}  // namespace stoker
