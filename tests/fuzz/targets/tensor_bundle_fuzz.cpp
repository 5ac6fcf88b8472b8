#include "io/checkpoint/sets/tensor_bundle.h"
#include "io/core/wire/protobuf.h"
#include "io/core/wire/sorted_table.h"
#include "tests/fuzz/target.h"

namespace {

// What the input's fields say, as an index whose checksums are right: a key and its value in turn.
std::string signed_index(stoker::Bytes input) {
  stoker::SortedTableWriter table;
  table.add("", "\x08\x02");
  std::string before, key;
  stoker::WireReader fields(input);
  while (const auto field = fields.next()) {
    const std::string text(field->bytes.begin(), field->bytes.end());
    if (field->number == 1) key = text;
    if (field->number != 2 || key <= before) continue;
    table.add(key, text);
    before = key;
  }
  return table.finish();
}

void check(stoker::Bytes index) {
  using namespace stoker;
  const TensorBundle bundle = parse_bundle_index(index);
  for (const BundleTensor& tensor : bundle.tensors) {
    fuzz::require(tensor.file < bundle.files, "a tensor in a file that is not there");
    const uint64_t element = dtype_bytes(tensor.dtype);
    fuzz::require(element == 0 || tensor.sliced || tensor.bytes % element == 0,
                  "a tensor of half an element");
  }
}

}  // namespace

// The index of a checkpoint of TensorFlow's, as it is and with checksums that are right; the same
// bytes as a tensor of texts.
STOKER_FUZZ_TARGET(tensor_bundle) {
  using namespace stoker;
  (void)text_sum(input, input.size() % 4);
  try {
    check(input);
  } catch (const Error&) {  // as most are: the checksums are wrong
  }
  check(fuzz::bytes(signed_index(input)));
}
