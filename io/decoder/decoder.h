#pragma once

#include <cstdint>
#include <memory>

#include "io/core/memory.h"
#include "io/core/registry.h"
#include "io/core/sample_spec.h"

namespace stoker {

// What a decoder's samples are, as its options say it (Component<Decoder>::info).
struct DecoderInfo {
  bool augments = false;  // a training image's pixels are others in every epoch
  bool frames = false;    // work is left to the device (SampleSpec::frame)
  PixelType output = PixelType::uint8;
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
  using Info = DecoderInfo;
  struct Inputs {};
  virtual ~Decoder() = default;
  virtual SampleSpec spec() const = 0;
  // The session refers to this decoder, which must outlive it.
  virtual std::unique_ptr<DecoderSession> open() const = 0;
};

template <>
Registry<Decoder>& Registry<Decoder>::global();

}  // namespace stoker
