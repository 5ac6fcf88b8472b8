// A data set: each object of a tier is a sample, and its folder is its class.
#include <algorithm>

#include "io/dataset/dataset.h"

namespace {

using namespace stoker;

class Folders final : public Dataset {
 public:
  struct Options {
    TierName storage;
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage, same_results("tier that holds the folders"));
      v("on_error", on_error, "what to do with bad samples");
    }
    DatasetInfo info() const { return {storage.name}; }
  };

  Folders(const Options& options, const Inputs& inputs)
      : Dataset(options.on_error), tier_(inputs.tiers.at(options.storage.name)) {
    std::vector<ObjectInfo> objects = tier_.list("");
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    for (const ObjectInfo& object : objects) {
      const size_t slash = object.key.find('/');
      if (slash == std::string::npos) continue;
      const std::string folder = object.key.substr(0, slash);
      if (classes_.empty() || classes_.back() != folder) classes_.push_back(folder);
      // Every fourth one is for testing.
      auto& samples = (train_.size() + test_.size()) % 4 == 3 ? test_ : train_;
      samples.push_back({object.key, std::ssize(classes_) - 1, object.bytes});
    }
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return std::ssize(of(split)); }
  SampleInfo info(Split split, int64_t index) const override {
    return of(split).at(static_cast<size_t>(index));
  }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    const SampleInfo& sample = of(split).at(static_cast<size_t>(index));
    tier_.read(sample.key, scratch);
    return {scratch.bytes(), sample.label};
  }

 private:
  const std::vector<SampleInfo>& of(Split split) const {
    return split == Split::train ? train_ : test_;
  }

  const Storage& tier_;
  std::vector<std::string> classes_;
  std::vector<SampleInfo> train_;
  std::vector<SampleInfo> test_;
};

STOKER_REGISTER(Dataset, "folders", Folders);

}  // namespace
