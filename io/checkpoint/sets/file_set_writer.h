#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/checkpoint/saving/set_writer.h"
#include "io/storage/file_tree.h"

namespace stoker {

// The SetWriter of FileSets, which says how it goes about it. Any order within a file.
class FileSetWriter final : public SetWriter {
 public:
  // `tree` must outlive it. `directory` is one below its root and need not exist. temporary: where
  // the set of another process's writer is, which this one joins; empty: it makes its own.
  // not_direct: called for each file that was to be written past the page cache, and was not.
  FileSetWriter(const FileTree& tree, std::string directory, int64_t step, Durability durability,
                const std::string& temporary, std::function<void()> not_direct);
  ~FileSetWriter() override;

  size_t add_file(const std::string& name, uint64_t bytes, FileAccess access) override;
  void write(size_t file, uint64_t offset, Bytes bytes, Uring* queue) override;
  void finish() override;
  void commit(const Manifest& manifest, bool replaces) override;
  void take_back() override;

 private:
  struct File {
    TreeFile file;
    uint64_t bytes;
    FileAccess access;  // that was asked for
  };
  void publish(bool replaces);
  void exchange();
  void remove_temporary();

  const FileTree& tree_;
  const std::string directory_;
  const int64_t step_;
  const bool sync_;
  const bool joined_;
  const std::function<void()> not_direct_;
  const std::string name_;  // of the set once it is committed
  bool published_ = false;  // the set has its name
  bool replaced_ = false;   // and one that had it before is at place()
  std::vector<File> files_;
};

}  // namespace stoker
