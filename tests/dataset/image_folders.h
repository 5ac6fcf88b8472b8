#pragma once

#include <string>
#include <vector>

#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {

using Strings = std::vector<std::string>;

// A tier in memory with the named objects; the contents of each is its key.
struct Folder : TestDataset {
  explicit Folder(const Strings& keys = {}) : TestDataset(make_storage("{type: memory}")) {
    for (const std::string& key : keys) put(tier(), key, key);
  }
  std::string refused(const std::string& yaml) {
    return error_of([&] { build(yaml); });
  }
};

inline Strings numbered(const std::string& folder, int count) {
  Strings keys;
  for (int i = 0; i < count; ++i) keys.push_back(folder + "/" + std::to_string(100 + i) + ".jpg");
  return keys;
}

}  // namespace stoker
