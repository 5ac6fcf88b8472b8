#include "io/checkpoint/options.h"

#include <algorithm>

#include "io/core/usable_cores.h"

namespace stoker {

EnumNames<SnapshotMode> enum_names(SnapshotMode) {
  return {{"sync", SnapshotMode::sync}, {"async", SnapshotMode::async}};
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
          {"buffered", WriteMode::buffered}};
}

void CheckpointOptions::check(const Section& section) const {
  if (resume.empty()) section.fail("resume", "must be none, latest or the path of a set");
  if (drain_limit && drain_limit->bytes == 0) section.fail("drain_limit", "must be above 0");
  if (layout == FileLayout::tf_saver && shards != 1) {
    section.fail("shards", "must be 1 with layout: tf_saver");
  }
  const bool plain =
      directory.empty() || (directory.front() != '/' && directory.front() != '.' &&
                            directory.find("..") == std::string::npos && directory.back() != '/');
  if (!plain) section.fail("directory", "must be a relative path inside the tier");
}

CheckpointerInfo CheckpointOptions::info() const {
  CheckpointerInfo info{.directory = directory,
                        .snapshot = Field<SnapshotMode>::dump(snapshot).scalar,
                        .durability = Field<Durability>::dump(durability).scalar,
                        .threads = resolve_threads()};
  for (const auto& tier : {fast, slow}) {
    if (tier) info.tiers.push_back(tier->name);
  }
  return info;
}

int64_t CheckpointOptions::resolve_threads() const {
  constexpr int64_t kMost = 4;  // more gain nothing: memory and disks are busy by then
  return threads > 0 ? threads : std::min(usable_cores(), kMost);
}

}  // namespace stoker
