#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {

// A file that a sink adds to while the run goes on. Every write() is one append to the file,
// nothing is kept back, so that a process that is killed leaves whole pieces of what it wrote; what
// was written in part when a write failed, as on a full disk, is cut off again. Not durable. One
// thread at a time. Both throw IoError, which names the path.
class OutputFile {
 public:
  // Makes the file. One that is there already is an error: a run never overwrites another's.
  explicit OutputFile(std::string path)
      : path_(std::move(path)), file_(open_file("create", path_, O_WRONLY | O_CREAT | O_EXCL)) {}
  // All of it, over short writes and signals, or nothing.
  void write(const std::string& text) const {
    const off_t before = ::lseek(file_.get(), 0, SEEK_CUR);
    try {
      write_all(file_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, path_);
    } catch (const IoError&) {
      const auto cut = [&] { return ::ftruncate(file_.get(), before); };
      if (before >= 0 && uninterrupted(cut) == 0) ::lseek(file_.get(), before, SEEK_SET);
      throw;
    }
  }
  // For messages.
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace stoker
