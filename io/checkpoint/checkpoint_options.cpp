#include "io/checkpoint/checkpoint_options.h"

#include <algorithm>

#include "io/checkpoint/restoring/piece_reader.h"
#include "io/core/system/usable_cores.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

constexpr uint64_t kLeastStaging = 64ull << 20;  // some pieces for each thread
constexpr int64_t kMostThreads = 4;  // more gain nothing: memory and disks are busy by then

}  // namespace

template <>
Registry<Checkpointer>& Registry<Checkpointer>::global() {
  static Registry registry;
  return registry;
}

EnumNames<SnapshotMode> enum_names(SnapshotMode) {
  return {
      {"sync", SnapshotMode::sync}, {"async", SnapshotMode::async}, {"swap", SnapshotMode::swap}};
}

EnumNames<Backlog> enum_names(Backlog) {
  return {{"block", Backlog::block}, {"skip", Backlog::skip}, {"replace", Backlog::replace}};
}

EnumNames<Verify> enum_names(Verify) {
  return {{"none", Verify::none}, {"drained", Verify::drained}, {"all", Verify::all}};
}

EnumNames<WriteMode> enum_names(WriteMode) {
  return {{"auto", WriteMode::automatic},
          {"uring", WriteMode::uring},
          {"buffered", WriteMode::buffered},
          {"stdio", WriteMode::stdio}};
}

bool Scalar<DrainLimit>::parse(const std::string& text, DrainLimit& out) {
  ByteSize size;
  if (text != word && !Scalar<ByteSize>::parse(text, size)) return false;
  out.fixed = text == word ? std::nullopt : std::optional(size);
  return true;
}

std::string Scalar<DrainLimit>::format(const DrainLimit& value) {
  return value.fixed ? Scalar<ByteSize>::format(*value.fixed) : word;
}

void CheckpointOptions::check(const Section& section) const {
  if (drain_limit && drain_limit->fixed && drain_limit->fixed->bytes == 0) {
    section.fail("drain_limit", "must be above 0");
  }
  if (staging_memory && staging_memory->bytes < kLeastStaging) {
    section.fail("staging_memory", "must be at least 64MiB");
  }
  if (staging_memory && snapshot == SnapshotMode::swap) {
    section.fail("staging_memory", "does not go with snapshot: swap, which copies nothing");
  }
  if (layout == FileLayout::tf_saver && shards != 1) {
    section.fail("shards", "must be 1 with layout: tf_saver");
  }
  if (directory.empty() || is_key(directory)) return;
  section.fail("directory", "must be a relative path inside the tier");
}

bool CheckpointOptions::due(const CheckpointOffer& offer, double since_s) const {
  if (offer.last) return true;
  if (every_steps && offer.step % *every_steps == 0) return true;
  if (every_epochs && offer.epoch_ended && offer.epochs % *every_epochs == 0) return true;
  return every_seconds && since_s >= *every_seconds;
}

CheckpointerInfo CheckpointOptions::info() const {
  CheckpointerInfo info{.directory = directory,
                        .snapshot = Field<SnapshotMode>::dump(snapshot).scalar,
                        .durability = Field<Durability>::dump(durability).scalar,
                        .threads = resolve_threads(),
                        .readers = resolve_readers(),
                        .renamed_classes = renamed_classes,
                        .grace_seconds = grace_seconds,
                        .hang_seconds = hang_seconds};
  for (const auto& tier : {fast, slow}) {
    if (tier) info.tiers.push_back(tier->name);
  }
  return info;
}

int64_t CheckpointOptions::resolve_threads() const {
  return threads > 0 ? threads : std::min(usable_cores(), kMostThreads);
}

// On few cores as well: they wait for the tier, and between two reads they sum and copy.
int64_t CheckpointOptions::resolve_readers() const {
  return threads > 0 ? threads : kReadingThreads;
}

FileAccess data_access(WriteMode mode) {
  switch (mode) {
    case WriteMode::automatic:
    case WriteMode::uring:
      return FileAccess::direct;
    case WriteMode::buffered:
      return FileAccess::buffered;
    case WriteMode::stdio:
      return FileAccess::stdio;
  }
  return FileAccess::buffered;
}

FileAccess text_access(WriteMode mode) {
  return mode == WriteMode::stdio ? FileAccess::stdio : FileAccess::buffered;
}

}  // namespace stoker
