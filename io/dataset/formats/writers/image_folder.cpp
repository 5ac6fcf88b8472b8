#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/formats/writers/image_files.h"

namespace stoker {
namespace {

// A folder for each class below train/ and test/.
class ImageFolderWriter final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const {
      return {.extension = "", .ordered = false, .apart = true, .unique_names = true};
    }
  };
  ImageFolderWriter(const Options&, const Inputs& inputs) : classes_(inputs.classes) {
    for (size_t i = 0; i < classes_.size(); ++i) {
      const std::string& name = classes_[i];
      const bool plain = name.find('/') == name.npos && plain_path(name) == name;
      if (plain && (i == 0 || classes_[i - 1] < name)) continue;
      throw Error(ExitCode::config,
                  fmt::format("image_folder: class {} is '{}', which {}: file_list and tar_shards "
                              "hold such classes",
                              i, name,
                              plain ? "does not come behind the class before it in the order of "
                                      "bytes, by which image_folder numbers classes"
                                    : "can't be the name of a folder"));
    }
  }
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return write_image_files(to, key, classes_);
  }
  std::string name_of(std::string_view key, int64_t label) const override {
    return image_file_name(key, classes_.at(static_cast<size_t>(label)));
  }
  void finish(Storage&, const std::string&, const WrittenSet& written) const override {
    std::vector<bool> seen(classes_.size());
    for (const WrittenShard& shard : written.shards) {
      if (shard.split != Split::train) continue;
      for (const WrittenSample& sample : shard.samples)
        seen[static_cast<size_t>(sample.label)] = true;
    }
    const auto empty = std::ranges::find(seen, false);
    if (empty == seen.end()) return;
    const std::string& name = classes_[static_cast<size_t>(empty - seen.begin())];
    throw Error(ExitCode::data, "image_folder: class '" + name +
                                    "' has no training samples, and a folder without files is no "
                                    "class: file_list and tar_shards hold such classes");
  }
  Reading reading(const std::string& prefix, const std::string&, bool tests) const override {
    Reading options{{"folder", prefix + "train"}};
    if (tests) options.emplace_back("test_folder", prefix + "test");
    return options;
  }

 private:
  const std::vector<std::string> classes_;
};

STOKER_REGISTER(ShardFormatWriter, "image_folder", ImageFolderWriter);

}  // namespace
}  // namespace stoker
