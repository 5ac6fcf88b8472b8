#include "io/dataset/shards/shard_writer.h"

namespace stoker {
namespace {

// A prefix as a part of a pattern (fnmatch) that means itself.
std::string literally(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[{\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

template <>
Registry<ShardFormatWriter>& Registry<ShardFormatWriter>::global() {
  static Registry registry;
  return registry;
}

std::string ShardFormatWriter::name_of(std::string_view /*key*/, int64_t /*label*/) const {
  return {};
}

void ShardFormatWriter::finish(Storage& to, const std::string& prefix,
                               const WrittenSet& written) const {
  std::string names;
  for (const std::string& name : written.classes) names += name + "\n";
  write_object(to, prefix + "classes.txt",
               {reinterpret_cast<const uint8_t*>(names.data()), names.size()});
}

ShardFormatWriter::Reading ShardFormatWriter::reading(const std::string& prefix,
                                                      const std::string& extension,
                                                      bool /*tests*/) const {
  if (prefix.empty()) return {};
  return {{"train", literally(prefix) + "train-*" + extension},
          {"test", literally(prefix) + "test-*" + extension},
          {"classes", prefix + "classes.txt"}};
}

}  // namespace stoker
