#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/core/sample_spec.h"
#include "io/core/system/memory.h"

// Caffe's Datum, a protobuf message: channels = 1, height = 2, width = 3, data = 4, label = 5,
// float_data = 6, encoded = 7. Functions of bytes that nobody has to trust; any thread.

namespace stoker {

// What a Datum says, without its pixels. A value.
struct Datum {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t label = 0;
  // `data` is an image file; else planes of bytes, one for each channel, in OpenCV's order (BGR).
  bool encoded = false;
  // It has float_data; what is behind them was not looked at.
  bool floats = false;
  // Where `data` lie in the value.
  uint64_t data_offset = 0;
  uint64_t data_bytes = 0;
};

// A value whose first and last bytes are known. This is enough if the data lie in front of the
// label, as protobuf writes them. A value that points to both.
struct DatumEnds {
  Bytes head;
  Bytes tail;
  uint64_t bytes = 0;  // of the whole value
};

// Whether a value begins as a Datum does, and as no image file does. A number as text is none, such
// as the count of samples that some converters keep.
bool begins_as_datum(Bytes value);
// Nothing: what is known of the value is not enough, which is so for no value that is known as a
// whole. BadSample if it is not a Datum.
std::optional<Datum> read_datum(const DatumEnds& value);
inline Datum read_datum(Bytes value) { return *read_datum({value, {}, value.size()}); }

// The image in a Datum as decoders take it: a part of `value`, which is then rows of interleaved
// RGB where it was planes. BadSample: it has no image, or one of a kind that no decoder takes.
Bytes datum_image(Buffer& value);

// The Datum of pixels, rows of interleaved RGB (or of one channel) as `spec` says: planes, as
// Caffe's convert_imageset and convert_cifar_data write them.
std::string pixel_datum(Bytes rows, const SampleSpec& spec, int32_t label);

// The Datum of an image file, as Caffe's convert_imageset --encoded writes it.
std::string encoded_datum(Bytes image, int32_t label);

}  // namespace stoker
