#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

// The configured components, changed so that one cost is gone: the levels of `stoker headspace`.
// All are pure functions of options and open nothing. Error(ExitCode::config) where there is no
// such component.

namespace stoker {

// The tier without what is only around it: an emulation, a cache.
Component<Storage> innermost(Component<Storage> tier);
// The tier without caches, but with its emulation: where the data come from at first.
Component<Storage> without_caches(Component<Storage> tier);

// The tier with up to `limit` bytes of its objects in memory, once they were read.
Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit);

// The data set with all samples as pixels in memory, once they were read, up to `limit` bytes.
// tiers: the names of the configuration, which must include those of the data set.
Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers);
// The decoder of those, which has only augmentation left to do. spec: the samples of `decoder`,
// which have to be RGB squares.
Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec);

}  // namespace stoker
