#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/config/registry.h"
#include "io/core/error.h"
#include "io/core/system/memory.h"

namespace stoker {

class FileTree;
class Hub;
class TierMeter;

// One line of a listing. A value.
struct ObjectInfo {
  std::string key;
  uint64_t bytes = 0;
};

// Bytes of an object; by default all of it. A value.
struct Range {
  uint64_t offset = 0;
  uint64_t length = UINT64_MAX;  // to the end of the object
  bool operator==(const Range&) const = default;
};

// What one read() asks for. Refers to its key.
struct ObjectRange {
  std::string_view key;
  Range range;
  bool operator==(const ObjectRange&) const = default;
};

// One object being written. One thread at a time; must not outlive its tier. Throws IoError.
//
// Nobody sees the object before commit() returns; then it is complete and durable, and an older
// object of that key is replaced in one step. Destroyed without commit() it leaves no trace. After
// an exception only the destructor may be called.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // Adds bytes at the end; they are not kept beyond the call.
  virtual void append(Bytes bytes) = 0;
  // Once, last. Blocks until the object is durable.
  virtual void commit() = 0;
};

// What a tier is, as its options say it (Component<Storage>::info), before it is built. A value. A
// tier around others says what is true of the whole.
struct StorageInfo {
  bool emulated = false;      // some of its figures are calculated
  bool keeps_copies = false;  // of another tier's objects
  bool in_memory = false;     // its objects end with the process
  bool read_only = false;     // create() and remove() always fail
  // What an emulated one was told to be, in 10^6 bytes/s.
  std::optional<double> read_mb_per_s = {};
  std::optional<double> write_mb_per_s = {};
  // An object is read by operations of this many bytes, until one is empty. 0: one operation reads
  // it.
  uint64_t read_piece = 0;
  // In which folders of this machine's file systems its files lie. Empty: it keeps none.
  std::vector<std::string> folders = {};
};

// One tier: named, immutable objects; a key is a relative path ("accordion/image_0001.jpg"). Any
// thread. Failures are IoError: `environment` for what is absent or forbidden, else `storage`
// (io/core/error.h).
//
// Four methods and a hint are all that a tier of data needs: there is no mkdir, stat, rename or
// append, and there will not be. A tier that keeps files is a KeepsFiles as well.
class Storage {
 public:
  // What a tier is built with, beside its options. The hub and the meter must outlive it.
  static constexpr const char* kKind = "storage";
  using Info = StorageInfo;
  struct Inputs {
    std::string name = {};       // of the tier in the configuration
    Notify notify = {};          // remarks for the user's log; may be empty
    Hub* hub = nullptr;          // null: nothing is measured
    TierMeter* meter = nullptr;  // of this tier, where there is a hub
    // Tells the user and the meter something that a reader of the tier's figures has to know.
    void remark(const std::string& text) const;
  };
  virtual ~Storage() = default;

  // All objects whose key starts with `prefix`, sorted by key (bytewise). A tier that has
  // directories lists an empty one as "name/" with 0 bytes, so that an empty class can be told from
  // a missing one.
  virtual std::vector<ObjectInfo> list(const std::string& prefix) const = 0;
  // Fills `out` with all of `range`; a range that ends behind the object's end is cut there.
  // IoError where there is no such object, or where it ends before its size says.
  virtual void read(const std::string& key, Buffer& out, Range range = {}) const = 0;
  // Begins an object, new or in the place of another. Several writers of one key may be at work:
  // the last to commit stays.
  virtual std::unique_ptr<ObjectWriter> create(const std::string& key) = 0;
  // Readers that have begun get the whole object or an IoError. Absent is fine.
  virtual void remove(const std::string& key) = 0;
  // A hint: these will be asked for by read() soon, once each, in about this order. A tier that can
  // keep many requests in flight begins them, as far as its own limit of memory goes; read() of
  // just that key and range then has less to wait for. Fails nothing and blocks for nothing: what
  // goes wrong, read() says.
  virtual void expect(std::span<const ObjectRange> /*reads*/) const {}
};

// What a tier is beside Storage whose objects are files, for those who need more than whole
// objects: checkpoints, the page cache. Thread rule: as Storage.
class KeepsFiles {
 public:
  virtual ~KeepsFiles() = default;
  // Valid as long as the tier. Null: what it is made of has no files.
  virtual const FileTree* files() const = 0;
};
// The files of a tier; null: it has none (memory), and holds checkpoints as objects. Any thread.
const FileTree* files_of(const Storage& tier);

// IoError unless `key` is a relative path that stays inside its tier: no "..", ".", empty or
// temporary component. Every tier's read, create and remove begin with it.
void check_key(const std::string& key);

// Writes a whole object in one call: durable, and visible under its key, when it returns. Any
// thread. IoError as the tier's; then nothing was left.
void write_object(Storage& to, const std::string& key, Bytes bytes);

// The tiers of one experiment by name; owns them. Any thread once built.
class Tiers {
 public:
  // In the place of an older one of that name. Not while others look tiers up.
  void add(const std::string& name, std::unique_ptr<Storage> tier);
  // The names were checked when the configuration was read; an unknown one is an Error all the
  // same.
  Storage& at(const std::string& name) const;

 private:
  std::map<std::string, std::unique_ptr<Storage>> tiers_;
};

template <>
Registry<Storage>& Registry<Storage>::global();

}  // namespace stoker
