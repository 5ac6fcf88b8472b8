#include "io/storage/tiers.h"

#include <fmt/format.h>
#include <mntent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/hub.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/keys.h"
#include "io/storage/storage.h"
#include "io/storage/wrapped_storage.h"

namespace stoker {
namespace {

class InFlight {
 public:
  InFlight(TierMeter& meter, TierOp op, TimePoint begin) : meter_(meter), op_(op) {
    meter_.begin(op_, begin);
  }
  ~InFlight() { meter_.end(op_, end_ == TimePoint() ? Clock::now() : end_); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  // The end that the tally has, so that both say the same. Without it: the destructor's.
  void ended(TimePoint end) { end_ = end; }

 private:
  TierMeter& meter_;
  const TierOp op_;
  TimePoint end_{};
};

using Op = FileCall::Op;

TierOp op_of(Op op) {
  constexpr std::pair<Op, TierOp> kKnown[] = {{Op::open, TierOp::open},
                                              {Op::create, TierOp::create},
                                              {Op::read, TierOp::read},
                                              {Op::write, TierOp::write},
                                              {Op::sync, TierOp::sync},
                                              {Op::sync_directory, TierOp::sync},
                                              {Op::rename, TierOp::rename},
                                              {Op::replace, TierOp::rename},
                                              {Op::exchange, TierOp::rename},
                                              {Op::remove, TierOp::remove},
                                              {Op::remove_directory, TierOp::remove},
                                              {Op::list, TierOp::list},
                                              {Op::stat, TierOp::stat}};
  const auto* const found = std::ranges::find(kKnown, op, &std::pair<Op, TierOp>::first);
  return found == std::end(kKnown) ? TierOp::other : found->second;
}

// What WrappedStorage does with each operation on an object: it measures.
struct Measure {
  TierMeter& meter;

  template <class F>
  void operator()(const ObjectCall& call, const F& operation) const {
    const TierOp op = op_of(call.op);
    const TimePoint begin = Clock::now();
    InFlight in_flight(meter, op, begin);
    try {
      operation();
      in_flight.ended(meter.finished(op, begin, call.bytes));
    } catch (IoError& error) {
      meter.failed(op, error.errno_value());
      error.passes(meter.name());
      throw;
    }
  }
};

class MeterLayer final : public FileLayer {
 public:
  explicit MeterLayer(TierMeter& meter) : meter_(meter) {}

  int64_t call(const FileCall& call, const Next& next) override {
    const TierOp op = op_of(call.op);
    const TimePoint begin = Clock::now();
    InFlight in_flight(meter_, op, begin);
    const int64_t result = next(call);
    if (result >= 0 || result == -call.accepted || result == -EINTR) {
      const bool moves_bytes = result > 0 && (op == TierOp::read || op == TierOp::write);
      in_flight.ended(meter_.finished(op, begin, moves_bytes ? static_cast<uint64_t>(result) : 0));
    } else {
      meter_.failed(op, static_cast<int>(-result));
    }
    return result;
  }

 private:
  TierMeter& meter_;
};

}  // namespace

std::unique_ptr<Storage> open_tier(const Component<Storage>& tier, Storage::Inputs inputs) {
  if (inputs.hub == nullptr) return tier.create(inputs);
  const StorageInfo info = tier.info();
  std::optional<MountedTier> mounted;
  for (const std::string& folder : info.folders) {
    if (!mounted) mounted = mounted_tier(folder);
  }
  const bool by_mount = mounted && mounted->emulated && !info.emulated;
  inputs.meter = &inputs.hub->add_tier(inputs.name, tier.type(), info.emulated || by_mount);
  if (by_mount) {
    inputs.remark(
        fmt::format("its files are on the tier '{}' that `stoker mount` serves, which is "
                    "EMULATED: reading them takes as long as its model says",
                    mounted->name));
  }
  return metered(tier.create(inputs), *inputs.meter);
}

std::unique_ptr<Storage> metered(std::unique_ptr<Storage> inner, TierMeter& meter) {
  return std::make_unique<WrappedStorage<Measure>>(std::move(inner), Measure{meter},
                                                   std::make_shared<MeterLayer>(meter));
}

namespace {

constexpr const char* kEmulated = "emulated:";

bool lies_in(const std::string& path, const std::string& directory) {
  if (!path.starts_with(directory)) return false;
  return directory.ends_with('/') || path.size() == directory.size() ||
         path[directory.size()] == '/';
}

}  // namespace

std::string mount_source(const MountedTier& tier) {
  return (tier.emulated ? kEmulated : "") + tier.name;
}

MountedTier tier_of_mount(const std::string& source) {
  if (!source.starts_with(kEmulated)) return {source, false};
  return {source.substr(std::string(kEmulated).size()), true};
}

std::optional<MountedTier> mounted_tier(const std::string& folder) {
  std::error_code absent;
  const std::string path = std::filesystem::canonical(folder, absent);
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "re"),
                                                     &::endmntent);
  if (absent || !mounts) return std::nullopt;
  // Of mounts on one directory the last covers the others.
  size_t longest = 0;
  std::optional<MountedTier> found;
  mntent mount{};
  std::array<char, 8192> text{};
  while (::getmntent_r(mounts.get(), &mount, text.data(), static_cast<int>(text.size())) !=
         nullptr) {
    const std::string directory = mount.mnt_dir;
    if (directory.size() < longest || !lies_in(path, directory)) continue;
    longest = directory.size();
    found.reset();
    if (mount.mnt_type == std::string(kMountedTierType)) found = tier_of_mount(mount.mnt_fsname);
  }
  return found;
}

template <>
Registry<Storage>& Registry<Storage>::global() {
  static Registry registry;
  return registry;
}

void check_key(const std::string& key) {
  if (is_key(key)) return;
  throw IoError("key '" + key + "' must be a relative path inside its tier such as a/b.jpg",
                EINVAL);
}

void Storage::Inputs::remark(const std::string& text) const {
  if (notify) notify("storage '" + name + "': " + text);
  if (meter != nullptr) meter->add_condition(text);
}

const FileTree* files_of(const Storage& tier) {
  const auto* const keeper = dynamic_cast<const KeepsFiles*>(&tier);
  return keeper == nullptr ? nullptr : keeper->files();
}

void write_object(Storage& to, const std::string& key, Bytes bytes) {
  const std::unique_ptr<ObjectWriter> writer = to.create(key);
  writer->append(bytes);
  writer->commit();
}

void Tiers::add(const std::string& name, std::unique_ptr<Storage> tier) {
  tiers_[name] = std::move(tier);
}

Storage& Tiers::at(const std::string& name) const {
  const auto found = tiers_.find(name);
  if (found != tiers_.end()) return *found->second;
  std::vector<std::string> names;
  for (const auto& [known, tier] : tiers_) names.push_back(known);
  throw Error(ExitCode::config, "unknown storage tier '" + name + "'" + suggestion(name, names));
}

}  // namespace stoker
