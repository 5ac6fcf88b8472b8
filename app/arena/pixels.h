#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/arena/options.h"

namespace stoker {

// How far the pixels of one entry are from those of its class's reference, in grey levels (0 to
// 255), over all channels of all images.
struct PixelDifference {
  std::string reference;  // an entry's name; its own: it is the reference
  double mean = 0;        // of the absolute differences
  double p99 = 0;
  double max = 0;
  std::string error;  // not empty: why it could not be compared
};

// Grey levels of a batch of RGB images, as N x C x H x W whatever the file's order: uint8 levels,
// or float32 normalised by ImageNet's mean and deviation. Error(ExitCode::environment): no such
// file, or another kind of array.
std::vector<float> read_grey_levels(const std::string& path);

// Both of one size; Error(ExitCode::data) else.
PixelDifference compare_pixels(const std::vector<float>& pixels, const std::vector<float>& other);

// Of all entries whose file is there (pixel_file()) and whose class has a reference that is. What
// cannot be compared says why.
std::map<std::string, PixelDifference> compare_all_pixels(const ArenaOptions& options,
                                                          const std::string& directory);

}  // namespace stoker
