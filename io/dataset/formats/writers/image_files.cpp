#include "io/dataset/formats/writers/image_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "io/core/text/text.h"

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

namespace {

constexpr std::array<std::string_view, 5> kImages{"jpg", "jpeg", "png", "bmp", "webp"};

// In small letters. Empty: it is not an image's.
std::string extension_of(std::string_view key) {
  const size_t dot = key.rfind('.');
  if (dot == key.npos || key.find('/', dot) != key.npos) return {};
  const std::string extension = lower_case(key.substr(dot + 1));
  return std::ranges::find(kImages, extension) == kImages.end() ? std::string() : extension;
}

void add_part(std::string& path, std::string_view part) {
  if (part.empty() || part == ".") return;
  if (!path.empty()) path += '/';
  const size_t begin = path.size();
  path += part;
  if (path[begin] == '.') path[begin] = '_';
  for (char& c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  }
}

}  // namespace

std::string image_extension(Bytes bytes, std::string_view key) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 12));
  if (head.starts_with("\xff\xd8\xff")) return "jpg";
  if (head.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (head.starts_with("RIFF") && head.ends_with("WEBP")) return "webp";
  if (head.starts_with("BM")) return "bmp";
  const std::string said = extension_of(key);
  return said.empty() ? "jpg" : said;
}

std::string_view without_image_extension(std::string_view key) {
  const size_t extension = extension_of(key).size();
  return extension == 0 ? key : key.substr(0, key.size() - extension - 1);
}

std::string plain_path(std::string_view key) {
  const std::string bytes = from_text(key);
  std::string path;
  for (std::string_view rest = bytes; !rest.empty();) {
    const size_t slash = rest.find('/');
    add_part(path, rest.substr(0, slash));
    rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
  }
  return to_text(path.empty() ? "_" : path);
}

}  // namespace stoker
