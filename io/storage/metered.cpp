#include "io/storage/metered.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/hub.h"
#include "io/storage/file_tree.h"

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

// `operation` returns the number of bytes it moved.
template <class F>
void measure(TierMeter& meter, TierOp op, F operation) {
  const TimePoint begin = Clock::now();
  InFlight in_flight(meter, op, begin);
  try {
    in_flight.ended(meter.finished(op, begin, operation()));
  } catch (const IoError& error) {
    meter.failed(op, error.errno_value());
    throw;
  }
}

TierOp op_of(FileCall::Op op) {
  switch (op) {
    case FileCall::Op::open:
      return TierOp::open;
    case FileCall::Op::create:
      return TierOp::create;
    case FileCall::Op::read:
      return TierOp::read;
    case FileCall::Op::write:
      return TierOp::write;
    case FileCall::Op::sync:
    case FileCall::Op::sync_directory:
      return TierOp::sync;
    case FileCall::Op::rename:
    case FileCall::Op::replace:
      return TierOp::rename;
    case FileCall::Op::remove:
    case FileCall::Op::remove_directory:
      return TierOp::remove;
    case FileCall::Op::list:
      return TierOp::list;
    case FileCall::Op::stat:
      return TierOp::stat;
    default:
      return TierOp::other;
  }
}

// Answers that FileTree asks for or tries again after: not every error number is a failure.
bool expected(FileCall::Op op, int64_t result) {
  switch (op) {
    case FileCall::Op::stat:
    case FileCall::Op::list:
    case FileCall::Op::remove:
    case FileCall::Op::remove_directory:
      return result == -ENOENT || result == -EINTR;
    case FileCall::Op::lock:
      return result == -EAGAIN || result == -EINTR;
    case FileCall::Op::map:
    case FileCall::Op::reserve:
      return result == -EOPNOTSUPP || result == -EINTR;
    default:
      return result == -EINTR;
  }
}

class MeterLayer final : public FileLayer {
 public:
  explicit MeterLayer(TierMeter& meter) : meter_(meter) {}

  int64_t call(const FileCall& call, const Next& next) override {
    const TierOp op = op_of(call.op);
    const TimePoint begin = Clock::now();
    InFlight in_flight(meter_, op, begin);
    const int64_t result = next(call);
    if (result >= 0 || expected(call.op, result)) {
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

class MeteredWriter final : public ObjectWriter {
 public:
  MeteredWriter(std::unique_ptr<ObjectWriter> inner, TierMeter& meter)
      : inner_(std::move(inner)), meter_(meter) {}

  void append(Bytes bytes) override {
    measure(meter_, TierOp::write, [&] {
      inner_->append(bytes);
      return bytes.size();
    });
  }
  void commit() override {
    measure(meter_, TierOp::sync, [&] {
      inner_->commit();
      return size_t{0};
    });
  }

 private:
  std::unique_ptr<ObjectWriter> inner_;
  TierMeter& meter_;
};

class Metered final : public Storage {
 public:
  Metered(std::unique_ptr<Storage> inner, TierMeter& meter)
      : inner_(std::move(inner)), meter_(meter) {
    if (const FileTree* files = inner_->files()) {
      files_ = files->behind(std::make_shared<MeterLayer>(meter_));
    }
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    std::vector<ObjectInfo> objects;
    measure(meter_, TierOp::list, [&] {
      objects = inner_->list(prefix);
      return size_t{0};
    });
    return objects;
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    measure(meter_, TierOp::read, [&] {
      inner_->read(key, out, range);
      return out.size();
    });
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    std::unique_ptr<ObjectWriter> writer;
    measure(meter_, TierOp::create, [&] {
      writer = std::make_unique<MeteredWriter>(inner_->create(key), meter_);
      return size_t{0};
    });
    return writer;
  }
  void remove(const std::string& key) override {
    measure(meter_, TierOp::remove, [&] {
      inner_->remove(key);
      return size_t{0};
    });
  }
  const FileTree* files() const override { return files_ ? &*files_ : nullptr; }

 private:
  std::unique_ptr<Storage> inner_;
  TierMeter& meter_;
  std::optional<FileTree> files_;
};

}  // namespace

std::unique_ptr<Storage> open_tier(const Component<Storage>& tier, Storage::Inputs inputs) {
  if (inputs.hub == nullptr) return tier.create(inputs);
  inputs.meter = &inputs.hub->add_tier(inputs.name, tier.type(), tier.info().emulated);
  return metered(tier.create(inputs), *inputs.meter);
}

std::unique_ptr<Storage> metered(std::unique_ptr<Storage> inner, TierMeter& meter) {
  return std::make_unique<Metered>(std::move(inner), meter);
}

}  // namespace stoker
