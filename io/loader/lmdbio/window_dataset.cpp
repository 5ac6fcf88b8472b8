#include "io/loader/lmdbio/window_dataset.h"

#include <algorithm>

namespace stoker {

EncodedSample WindowDataset::read(Split split, int64_t index, Buffer& scratch) const {
  if (split != split_ || index < which_.first || index >= which_.last) {
    return below_.read(split, index, scratch);
  }
  const Bytes value = values_[static_cast<size_t>(index - which_.first)];
  std::ranges::copy(value, scratch.resize(value.size()));
  return records_.unpack(split, index, scratch);
}

}  // namespace stoker
