#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stoker {

// A new database of Caffe's kind in a file of this machine, made by liblmdb: keys "00000012_NAME"
// in ascending order, appended, 1,000 entries a transaction as Caffe's tools do. One thread at a
// time. Throws IoError; Error(ExitCode::data) for a name that is too long, and for more entries
// than keys have digits for. Without finish() the file is of no use, and stays.
class LmdbFile {
 public:
  // path: where nothing is yet. most_pages: the most pages that the values of a transaction may
  // have, which liblmdb keeps in memory; one that would have more ends early.
  LmdbFile(std::string path, uint64_t most_pages);
  ~LmdbFile();

  void add(std::string_view name, const std::string& value);
  // Once, last. All is in the file then; it is not synced.
  void finish();

 private:
  struct Handles;

  // Ends the transaction where it is full, and sees to the map for `pages` more.
  void make_room(uint64_t pages);
  void begin();
  void commit_transaction();
  void check(int result) const;

  const std::string path_;
  const uint64_t most_pages_;
  std::unique_ptr<Handles> lmdb_;
  uint64_t page_bytes_ = 0;
  uint64_t map_pages_;
  uint64_t used_pages_ = 0;     // at most
  uint64_t pending_pages_ = 0;  // of the transaction's values
  int64_t entries_ = 0;         // of the transaction
  int64_t samples_ = 0;
};

}  // namespace stoker
