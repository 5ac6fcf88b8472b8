#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset/shards/shard_index.h"
#include "io/dataset/shards/tier_reads.h"

namespace stoker {

// A member of a tar file. A value.
struct TarMember {
  enum class Kind { file, hard_link, symbolic_link, folder, other };
  Kind kind = Kind::file;
  // Without "./" and a '/' at its end.
  std::string path;
  // Of a link: the path of the member that it leads to.
  std::string target = {};
  // Of a file: where its contents lie in the shard, and how many bytes they have. A sparse file's
  // lie in parts.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::vector<ShardPart> parts = {};
  // The number of its archive, for a file may hold several.
  int64_t archive = 0;
};

// ShardPart::packing of the zeros that a sparse file does not store.
inline constexpr uint64_t kTarHole = 1;

// The members of a tar file of a tier, one by one: ustar, GNU and pax, by libarchive. Archives that
// were joined (cat a.tar b.tar) are read one after another. One thread; the tier must outlive it.
// Everything throws IoError, and Error(ExitCode::data), which names the shard, where it is no tar
// file or is damaged.
class TarMembers {
 public:
  TarMembers(const Storage& tier, const ObjectInfo& shard);

  // Nothing: the end, or the file is cut behind some members.
  std::optional<TarMember> next();
  // The first bytes of the current member, at most `most`.
  std::string text(size_t most);
  // Behind the end: whether the file did not end as a tar file does, and how many bytes behind its
  // last archive are none.
  bool cut() const { return cut_; }
  uint64_t behind() const { return behind_; }

 private:
  struct Close {
    void operator()(archive* a) const { ::archive_read_free(a); }
  };
  static la_ssize_t pull(archive*, void* self, const void** block);
  static la_int64_t skip(archive*, void* self, la_int64_t count);

  // Begins an archive that begins there. libarchive's result.
  int open(uint64_t begin);
  // Begins what lies behind the end of this one. False: nothing does.
  bool open_next();
  bool has_magic() const;
  TarMember member(archive_entry* entry) const;
  void check(int result) const;
  std::string reason() const;

  const Storage& tier_;
  const ObjectInfo shard_;
  std::optional<ObjectStream> stream_;
  uint64_t begin_ = 0;    // of the archive
  uint64_t taken_ = 0;    // by libarchive, of the stream
  int64_t archives_ = 0;  // behind which it begins
  int64_t members_ = 0;   // of all archives so far
  bool cut_ = false;
  uint64_t behind_ = 0;
  std::exception_ptr error_;
  std::unique_ptr<archive, Close> archive_;
};

}  // namespace stoker
