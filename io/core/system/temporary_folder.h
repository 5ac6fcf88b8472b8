#pragma once

#include <string>

namespace stoker {

// A new, empty folder, which goes with all that is in it. Its name cannot be guessed and it belongs
// to this user alone, so that nothing that was there before is ever taken for it or removed with
// it. All temporary folders of this program are made here (tests/style_test.py). Any thread.
class TemporaryFolder {
 public:
  // In the folder for temporary files (TMPDIR). use: a word of its name. IoError.
  explicit TemporaryFolder(const std::string& use);
  // In `place`; `prefix` begins its name.
  TemporaryFolder(const std::string& place, const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stoker
