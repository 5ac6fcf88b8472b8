#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/core/config/registry.h"
#include "io/core/sample_spec.h"
#include "io/core/stored_array.h"
#include "io/core/system/memory.h"

namespace stoker {

// Whose code decodes a whole JPEG file: ours where it knows the file, or always libjpeg-turbo's.
// `none`: the decoder does not read JPEG, or not through io/decoder/jpeg_codec.h.
enum class JpegBy : uint8_t { none, ours, libjpeg };

// What a decoder's samples are, as its options say it (Component<Decoder>::info). A value.
struct DecoderInfo {
  // A training image's pixels are others in every epoch.
  bool augments = false;
  // Work is left to the device (SampleSpec::frame).
  bool frames = false;
  PixelType output = PixelType::uint8;
  JpegBy jpeg = JpegBy::none;
  // What the bytes of a sample are where they are no file of a format: "pixels".
  std::string_view stored = {};
  // Of samples that are arrays (Dataset::arrays()). Null: it takes any bytes.
  ArrayVerdict arrays = {};
};

// How to treat one sample. The same bytes and the same mode give the same pixels, on any thread. A
// value.
struct DecodeMode {
  // Random augmentation, else the evaluation transform.
  bool train = false;
  // The seed of this sample in this epoch.
  uint64_t seed = 0;
};

// The part of a decoder that is not shared: handles and scratch memory, used again from sample to
// sample. One thread at a time; every worker of a loader has its own. Refers to its decoder, which
// must outlive it.
class DecoderSession {
 public:
  virtual ~DecoderSession() = default;
  // Decodes, augments and resizes one sample into out[0, spec().bytes()), which the caller owns and
  // has aligned to the type. Writes all of it, or throws BadSample for what is the file's fault;
  // after that `out` is unspecified and must not be used, and the session may go on with the next
  // sample. Error: a part of the program that this file needs is not there.
  virtual void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) = 0;
  // The damage that the last decode() bore with, in the codec's words, where the decoder has an
  // option for that (decoder.tolerance); empty: none. Valid until the next one.
  const std::string& tolerated() const { return tolerated_; }

 protected:
  std::string tolerated_;
};

// Bytes -> pixels in a slot that the caller owns. Immutable; any thread. A constructor throws
// Error(ExitCode::config) for options that do not fit together.
class Decoder {
 public:
  static constexpr const char* kKind = "decoder";
  using Info = DecoderInfo;
  struct Inputs {};
  virtual ~Decoder() = default;
  // Shape and type of every sample; constant.
  virtual SampleSpec spec() const = 0;
  // A session for one worker. The caller owns it.
  virtual std::unique_ptr<DecoderSession> open() const = 0;
};

template <>
Registry<Decoder>& Registry<Decoder>::global();

}  // namespace stoker
