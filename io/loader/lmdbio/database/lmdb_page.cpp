#include "io/loader/lmdbio/database/lmdb_page.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace stoker {
namespace {

constexpr uint16_t kBranch = 1, kLeaf = 2, kMeta = 8;
// What liblmdb notes in memory (dirty, loose, keep) may be in the file, too.
constexpr uint16_t kKinds = 0x0fff & ~0x10;
constexpr uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;
constexpr uint64_t kLeastPageBytes = 4096;
constexpr uint64_t kMostDepth = 32;  // liblmdb's CURSOR_STACK
constexpr uint64_t kMostPages = uint64_t{1} << 48;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr size_t kNodeHeader = 8;

static_assert(std::endian::native == std::endian::little);

// The bytes must be there.
template <class T>
T number_at(Bytes bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// 48 bytes: pad u32 | flags u16 | depth u16 | pages of branches, leaves, values, entries, root u64
LmdbShape shape_at(Bytes tree) {
  LmdbShape shape;
  shape.depth = number_at<uint16_t>(tree, 6);
  shape.branch_pages = number_at<uint64_t>(tree, 8);
  shape.leaf_pages = number_at<uint64_t>(tree, 16);
  shape.overflow_pages = number_at<uint64_t>(tree, 24);
  shape.entries = number_at<uint64_t>(tree, 32);
  shape.root = shape.depth == 0 ? 0 : number_at<uint64_t>(tree, 40);
  return shape;
}

// Meta `number`, if these are its bytes and it does not contradict itself.
std::optional<LmdbMeta> meta_at(Bytes file, uint64_t offset, uint64_t number) {
  if (file.size() < offset + kLmdbMetaBytes) return std::nullopt;
  const Bytes page = file.subspan(offset);
  const Bytes meta = page.subspan(kLmdbHeader);
  if (number_at<uint64_t>(page, 0) != number || (number_at<uint16_t>(page, 10) & kMeta) == 0 ||
      number_at<uint32_t>(meta, 0) != kMagic || number_at<uint32_t>(meta, 4) != kVersion) {
    return std::nullopt;
  }
  constexpr size_t kFree = 24;  // behind magic, version, address, size of the map
  constexpr size_t kMain = 72;
  LmdbMeta result;
  result.page_bytes = number_at<uint32_t>(meta, kFree);
  result.flags = number_at<uint16_t>(meta, kMain + 4);
  result.depth = number_at<uint16_t>(meta, kMain + 6);
  result.entries = number_at<uint64_t>(meta, kMain + 32);
  result.root = number_at<uint64_t>(meta, kMain + 40);
  result.main = shape_at(meta.subspan(kMain));
  result.free = shape_at(meta.subspan(kFree));
  result.last_page = number_at<uint64_t>(meta, 120);
  result.transaction = number_at<uint64_t>(meta, 128);
  const bool sizes = std::has_single_bit(result.page_bytes) &&
                     result.page_bytes >= kLeastPageBytes &&
                     result.page_bytes <= kLmdbMostPageBytes;
  const bool pages = result.last_page >= 1 && result.last_page < kMostPages;
  const bool tree = result.root == kNoPage
                        ? result.depth == 0 && result.entries == 0
                        : result.depth >= 1 && result.depth <= kMostDepth && result.entries >= 1;
  if (!sizes || !pages || !tree) return std::nullopt;
  return result;
}

}  // namespace

std::optional<LmdbMeta> newest_lmdb_meta(Bytes first) {
  const std::optional<LmdbMeta> zero = meta_at(first, 0, 0);
  // Where the second one lies, the first one says; without it, whichever says so of itself.
  const uint64_t from = zero ? zero->page_bytes : kLeastPageBytes;
  const uint64_t to = zero ? zero->page_bytes : kLmdbMostPageBytes;
  for (uint64_t bytes = from; bytes <= to; bytes *= 2) {
    const std::optional<LmdbMeta> one = meta_at(first, bytes, 1);
    if (!one || one->page_bytes != bytes) continue;
    if (!zero || one->transaction > zero->transaction) return one;
  }
  return zero;
}

LmdbPage::LmdbPage(Bytes page, uint64_t number) : page_(page), number_(number) {
  if (page.size() < kLmdbHeader) damaged("is too short");
  if (number_at<uint64_t>(page, 0) != number) damaged("has another number");
  const auto kind = static_cast<uint16_t>(number_at<uint16_t>(page, 10) & kKinds);
  if (kind != kLeaf && kind != kBranch) damaged("is neither a branch nor a leaf");
  leaf_ = kind == kLeaf;
  const uint64_t lower = number_at<uint16_t>(page, 12);
  const uint64_t upper = number_at<uint16_t>(page, 14);
  if (lower < kLmdbHeader || lower > upper || upper > page.size() || lower % 2 != 0) {
    damaged("contradicts itself");
  }
  size_ = (lower - kLmdbHeader) / 2;
  if (size_ == 0) damaged("is empty");
  // Or a small page would be many large entries.
  uint64_t used = 0;
  for (size_t i = 0; i < size_; ++i) {
    const LmdbNode each = node(i);
    const uint64_t value = each.overflow == 0 ? each.bytes : sizeof each.overflow;
    used += kNodeHeader + each.key.size() + value;
  }
  if (used > page.size() - lower) damaged("has entries that overlap");
}

LmdbNode LmdbPage::node(size_t index) const {
  const size_t at = number_at<uint16_t>(page_, kLmdbHeader + 2 * index);
  if (at < kLmdbHeader + 2 * size_ || at + kNodeHeader > page_.size()) {
    damaged("has an entry outside of it");
  }
  const Bytes node = page_.subspan(at);
  const uint64_t low = number_at<uint32_t>(node, 0);
  LmdbNode result;
  result.flags = number_at<uint16_t>(node, 4);
  const size_t key_bytes = number_at<uint16_t>(node, 6);
  if (key_bytes > node.size() - kNodeHeader) damaged("has a key that ends outside of it");
  result.key = node.subspan(kNodeHeader, key_bytes);
  const size_t value = kNodeHeader + key_bytes;
  const size_t left = node.size() - value;
  if (!leaf_) {
    result.child = low | uint64_t{result.flags} << 32;
    return result;
  }
  result.bytes = low;
  const bool elsewhere = (result.flags & LmdbNode::kOverflow) != 0;
  if (left < (elsewhere ? sizeof(uint64_t) : result.bytes)) {
    damaged("has a value that ends outside of it");
  }
  result.offset = at + value;
  if (!elsewhere) return result;
  result.overflow = number_at<uint64_t>(node, value);
  if (result.overflow == 0) damaged("has a value in page 0");
  return result;
}

void LmdbPage::damaged(const char* what) const {
  throw LmdbDamage(fmt::format("page {} {}", number_, what));
}

}  // namespace stoker
