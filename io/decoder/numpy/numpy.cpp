#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder_options.h"
#include "io/decoder/numpy/npy.h"
#include "io/decoder/numpy/npz.h"

namespace stoker {

// What becomes of arrays that are not of the sample's shape.
enum class ArrayFit { exact, cut };
EnumNames<ArrayFit> enum_names(ArrayFit) {
  return {{"exact", ArrayFit::exact}, {"cut", ArrayFit::cut}};
}

namespace {

struct NumpyOptions {
  std::string array;
  int64_t height = 224;
  int64_t width = 224;
  int64_t channels = 3;
  PixelType output = PixelType::uint8;
  ArrayFit fit = ArrayFit::exact;
  ByteSize max_bytes{uint64_t{1} << 30};
  template <class V>
  void visit(V& v) {
    v("array", array, "The array of an .npz file that is the sample. Empty: its first one.");
    v("height", height, "Number of rows of a sample.", Limits{1, 65535});
    v("width", width, "Number of columns of a sample.", Limits{1, 65535});
    v("channels", channels, "Number of channels of a sample.", Limits{1, 1024});
    v("output", output,
      "`uint8`: the array has the axes row, column and channel. `float32`: channel, row and "
      "column.");
    v("fit", fit,
      "`exact`: an array of another type or shape is a bad sample. `cut`: a sample is the first "
      "bytes of the array, whatever it is, and zeros where there are too few, as in DLIO's "
      "workloads, whose records vary in size.");
    v("max_bytes", max_bytes, "An array with more bytes than this is a bad sample.");
  }
  SampleSpec spec() const { return {height, width, channels, output}; }
  StoredArray taken() const {
    if (output == PixelType::uint8) return {"uint8", {height, width, channels}};
    return {"float32", {channels, height, width}};
  }
  DecoderInfo info() const {
    return {.output = output,
            .stored = "arrays",
            .arrays = [options = *this](std::span<const StoredArray> arrays) {
              return options.refuse(arrays);
            }};
  }
  // ArrayVerdict.
  std::string refuse(std::span<const StoredArray> arrays) const {
    if (fit == ArrayFit::cut) return "";
    if (arrays.size() == 1 && same_array(arrays[0], taken())) return "";
    return "takes " + text_of(taken()) +
           ": set decoder.height, decoder.width, decoder.channels and decoder.output to what they "
           "are, or decoder.fit=cut to take their first bytes";
  }
};

// Files of NumPy, and the same arrays without a header, as HDF5, TFRecord and indexed binary files
// hold them.
class NumpySession final : public DecoderSession {
 public:
  explicit NumpySession(const NumpyOptions& options) : options_(options) {}

  void decode(Bytes encoded, const DecodeMode& /*mode*/, uint8_t* out) override {
    if (encoded.empty()) throw BadSample(BadReason::empty, "it has no bytes");
    if (encoded.size() > options_.max_bytes.bytes) {
      throw BadSample(BadReason::too_large, fmt::format("it has {} bytes, above {} "
                                                        "(decoder.max_bytes)",
                                                        encoded.size(), options_.max_bytes.bytes));
    }
    const Bytes values = values_of(encoded);
    const size_t size = options_.spec().bytes();
    const size_t taken = std::min(values.size(), size);
    stream_copy(out, values.data(), taken);
    std::fill(out + taken, out + size, uint8_t{0});
  }

 private:
  Bytes values_of(Bytes file) {
    if (is_npz(file)) file = npz_member(file, options_.array, options_.max_bytes.bytes, unpacked_);
    const bool exact = options_.fit == ArrayFit::exact;
    if (!is_npy(file)) {
      if (exact && file.size() != options_.spec().bytes()) fail_length(file.size());
      return file;
    }
    const NpyArray array = parse_npy(file);
    const bool rows = !array.fortran || array.stored.shape.size() < 2;
    if (exact && (!rows || !same_array(array.stored, options_.taken()))) fail_shape(array);
    return array.values;
  }

  [[noreturn]] void fail_length(size_t bytes) const {
    const size_t expected = options_.spec().bytes();
    throw BadSample(
        bytes < expected ? BadReason::truncated : BadReason::corrupt,
        fmt::format("{} bytes where {} is {}", bytes, text_of(options_.taken()), expected));
  }

  [[noreturn]] void fail_shape(const NpyArray& array) const {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its array is {}{}, and numpy takes {} (decoder.fit=cut takes the "
                                "first bytes of any)",
                                text_of(array.stored), array.fortran ? ", columns first" : "",
                                text_of(options_.taken())));
  }

  const NumpyOptions& options_;
  Buffer unpacked_;
};

using Numpy = SessionDecoder<NumpyOptions, NumpySession>;

STOKER_REGISTER(Decoder, "numpy", Numpy);

}  // namespace
}  // namespace stoker
