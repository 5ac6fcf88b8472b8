#include "io/storage/metered.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/hub.h"
#include "io/storage/mounted_tier.h"
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

}  // namespace stoker
