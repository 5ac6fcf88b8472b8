#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/storage/storage.h"

// The configured pieces, changed so that one cost is gone: the levels of `stoker headspace`. All
// are pure functions of options, and open nothing. Error(ExitCode::config) where the result cannot
// be.

namespace stoker {

// Without what is only around a tier: emulation, a cache.
Component<Storage> innermost(Component<Storage> tier);
// Without caches, emulation kept: where the data come from at first.
Component<Storage> without_caches(Component<Storage> tier);

// Up to `limit` bytes of its objects are in memory once they were read.
Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit);

// All samples are pixels in memory once they were read, up to `limit` bytes of them. `tiers`: the
// names of the configuration, against which those of the data set are checked.
Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers);
// What is left for the decoder of those: augmentation. `spec`: of `decoder`, whose samples have to
// be RGB squares.
Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec);

}  // namespace stoker
