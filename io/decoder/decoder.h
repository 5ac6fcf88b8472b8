#pragma once

#include <cstdint>
#include <memory>

#include "io/core/memory.h"
#include "io/core/registry.h"

namespace stoker {

// uint8:   levels of 0 to 255, rows of interleaved RGB (HWC);
// float32: normalised values (io/decoder/normalise.h), one plane per channel (CHW).
enum class PixelType { uint8, float32 };

// One decoded sample, without padding.
struct SampleSpec {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
  PixelType type = PixelType::uint8;
  size_t frame = 0;  // not 0: its place in the batch holds a frame (frame.h) of this capacity
  size_t bytes() const {
    const size_t values = static_cast<size_t>(height * width * channels);
    if (frame != 0) return frame;
    return type == PixelType::float32 ? values * sizeof(float) : values;
  }
  // How many of them count in this place: all, or the frame's header and what it says.
  size_t used(const uint8_t* place) const;
};

// How to treat one sample. The same bytes and the same mode give the same pixels, on any thread.
struct DecodeMode {
  bool train = false;  // random augmentation, else the evaluation transform
  uint64_t seed = 0;   // of this sample in this epoch
};

// The part of a decoder that is not shared: handles and scratch memory, reused from sample to
// sample. One thread at a time. Every worker of a loader has its own.
class DecoderSession {
 public:
  virtual ~DecoderSession() = default;
  // Decodes, augments and resizes into out[0, spec().bytes()), aligned to the type, and writes all
  // of it, or throws BadSample; after that `out` is unspecified and must not be used.
  virtual void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) = 0;
};

// Bytes -> pixels in a slot that the caller owns. Any thread.
class Decoder {
 public:
  static constexpr const char* kKind = "decoder";
  struct Inputs {};
  virtual ~Decoder() = default;
  virtual SampleSpec spec() const = 0;
  // The session refers to this decoder, which must outlive it.
  virtual std::unique_ptr<DecoderSession> open() const = 0;
};

template <>
Registry<Decoder>& Registry<Decoder>::global();

}  // namespace stoker
