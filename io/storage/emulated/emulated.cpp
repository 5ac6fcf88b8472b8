#include "io/storage/emulated/emulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "io/storage/emulated/tier_model.h"
#include "io/storage/tail/hedged_reads.h"
#include "io/storage/wrapped_storage.h"

namespace stoker {
namespace {

// What makes two tiers one device: name, options, and the directory that a relative root means.
std::string identity_of(const EmulatedOptions& options, const std::string& name,
                        const Storage& inner) {
  const FileTree* files = files_of(inner);
  std::error_code ignored;
  EmulatedOptions device = options;
  device.tail = {};  // which reads are sent twice is no matter of the device
  return fmt::format("{}\n{}{}", name, to_yaml(dump_struct(device)),
                     files == nullptr ? ""
                                      : std::filesystem::weakly_canonical(
                                            std::filesystem::absolute(files->root()), ignored)
                                            .string());
}

std::shared_ptr<TierModel> make_model(const EmulatedOptions& options, const Storage& inner,
                                      const Storage::Inputs& inputs) {
  const std::string identity = identity_of(options, inputs.name, inner);
  const bool shared = options.shared && !inputs.name.empty();
  std::vector<TierDevice> devices;
  for (int64_t i = 0; i < options.layout.stripes; ++i) {
    const std::string one = i == 0 ? identity : fmt::format("{}\n{}", identity, i);
    TierCosts costs = options.figures.costs();
    costs.seed = tier_object(one);
    auto share = shared ? std::make_shared<TierShare>(one) : std::make_shared<TierShare>();
    if (!share->remark().empty() && i == 0) inputs.remark(share->remark());
    if (inputs.meter != nullptr && i == 0) inputs.meter->used_by(share->processes());
    devices.emplace_back(costs, std::move(share));
  }
  return std::make_shared<TierModel>(std::move(devices), options.layout, inputs.meter);
}

// What WrappedStorage does with each operation on an object: the caller goes on when the device
// would be done.
struct Wait {
  std::shared_ptr<TierModel> model;
  uint64_t read_piece;  // as StorageInfo has it

  template <class F>
  void operator()(const ObjectCall& call, const F& operation) const {
    TimePoint begun = model->begin();
    operation();
    uint64_t done = 0;
    if (call.op == FileCall::Op::read && read_piece > 0) {
      for (; done < call.bytes; begun = model->begin()) {
        const uint64_t bytes = std::min(read_piece, call.bytes - done);
        model->finish(begun, tier_operation(call.op, call.key, call.offset + done, bytes));
        done += bytes;
      }
    }
    model->finish(begun, tier_operation(call.op, call.key, call.offset + done, call.bytes - done));
  }
};

// Another tier, slowed down to a device that is not at hand.
class EmulatedStorage final : public WrappedStorage<Wait>, public Emulates {
 public:
  using Options = EmulatedOptions;
  EmulatedStorage(const Options& options, const Inputs& inputs)
      : EmulatedStorage(options, inputs, options.inner.create(inputs)) {}
  void read(const std::string& key, Buffer& out, Range range) const override {
    if (!hedged_) return read_once(key, out, range);
    hedged_->read(key, out, range);
  }
  TierModel& model() const override { return *model_; }
  const Storage& data() const override { return inner(); }

 private:
  EmulatedStorage(const Options& options, const Inputs& inputs, std::unique_ptr<Storage>&& inner)
      : EmulatedStorage(options, inputs, make_model(options, *inner, inputs), std::move(inner)) {}
  EmulatedStorage(const Options& options, const Inputs& inputs,
                  const std::shared_ptr<TierModel>& model, std::unique_ptr<Storage>&& inner)
      : WrappedStorage(std::move(inner), Wait{model, options.inner.info().read_piece},
                       std::make_shared<TierLayer>(model)),
        model_(model),
        hedged_(hedged_reads(options.tail, inputs.meter,
                             [this](const std::string& key, Buffer& out, Range range) {
                               read_once(key, out, range);
                             })) {}
  void read_once(const std::string& key, Buffer& out, Range range) const {
    WrappedStorage::read(key, out, range);
  }

  const std::shared_ptr<TierModel> model_;
  const std::unique_ptr<HedgedReads> hedged_;  // null: no read is sent twice
};

STOKER_REGISTER(Storage, "emulated", EmulatedStorage);

}  // namespace
}  // namespace stoker
