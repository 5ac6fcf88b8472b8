#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "io/loader/lmdbio/database/provenance.h"
#include "tests/fuzz/target.h"

// An input: u8 records (times 16), u8 records per transaction, u16 bytes of a key, u32 of a value,
// u8 what varies, then a meta as its page has it, and behind it a page and the end of a value.
STOKER_FUZZ_TARGET(lmdb_provenance) {
  using namespace stoker;
  constexpr size_t kHead = 9;
  if (input.size() < kHead) return;
  uint16_t key = 0;
  uint32_t value = 0;
  std::memcpy(&key, &input[2], sizeof key);
  std::memcpy(&value, &input[4], sizeof value);
  const int64_t records = int64_t{input[0]} * 16;
  const bool vary = (input[8] & 1) != 0;
  LmdbHistory history;
  history.records_per_transaction = 1 + input[1];
  history.append = (input[8] & 2) == 0;
  history.page_bytes = uint64_t{4096} << (input[8] >> 2) % 4;
  const Provenance provenance(history, records, [&](int64_t i) {
    const auto more = static_cast<uint64_t>(vary ? i * 7919 % 1000 : 0);
    return LmdbRecordSizes{key + more % 40, value + more};
  });
  input = input.subspan(kHead);

  std::string file(input.begin(), input.begin() + std::min<std::ptrdiff_t>(input.size(), 152));
  file.resize(2 * 32768 + kLmdbMetaBytes);
  LmdbMeta meta;
  if (const auto newest = newest_lmdb_meta(fuzz::bytes(file))) meta = *newest;
  const std::string refusal = provenance.check(meta);
  fuzz::require(refusal.empty() == provenance.check(meta).empty(), "two verdicts");
  if (!refusal.empty()) return;

  const std::vector<LmdbPlace> all = provenance.places(0, records);
  fuzz::require(all.size() == meta.entries, "as many places as records");
  uint64_t pages = 0;
  for (const LmdbPlace& place : all) {
    fuzz::require(place.page >= 2 && place.page <= meta.last_page, "a page outside of the file");
    pages += place.pages;
    is_at_its_place(place, input);
  }
  fuzz::require(pages == meta.main.overflow_pages, "as many pages as the meta says");
}
