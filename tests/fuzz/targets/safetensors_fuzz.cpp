#include <algorithm>

#include "io/checkpoint/restoring/safetensors.h"
#include "tests/fuzz/target.h"

// A file of somebody's. Whoever takes tensors out of its memory trusts their places.
STOKER_FUZZ_TARGET(safetensors) {
  using namespace stoker;
  const Bytes prefix = input.first(std::min<size_t>(kSafetensorsPrefix, input.size()));
  const uint64_t start = safetensors_header_bytes(prefix, input.size(), "fuzz");
  const SafetensorsHeader header = parse_safetensors(input.first(start), input.size(), "fuzz");
  uint64_t end = start;
  for (const StoredTensor& tensor : header.tensors) {
    fuzz::require(tensor.begin == end && tensor.bytes <= input.size() - end,
                  "a tensor outside of its file, or in another's place");
    fuzz::require(safetensors_dtype_bytes(tensor.dtype) > 0, "a tensor of an unknown type");
    end += tensor.bytes;
  }
  fuzz::require(end == input.size(), "bytes of no tensor");
}
