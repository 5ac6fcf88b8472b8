#include "io/dataset/formats/writers/image_files.h"

#include <utility>

#include "io/dataset/formats/writers/image_names.h"

namespace stoker {
namespace {

class ImageFiles final : public ShardWriter {
 public:
  ImageFiles(Storage& to, std::string folder, const std::vector<std::string>& classes)
      : to_(to), folder_(std::move(folder)), classes_(classes) {}
  void add(const SampleToWrite& sample) override {
    const std::string& class_name = classes_.at(static_cast<size_t>(sample.label));
    write_object(to_,
                 folder_ + image_file_name(sample.key, class_name) + "." +
                     image_extension(sample.bytes, sample.key),
                 sample.bytes);
  }
  void commit() override {}

 private:
  Storage& to_;
  const std::string folder_;
  const std::vector<std::string>& classes_;
};

}  // namespace

std::unique_ptr<ShardWriter> write_image_files(Storage& to, const std::string& key,
                                               const std::vector<std::string>& classes) {
  return std::make_unique<ImageFiles>(to, key.substr(0, key.rfind('-')) + "/", classes);
}

std::string image_file_name(std::string_view key, const std::string& class_name) {
  const std::string path = "/" + plain_path(without_image_extension(key));
  const std::string folder = "/" + plain_path(class_name) + "/";
  const size_t at = path.find(folder);
  return folder.substr(1) + path.substr(at == path.npos ? 1 : at + folder.size());
}

}  // namespace stoker
