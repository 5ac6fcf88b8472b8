#include "io/decoder/numpy/npy.h"
#include "io/decoder/numpy/npz.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(numpy) {
  using namespace stoker;
  Buffer unpacked;
  Bytes file = input;
  if (is_npz(file)) {
    file = npz_member(file, "", 1 << 20, unpacked);
    const auto lies_in = [&](Bytes all) {
      return file.data() >= all.data() && file.data() + file.size() <= all.data() + all.size();
    };
    fuzz::require(file.empty() || lies_in(input) || lies_in(unpacked.bytes()),
                  "an array lies outside of its file");
  }
  if (!is_npy(file)) return;
  const NpyArray array = parse_npy(file);
  fuzz::require(array.values.empty() ||
                    (array.values.data() >= file.data() &&
                     array.values.data() + array.values.size() <= file.data() + file.size()),
                "values lie outside of the array");
  uint64_t elements = 1;
  for (const int64_t length : array.stored.shape) elements *= static_cast<uint64_t>(length);
  fuzz::require(elements == 0 ? array.values.empty() : array.values.size() % elements == 0,
                "the shape has other values");
}
