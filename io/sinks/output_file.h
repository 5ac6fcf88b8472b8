#pragma once

#include <fcntl.h>

#include <string>
#include <utility>

#include "io/core/system/file.h"

namespace stoker {

// A file that a sink adds to while the run goes on. Every write() is one append to the file,
// nothing is kept back, so that a process that is killed leaves whole pieces of what it wrote. Not
// durable. One thread at a time. Both throw IoError, which names the path.
class OutputFile {
 public:
  // Makes the file. One that is there already is an error: a run never overwrites another's.
  explicit OutputFile(std::string path)
      : path_(std::move(path)), file_(open_file("create", path_, O_WRONLY | O_CREAT | O_EXCL)) {}
  // All of it, over short writes and signals. A disk that is full leaves a part of the last piece.
  void write(const std::string& text) const {
    write_all(file_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, path_);
  }
  // For messages.
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace stoker
