#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/core/memory.h"
#include "io/core/notify.h"
#include "io/storage/storage.h"

namespace stoker {

// A sample's pixels in a PixelStore. A value.
struct KeptPixels {
  Bytes bytes;         // empty: none
  bool lasts = false;  // in memory of the store, for as long as it lives; else in the scratch
};

// Where `decoded` keeps the pixels of single samples, all of one size, by their names. Any thread.
// No method throws IoError: what cannot be kept or read is decoded instead.
class PixelStore {
 public:
  virtual ~PixelStore() = default;
  // Pixels that were kept and are still there; in memory of the store, or read into `scratch`.
  virtual KeptPixels find(const std::string& name, Buffer& scratch) = 0;
  // Keeps a copy where there is room. Its bytes are returned only where they last.
  virtual KeptPixels keep(const std::string& name, Bytes pixels) = 0;
};

// Memory of this process, on huge pages, taken as it is filled: at most `limit` bytes of pixels.
// find() finds nothing: who was given pixels that last does not ask again.
std::unique_ptr<PixelStore> make_pixel_slab(size_t sample_bytes, uint64_t limit, Notify remark);

// Objects "<prefix><name>" of a tier, with those that an earlier process left there. Where the tier
// lets its files be mapped they are handed out so, without a copy.
std::unique_ptr<PixelStore> make_pixel_tier(std::unique_ptr<Storage> in, const std::string& prefix,
                                            size_t sample_bytes, uint64_t limit, Notify remark);

}  // namespace stoker
