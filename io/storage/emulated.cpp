#include <memory>
#include <optional>
#include <utility>

#include "io/storage/file_tree.h"
#include "io/storage/storage.h"
#include "io/storage/tier_figures.h"
#include "io/storage/tier_model.h"

namespace stoker {
namespace {

using Kind = TierModel::Kind;

struct EmulatedOptions {
  TierFigures figures;
  Component<Storage> inner;

  template <class V>
  void visit(V& v) {
    figures.visit(v);
    v.required("inner", inner, "the tier that holds the data");
  }
  void check(const Section& section) const { figures.check(section); }
};

class EmulatedWriter final : public ObjectWriter {
 public:
  EmulatedWriter(std::unique_ptr<ObjectWriter> inner, std::shared_ptr<TierModel> model)
      : inner_(std::move(inner)), model_(std::move(model)) {}

  void append(Bytes bytes) override {
    const TimePoint begun = model_->begin();
    inner_->append(bytes);
    model_->finish(begun, Kind::write, bytes.size());
  }
  void commit() override {
    const TimePoint begun = model_->begin();
    inner_->commit();
    model_->finish(begun, Kind::metadata);
  }

 private:
  std::unique_ptr<ObjectWriter> inner_;
  std::shared_ptr<TierModel> model_;
};

// Another tier, slowed down to a device that is not at hand.
class EmulatedStorage final : public Storage {
 public:
  using Options = EmulatedOptions;
  EmulatedStorage(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)),
        model_(std::make_shared<TierModel>(options.figures.costs())) {
    if (const FileTree* files = inner_->files()) {
      files_ = files->behind(std::make_shared<TierLayer>(model_));
    }
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    const TimePoint begun = model_->begin();
    std::vector<ObjectInfo> objects = inner_->list(prefix);
    model_->finish(begun, Kind::metadata);
    return objects;
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    const TimePoint begun = model_->begin();
    inner_->read(key, out, range);
    model_->finish(begun, Kind::read, out.size());
  }

  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    const TimePoint begun = model_->begin();
    auto writer = std::make_unique<EmulatedWriter>(inner_->create(key), model_);
    model_->finish(begun, Kind::metadata);
    return writer;
  }

  void remove(const std::string& key) override {
    const TimePoint begun = model_->begin();
    inner_->remove(key);
    model_->finish(begun, Kind::metadata);
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
