#pragma once

#include <string>

namespace stoker {

// A new, empty folder in the one for temporary files (TMPDIR), which goes with all that is in it.
// Its name cannot be guessed, so nobody else has put anything there. Any thread.
class TemporaryFolder {
 public:
  // use: a word of its name. Error(ExitCode::environment) as throw_errno() has it.
  explicit TemporaryFolder(const std::string& use);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stoker
