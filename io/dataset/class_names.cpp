#include "io/dataset/class_names.h"

#include <cerrno>
#include <sstream>

#include "io/core/error.h"

namespace stoker {

std::vector<std::string> read_class_names(const Storage& tier, const std::string& key) {
  std::vector<std::string> names;
  Buffer text;
  try {
    tier.read(key, text);
  } catch (const IoError& error) {
    if (error.errno_value() != ENOENT) throw;
    return names;
  }
  std::istringstream lines(std::string(text.bytes().begin(), text.bytes().end()));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(line);
  }
  return names;
}

}  // namespace stoker
