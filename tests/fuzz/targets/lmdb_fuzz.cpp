#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/lmdb_tree.h"
#include "tests/fuzz/inputs/lmdb_pages.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// A tier with one object.
class OneFile final : public Storage {
 public:
  explicit OneFile(std::string file) : file_(std::move(file)) {}
  std::vector<ObjectInfo> list(const std::string& /*prefix*/) const override {
    return {{"db", file_.size()}};
  }
  void read(const std::string& /*key*/, Buffer& out, Range range) const override {
    fuzz::require(range.offset <= file_.size() && range.length <= file_.size() - range.offset,
                  "a request behind the end");
    std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(range.offset), range.length,
                out.resize(range.length));
    requests += 1;
  }
  std::unique_ptr<ObjectWriter> create(const std::string& /*key*/) override { return nullptr; }
  void remove(const std::string& /*key*/) override {}
  mutable std::atomic<size_t> requests{0};

 private:
  const std::string file_;
};

}  // namespace
}  // namespace stoker

// Every value lies in the file, in no other's place; the entries are no more than the file, and the
// way to them is not long.
STOKER_FUZZ_TARGET(lmdb) {
  using namespace stoker;
  const OneFile tier(unfolded_lmdb(input));
  const ObjectInfo object = tier.list("").front();
  std::set<uint64_t> begins;
  uint64_t bytes = 0;
  LmdbTree tree(tier, object);
  tree.walk([&](std::span<const LmdbEntry> entries) {
    for (const LmdbEntry& entry : entries) {
      fuzz::require(entry.offset <= object.bytes && entry.bytes <= object.bytes - entry.offset,
                    "a value that lies outside");
      fuzz::require(!entry.here || entry.value.size() == entry.bytes, "a value of another size");
      bytes += entry.key.size() + entry.value.size();
      if (!entry.here) fuzz::require(begins.insert(entry.offset).second, "a place used twice");
    }
  });
  fuzz::require(bytes <= object.bytes, "more than the file");
  fuzz::require(tier.requests < 200, "too many requests");
}
