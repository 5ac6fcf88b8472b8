#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "io/storage/emulated/tier_figures.h"
#include "io/storage/emulated/tier_model.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

using Kind = TierOperation::Kind;

struct EmulatedOptions {
  TierFigures figures;
  bool shared = true;
  Component<Storage> inner;

  template <class V>
  void visit(V& v) {
    figures.visit(v);
    v("shared", shared,
      "one device for all processes of this user that have a tier of this name and these options; "
      "false: each has its own");
    v.required("inner", inner, "the tier that holds the data");
  }
  void check(const Section& section) const { figures.check(section); }
  StorageInfo info() const {
    const TierCosts costs = figures.costs();
    StorageInfo info = inner.info();
    info.emulated = true;
    info.read_mb_per_s = 1e-6 * costs.read_bytes_per_s;
    info.write_mb_per_s = 1e-6 * costs.write_bytes_per_s;
    return info;
  }
};

// What makes two tiers one device: name, options, and the directory that a relative root means.
std::string identity_of(const EmulatedOptions& options, const std::string& name,
                        const Storage& inner) {
  const FileTree* files = inner.files();
  std::error_code ignored;
  return fmt::format("{}\n{}{}", name, to_yaml(dump_struct(options)),
                     files == nullptr ? ""
                                      : std::filesystem::weakly_canonical(
                                            std::filesystem::absolute(files->root()), ignored)
                                            .string());
}

std::shared_ptr<TierModel> make_model(const EmulatedOptions& options, const Storage& inner,
                                      const Storage::Inputs& inputs) {
  const std::string identity = identity_of(options, inputs.name, inner);
  TierCosts costs = options.figures.costs();
  costs.seed = tier_object(identity);
  const bool shared = options.shared && !inputs.name.empty();
  auto share = shared ? std::make_shared<TierShare>(identity) : std::make_shared<TierShare>();
  if (!share->remark().empty()) {
    if (inputs.notify) inputs.notify("tier " + inputs.name + ": " + share->remark());
    if (inputs.meter != nullptr) inputs.meter->add_condition(share->remark());
  }
  return std::make_shared<TierModel>(TierDevice(costs, std::move(share)), inputs.meter);
}

class EmulatedWriter final : public ObjectWriter {
 public:
  EmulatedWriter(std::unique_ptr<ObjectWriter> inner, std::shared_ptr<TierModel> model,
                 uint64_t object)
      : inner_(std::move(inner)), model_(std::move(model)), object_(object) {}

  void append(Bytes bytes) override {
    const TimePoint begun = model_->begin();
    inner_->append(bytes);
    model_->finish(begun, {Kind::write, bytes.size(), object_, written_});
    written_ += bytes.size();
  }
  void commit() override {
    const TimePoint begun = model_->begin();
    inner_->commit();
    model_->finish(begun, {Kind::metadata});
  }

 private:
  std::unique_ptr<ObjectWriter> inner_;
  std::shared_ptr<TierModel> model_;
  const uint64_t object_;
  uint64_t written_ = 0;
};

// Another tier, slowed down to a device that is not at hand.
class EmulatedStorage final : public Storage {
 public:
  using Options = EmulatedOptions;
  EmulatedStorage(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)), model_(make_model(options, *inner_, inputs)) {
    if (const FileTree* files = inner_->files()) {
      files_ = files->behind(std::make_shared<TierLayer>(model_));
    }
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    const TimePoint begun = model_->begin();
    std::vector<ObjectInfo> objects = inner_->list(prefix);
    model_->finish(begun, {Kind::metadata});
    return objects;
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    const TimePoint begun = model_->begin();
    inner_->read(key, out, range);
    model_->finish(begun, {Kind::read, out.size(), tier_object(key), range.offset});
  }

  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    const TimePoint begun = model_->begin();
    auto writer = std::make_unique<EmulatedWriter>(inner_->create(key), model_, tier_object(key));
    model_->finish(begun, {Kind::metadata});
    return writer;
  }

  void remove(const std::string& key) override {
    const TimePoint begun = model_->begin();
    inner_->remove(key);
    model_->finish(begun, {Kind::metadata});
  }

  const FileTree* files() const override { return files_ ? &*files_ : nullptr; }

 private:
  std::unique_ptr<Storage> inner_;
  std::shared_ptr<TierModel> model_;
  std::optional<FileTree> files_;
};

STOKER_REGISTER(Storage, "emulated", EmulatedStorage);

}  // namespace
}  // namespace stoker
