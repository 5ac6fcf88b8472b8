#include "io/loader/lmdbio/database/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stoker {
namespace {

constexpr int64_t kBetweenMarks = 4096;

// A figure of the meta, and what it means where another one was computed.
struct Fact {
  const char* what;
  uint64_t expected;
  uint64_t found;
  const char* meaning;
};

constexpr const char* kCommits =
    "its transactions had another number of records, or there were several writers, or it was "
    "changed or compacted later";
constexpr const char* kDeleted = "records were deleted, or others added";
constexpr const char* kSplit =
    "its keys did not come in their order, so that pages were split in the middle";
constexpr const char* kFreed =
    "pages came free in another way: records were deleted or overwritten, or somebody read it "
    "meanwhile, or it is a compacted copy";

std::vector<Fact> facts_of(const LmdbMeta& expected, const LmdbMeta& found) {
  return {
      {"bytes a page", expected.page_bytes, found.page_bytes, "it is of another machine"},
      {"records", expected.main.entries, found.main.entries, kDeleted},
      {"transactions", expected.transaction, found.transaction, kCommits},
      {"pages of large values", expected.main.overflow_pages, found.main.overflow_pages,
       "its values had other sizes"},
      {"leaves", expected.main.leaf_pages, found.main.leaf_pages, kSplit},
      {"branches", expected.main.branch_pages, found.main.branch_pages, kSplit},
      {"levels", expected.main.depth, found.main.depth, kSplit},
      {"as its last page", expected.last_page, found.last_page, kFreed},
      {"as its root", expected.main.root, found.main.root, kFreed},
      {"entries in its list of free pages", expected.free.entries, found.free.entries, kFreed},
      {"levels of its list of free pages", expected.free.depth, found.free.depth, kFreed},
      {"as the page of that list", expected.free.root, found.free.root, kFreed},
  };
}

template <class T>
T number_in(Bytes bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

Provenance::Provenance(const LmdbHistory& history, int64_t records, Sizes sizes)
    : records_(records), sizes_(std::move(sizes)) {
  try {
    AppendReplay replay(history);
    std::vector<LmdbPlace> placed;
    for (int64_t record = 0; record < records; ++record) {
      if (record % kBetweenMarks == 0) marks_.push_back(replay);
      replay.add(sizes_(record), placed);
      placed.clear();
    }
    replay.finish(placed);
    meta_ = replay.meta();
  } catch (const LmdbNotReplayed& error) {
    refusal_ = error.what();
  }
}

std::string Provenance::check(const LmdbMeta& meta) const {
  if (!refusal_.empty()) return refusal_;
  for (const Fact& fact : facts_of(meta_, meta)) {
    if (fact.expected == fact.found) continue;
    return fmt::format("it has {} {} where appending would have made {}: {}", fact.found, fact.what,
                       fact.expected, fact.meaning);
  }
  if (meta_.free != meta.free) return kFreed;
  return "";
}

std::vector<LmdbPlace> Provenance::places(int64_t first, int64_t last) const {
  std::vector<LmdbPlace> placed;
  if (first >= last) return placed;
  // The last mark at which the first record's place was still open.
  const auto behind = std::ranges::upper_bound(marks_, first, {}, &AppendReplay::placed);
  AppendReplay replay = *std::prev(behind);
  int64_t begin = replay.placed();
  while (begin + std::ssize(placed) < last && replay.added() < records_) {
    replay.add(sizes_(replay.added()), placed);
    if (begin + std::ssize(placed) > first) continue;
    begin += std::ssize(placed);
    placed.clear();
  }
  if (begin + std::ssize(placed) < last) replay.finish(placed);
  placed.resize(static_cast<size_t>(last - begin));
  placed.erase(placed.begin(), placed.begin() + (first - begin));
  return placed;
}

bool is_at_its_place(const LmdbPlace& place, Bytes from_page) {
  constexpr uint16_t kLeaf = 2, kOverflow = 4;
  constexpr uint64_t kNode = 8;
  if (place.in_page < kLmdbHeader || from_page.size() < place.in_page ||
      from_page.size() - place.in_page < place.sizes.value) {
    return false;
  }
  const uint16_t kind = number_in<uint16_t>(from_page, 10);
  if (number_in<uint64_t>(from_page, 0) != place.page) return false;
  if (place.pages != 0) {
    return (kind & kOverflow) != 0 && number_in<uint32_t>(from_page, 12) == place.pages;
  }
  if ((kind & kLeaf) == 0 || place.in_page < kLmdbHeader + kNode + place.sizes.key) return false;
  const uint64_t node = place.in_page - place.sizes.key - kNode;
  return number_in<uint32_t>(from_page, node) == place.sizes.value &&
         number_in<uint16_t>(from_page, node + 4) == 0 &&
         number_in<uint16_t>(from_page, node + 6) == place.sizes.key;
}

}  // namespace stoker
