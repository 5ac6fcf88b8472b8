#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// The pixels of a data set's samples, all of one size, by the samples' numbers: the store behind
// `decoded` and `packed`. Pixels come into it as copies in its own memory, or as parts of a tier's
// objects; once they are there, a sample is handed out by one load and without a copy. Any thread,
// reserve() aside. All pointers are valid for as long as the store lives.
//
//   Bytes pixels = kept.find(number);
//   if (pixels.empty()) pixels = kept.read(key, offset, scratch);   // check them, then
//   kept.publish(number, pixels, scratch);
class KeptPixels {
 public:
  // `tier`: that read() reads; null where it is not called. Must outlive the store. map: where the
  // tier's files can be mapped, read() does so, with up to 30,000 of them; a process has 65,530
  // mappings and needs some for its threads and libraries.
  KeptPixels(size_t samples, size_t sample_bytes, const Storage* tier, bool map);

  // Takes the memory for `copies` samples, on huge pages; the kernel gives the pages as they are
  // written. Once, before keep(). Throws std::bad_alloc.
  void reserve(uint64_t copies);

  // The pixels of sample `number`; empty: nothing was kept or published.
  // What another thread published or kept is seen completely.
  Bytes find(size_t number) const {
    const uint8_t* pixels = places_[number].load(std::memory_order_acquire);
    return pixels == nullptr ? Bytes{} : Bytes(pixels, sample_bytes_);
  }
  // Copies the pixels, whose size must be right, into reserved memory and publishes the copy. Call
  // it once for a sample. Empty: no room is left.
  Bytes keep(size_t number, Bytes pixels);
  // A sample's bytes from `offset` of an object: in a mapping, or read into `scratch`. Fewer than a
  // sample has where the object ends. Nothing is published. IoError as the tier's.
  Bytes read(const std::string& key, uint64_t offset, Buffer& scratch);
  // What read() gave is right: find() gives it from now on, unless it lies in `scratch`.
  void publish(size_t number, Bytes pixels, const Buffer& scratch);

 private:
  // In a mapping; empty: it is to be read.
  Bytes mapped(const std::string& key, uint64_t offset);

  const size_t sample_bytes_;
  const size_t step_;  // from a copy to the next
  const Storage* const tier_;
  std::vector<std::atomic<const uint8_t*>> places_;
  HostMemory copies_;
  std::atomic<uint64_t> copied_{0};
  std::mutex mutex_;  // guards what follows
  bool map_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace stoker
