#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/manifest.h"
#include "io/storage/file_tree.h"

namespace stoker {

// What an acknowledged checkpoint survives. fsync: nothing is acknowledged before it is on the
// medium. none: the page cache is trusted, as TensorFlow's Saver does; a power loss may take
// acknowledged checkpoints.
enum class Durability { fsync, none };
EnumNames<Durability> enum_names(Durability);

// "step-0000000020"
std::string set_name(int64_t step);
// The step of a set's name; -1: not the name of a committed set.
int64_t step_of(const std::string& name);
// Where process `rank` of a group keeps its files on a tier of its own: "<directory>/rank-1". And
// the rank of such a name; -1: no such.
std::string rank_directory(const std::string& directory, int64_t rank);
int64_t rank_of(const std::string& name);
// The name of something that a killed process left: a set before its commit or after its removal.
bool is_garbage(const std::string& name);

// A set on its way into `directory` of a tier:
//   1. the constructor makes ".tmp-step-<n>-<random>";
//   2. add_file() makes a file and reserves its space, so that a full disk shows before any byte
//      moves; write() fills it; finish() syncs every file;
//   3. commit() writes and syncs the manifest, syncs the directory, renames it to "step-<n>", syncs
//      the parent. When it returns, the set is durable; before the rename, nobody sees any of it.
//      If it throws, the set is not there.
// Destroyed without commit() it leaves nothing behind (a killed process leaves garbage that the
// next one collects). One thread, but for write(). Throws IoError.
//
// Where several processes share the directory, the others join the first one's set: they add files,
// write and finish them; the first commits when all have, and leaves nothing behind where they have
// not.
class SetWriter {
 public:
  // `tree` must outlive it. `directory` is one below its root and need not exist.
  SetWriter(const FileTree& tree, std::string directory, int64_t step, Durability durability);
  // Joins the set of another process's writer, which is in `temporary`.
  SetWriter(const FileTree& tree, std::string directory, int64_t step, Durability durability,
            std::string temporary);
  ~SetWriter();
  SetWriter(const SetWriter&) = delete;
  SetWriter& operator=(const SetWriter&) = delete;

  // Makes a file of `bytes` bytes; returns its number for write().
  size_t add_file(const std::string& name, uint64_t bytes, FileAccess access);
  // Any thread; ranges must not overlap. offset is a multiple of kDirectAlignment, as is the
  // length, but for the file's end; where access is direct, the address is aligned as well.
  // `queue`: that of the calling thread, or none.
  void write(size_t file, uint64_t offset, Bytes bytes, Uring* queue = nullptr);
  // Nothing is written any more. Once.
  void finish();
  // Step 3. Once; afterwards only the destructor.
  void commit(const Manifest& manifest);
  // Where the set is until then.
  const std::string& temporary() const { return temporary_; }

 private:
  struct File {
    TreeFile file;
    uint64_t bytes;
  };
  void publish();
  void remove_temporary();

  const FileTree& tree_;
  const std::string directory_;
  const int64_t step_;
  const bool sync_;
  const bool joined_;
  std::string temporary_;
  std::vector<File> files_;
};

}  // namespace stoker
