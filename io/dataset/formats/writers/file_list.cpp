#include <algorithm>
#include <string>
#include <vector>

#include "io/core/text/csv.h"
#include "io/core/text/text.h"
#include "io/dataset/formats/writers/image_files.h"

namespace stoker {
namespace {

// Files, and lists of them in their order: "path,label", the path from the list's own folder.
class FileListWriter final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const { return {.extension = "", .apart = true, .unique_names = true}; }
  };
  FileListWriter(const Options&, const Inputs& inputs) : classes_(inputs.classes) {}

  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return write_image_files(to, key, classes_);
  }
  std::string name_of(std::string_view key, int64_t label) const override {
    return image_file_name(key, classes_.at(static_cast<size_t>(label)));
  }
  void finish(Storage& to, const std::string& prefix, const WrittenSet& written) const override {
    list(to, prefix, "train.csv", written, Split::train);
    list(to, prefix, "test.csv", written, Split::test);
    ShardFormatWriter::finish(to, prefix, written);
  }
  Reading reading(const std::string& prefix, const std::string&, bool tests) const override {
    Reading options{{"train", prefix + "train.csv"}};
    if (tests) options.emplace_back("test", prefix + "test.csv");
    if (!prefix.empty()) {
      options.emplace_back("folder", prefix.substr(0, prefix.size() - 1));
      options.emplace_back("classes", prefix + "classes.txt");
    }
    return options;
  }

 private:
  // The number, unless it is the name of another class.
  std::string label_of(int64_t label) const {
    std::string number = std::to_string(label);
    const auto named = std::ranges::find(classes_, number);
    const bool other = named != classes_.end() && named - classes_.begin() != label;
    return other ? csv_field(classes_[static_cast<size_t>(label)]) : number;
  }

  void list(Storage& to, const std::string& prefix, const std::string& name,
            const WrittenSet& written, Split split) const {
    std::string lines;
    for (const WrittenShard& shard : written.shards) {
      if (shard.split != split) continue;
      for (size_t i = 0; i < shard.samples.size(); ++i) {
        lines += csv_field(from_text(shard.objects.at(i).key.substr(prefix.size()))) + "," +
                 label_of(shard.samples[i].label) + "\n";
      }
    }
    if (lines.empty()) return;
    write_object(to, prefix + name, {reinterpret_cast<const uint8_t*>(lines.data()), lines.size()});
  }

  const std::vector<std::string> classes_;
};

STOKER_REGISTER(ShardFormatWriter, "file_list", FileListWriter);

}  // namespace
}  // namespace stoker
