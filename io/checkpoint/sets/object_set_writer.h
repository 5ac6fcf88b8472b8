#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint/saving/set_writer.h"
#include "io/storage/storage.h"

namespace stoker {

// The bytes of a text, which has to outlive them. Any thread.
Bytes bytes_of(std::string_view text);

// Removes a set of objects: its manifest first, for without it the rest is no set; then what lies
// under its name. Any thread. IoError; what is left then the next claim removes.
void remove_set(Storage& objects, const std::string& set);

// The SetWriter of ObjectSets, which says how it goes about it. A data object is committed with its
// last byte, so that those that are done do not wait for the others; the manifest is the last.
class ObjectSetWriter final : public SetWriter {
 public:
  // `set` is the prefix of its keys, which nobody else has. may_commit throws where this process
  // does not own the directory any more; it and `objects` must outlive the writer.
  ObjectSetWriter(Storage& objects, std::string set, bool joined, std::function<void()> may_commit);
  ~ObjectSetWriter() override;

  size_t add_file(const std::string& name, uint64_t bytes, FileAccess access) override;
  void write(size_t file, uint64_t offset, Bytes bytes, Uring* queue) override;
  void finish() override;
  void commit(const Manifest& manifest, bool replaces) override;
  void take_back() override;

 private:
  struct File {
    std::unique_ptr<ObjectWriter> writer;  // null: committed
    std::string name;
    uint64_t bytes = 0;
    uint64_t written = 0;
  };

  void replace_others();

  Storage& objects_;
  const bool joined_;
  const std::function<void()> may_commit_;
  bool committed_ = false;  // the destructor keeps it, and removes those that it replaced
  std::vector<std::string> replaced_;  // sets
  std::vector<File> files_;
};

}  // namespace stoker
