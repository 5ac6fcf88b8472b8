#include "app/tools/data/convert/journal.h"
#include "tests/fuzz/inputs/signed_index.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(receipt) {
  using namespace stoker;
  const std::string text = fuzz::signed_index(fuzz::text(input));
  const std::string written = receipt_json(parse_receipt(fuzz::bytes(text)));
  fuzz::require(receipt_json(parse_receipt(fuzz::bytes(written))) == written,
                "a receipt changes when it is read again");
}
