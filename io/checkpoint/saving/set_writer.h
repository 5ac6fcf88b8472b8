#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_names.h"
#include "io/storage/file_tree.h"

namespace stoker {

// What an acknowledged checkpoint survives. fsync: nothing is acknowledged before it is on the
// medium. none: the page cache is trusted, as TensorFlow's Saver does; a power loss may take
// acknowledged checkpoints. Objects are durable in any case.
enum class Durability { fsync, none };
EnumNames<Durability> enum_names(Durability);

// A set on its way to a tier. Nobody sees any of it before commit(); when that returns, the set is
// durable. Destroyed without commit() it leaves nothing behind (a killed process leaves garbage
// that the next one collects). One thread, but for write(). Throws IoError.
//
// Where several processes share the directory, the others join the first one's set: they add files,
// write and finish them; the first commits when all have, and leaves nothing behind where they have
// not.
class SetWriter {
 public:
  // in_order: a file takes its bytes from the begin to the end only, from one thread at a time.
  SetWriter(bool in_order, std::string place) : in_order_(in_order), place_(std::move(place)) {}
  virtual ~SetWriter() = default;
  SetWriter(const SetWriter&) = delete;
  SetWriter& operator=(const SetWriter&) = delete;
  bool in_order() const { return in_order_; }
  // Where the set is until commit(): by this others join.
  const std::string& place() const { return place_; }

  // Makes a file of `bytes` bytes; returns its number for write().
  virtual size_t add_file(const std::string& name, uint64_t bytes, FileAccess access) = 0;
  // Any thread; ranges must not overlap. offset is a multiple of kDirectAlignment, as is the
  // length, but for the file's end; where access is direct, the address is aligned as well.
  // `queue`: that of the calling thread, or none.
  virtual void write(size_t file, uint64_t offset, Bytes bytes, Uring* queue) = 0;
  // Nothing is written any more. Once.
  virtual void finish() = 0;
  // Once; afterwards only take_back() and the destructor. If it throws, the set is not there.
  // replaces: where a set of this step is there, the new one takes its place in one step, and the
  // destructor removes the old one. Else files refuse the new one (NoRetry), and objects keep both.
  virtual void commit(const Manifest& manifest, bool replaces) = 0;
  // Takes the commit back: the set is not there any more, and one that it replaced is there again.
  // If it throws, one of the two is there, whole.
  virtual void take_back() = 0;

 private:
  const bool in_order_;
  const std::string place_;
};

// The sets of one directory of a tier, for the process that writes them. Any thread, as long as no
// two work on the same step. Everything throws IoError.
class SetDirectory {
 public:
  virtual ~SetDirectory() = default;
  // Before all else: makes it this process's own, and removes what killed processes left there.
  // Error(ExitCode::environment): another process writes there. Once.
  virtual void claim() = 0;
  // Begins a set. `place`: joins that of another process's writer.
  virtual std::unique_ptr<SetWriter> begin(int64_t step, const std::string& place) = 0;
  // Disappears in one step for every reader; then its space is freed. Two threads may remove the
  // same; absent is fine.
  virtual void remove(int64_t step) = 0;
  // Restoring no longer considers the set, and nothing of it is lost. Returns where it is then, for
  // messages. why: "damaged", "superseded".
  virtual std::string set_aside(int64_t step, const std::string& why) = 0;
  // A small file beside the sets, in the place of the one before.
  virtual void replace_text(const std::string& name, const std::string& text) = 0;
};

}  // namespace stoker
