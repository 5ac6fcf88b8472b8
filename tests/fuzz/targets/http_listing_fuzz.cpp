#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/storage/object/http_listing.h"
#include "io/storage/storage.h"
#include "tests/fuzz/target.h"

// Every key of an index is one of a tier, and every name of a directory is one component.
STOKER_FUZZ_TARGET(http_listing) {
  using namespace stoker;
  const std::string_view text = fuzz::text(input);
  if (text.starts_with('[')) {
    for (const DirectoryEntry& entry : parse_directory(text)) {
      fuzz::require(!entry.name.empty() && entry.name.find('/') == entry.name.npos &&
                        entry.name != "." && entry.name != ".." && is_text(entry.name),
                    "a name that leads elsewhere");
    }
    return;
  }
  const IndexLine* before = nullptr;
  const std::vector<IndexLine> lines = parse_index(text);
  for (const IndexLine& line : lines) {
    check_key(line.key);
    fuzz::require(before == nullptr || before->key < line.key, "not sorted, or twice");
    before = &line;
  }
}
