#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/decoder/decoder_options.h"

namespace stoker {
namespace {

struct PlanesOptions {
  int64_t height = 224;
  int64_t width = 224;
  int64_t channels = 3;
  std::vector<int64_t> select;
  std::vector<double> normalise;
  int64_t stats = 0;
  bool target = false;
  int64_t classes = 256;
  template <class V>
  void visit(V& v) {
    v("height", height, "Number of rows of a plane.", Limits{1, 65535});
    v("width", width, "Number of columns of a plane.", Limits{1, 65535});
    v("channels", channels, "Number of planes of a stored sample.", Limits{1, 1024});
    v("select", select,
      "The channels to use, numbered from 0, in the order that the sample gets. Empty: all of "
      "them.");
    v("normalise", normalise,
      "The lowest and the highest value of each channel that is used, pair after pair. They become "
      "0 and 1. Empty: the values stay as they are stored.");
    v("stats", stats,
      "How many numbers of each stored channel follow a sample (dataset.stats). The first two "
      "normalise it, in place of `normalise`. 0: no numbers follow.",
      Limits{0, 1024});
    v("target", target,
      "Whether one more plane follows (dataset.target), with the class of each pixel.");
    v("classes", classes,
      "With `target`: the number of classes. A pixel of a higher class makes its sample a bad one.",
      Limits{1, 256});
  }
  void check(const Section& section) const {
    for (const int64_t channel : select) {
      if (channel < 0 || channel >= channels) {
        section.fail("select", fmt::format("has channel {}, and they are 0 to {} (channels)",
                                           channel, channels - 1));
      }
    }
    if (!normalise.empty() && std::ssize(normalise) != 2 * used()) {
      section.fail("normalise", fmt::format("has {} numbers where {} channels need {}",
                                            normalise.size(), used(), 2 * used()));
    }
    for (size_t i = 0; i + 1 < normalise.size(); i += 2) {
      if (!(normalise[i] <= normalise[i + 1])) {
        section.fail("normalise", fmt::format("has {} as a lowest value, and {} as its highest",
                                              normalise[i], normalise[i + 1]));
      }
    }
    if (!normalise.empty() && stats != 0) {
      section.fail("normalise", "and 'stats' exclude each other");
    }
    if (stats == 1)
      section.fail("stats", "must be 0, or 2 and more: the lowest value, the highest");
    if (!target && classes != 256) section.fail("classes", "needs target: true");
    if (target && plane() % sizeof(float) != 0) {  // the next sample's values begin behind it
      section.fail("target", "needs planes whose pixels can be divided by four");
    }
  }
  int64_t used() const { return select.empty() ? channels : std::ssize(select); }
  size_t plane() const { return static_cast<size_t>(height * width); }
  // The bytes of a stored sample, with what follows it.
  size_t stored_bytes() const {
    const auto planes = static_cast<size_t>(channels + (target ? 1 : 0));
    return sizeof(float) * (planes * plane() + static_cast<size_t>(stats * channels));
  }
  SampleSpec spec() const {
    return {height, width, used(), PixelType::float32, 0, target ? plane() : 0};
  }
  DecoderInfo info() const {
    return {.output = PixelType::float32,
            .stored = "planes",
            .arrays = [options = *this](std::span<const StoredArray> arrays) {
              return options.refuse(arrays);
            }};
  }
  // ArrayVerdict.
  std::string refuse(std::span<const StoredArray> arrays) const;
};

std::string PlanesOptions::refuse(std::span<const StoredArray> arrays) const {
  std::vector<StoredArray> taken{{"float32", {channels, height, width}}};
  if (target) taken.push_back({"float32", {height, width}});
  if (stats > 0) taken.push_back({"float32", {channels, stats}});
  if (std::ranges::equal(arrays, taken, same_array)) return "";
  const std::vector<int64_t>& shape = arrays[0].shape;
  const std::string takes = "takes " + text_of(taken) + ": ";
  if (std::ranges::any_of(arrays, [](const StoredArray& a) { return a.type != "float32"; })) {
    return takes + "write them anew as float32";
  }
  if (same_array(arrays[0], taken[0])) {
    return takes +
           "name what follows by dataset.target and dataset.stats, and set decoder.target "
           "and decoder.stats";
  }
  return shape.size() != 3
             ? takes + "write them anew with the axes channel, row and column"
             : takes + fmt::format(
                           "set decoder.channels={} decoder.height={} decoder.width={} if "
                           "their first axis is the channels, else write them anew",
                           shape[0], shape[1], shape[2]);
}

// value -> (value + shift) * scale. A value.
struct Scaling {
  float shift = 0;
  float scale = 1;
};

// The lowest value becomes 0 and the highest 1; a channel that is the same everywhere 0.
Scaling scaling_of(double low, double high) {
  return {static_cast<float>(-low), high > low ? static_cast<float>(1 / (high - low)) : 1.0f};
}

class PlanesSession final : public DecoderSession {
 public:
  explicit PlanesSession(const PlanesOptions& options) : options_(options) {
    for (int64_t i = 0; i < options.used(); ++i) {
      channels_.push_back(static_cast<size_t>(options.select.empty() ? i : options.select[i]));
    }
    for (size_t i = 0; i < options.normalise.size(); i += 2) {
      scalings_.push_back(scaling_of(options.normalise[i], options.normalise[i + 1]));
    }
  }

  void decode(Bytes encoded, const DecodeMode& /*mode*/, uint8_t* out) override {
    check_length(encoded.size());
    const size_t plane_bytes = options_.plane() * sizeof(float);
    const size_t values_end = static_cast<size_t>(options_.channels) * plane_bytes;
    const Bytes target = encoded.subspan(values_end, options_.target ? plane_bytes : 0);
    if (options_.stats > 0) read_stats(encoded.subspan(values_end + target.size()));
    for (size_t i = 0; i < channels_.size(); ++i, out += plane_bytes) {
      const uint8_t* const from = encoded.data() + channels_[i] * plane_bytes;
      if (scalings_.empty()) {
        stream_copy(out, from, plane_bytes);
      } else {
        scale(from, scalings_[i], reinterpret_cast<float*>(out));
      }
    }
    if (options_.target) read_target(target, out);
  }

 private:
  void check_length(size_t bytes) const {
    const size_t expected = options_.stored_bytes();
    if (bytes == expected) return;
    const BadReason reason = bytes == 0         ? BadReason::empty
                             : bytes < expected ? BadReason::truncated
                                                : BadReason::corrupt;
    throw BadSample(reason, fmt::format("{} bytes where {} planes of {}x{} float32{}{} are {}",
                                        bytes, options_.channels, options_.height, options_.width,
                                        options_.target ? " with a target" : "",
                                        options_.stats > 0 ? " and stats" : "", expected));
  }

  void read_stats(Bytes stored) {
    scalings_.clear();
    for (const size_t channel : channels_) {
      float range[2];
      std::memcpy(range,
                  stored.data() + channel * static_cast<size_t>(options_.stats) * sizeof(float),
                  sizeof range);
      if (!std::isfinite(range[0]) || !std::isfinite(range[1]) || range[1] < range[0]) {
        throw BadSample(BadReason::corrupt, fmt::format("its stats say {} to {} of channel {}",
                                                        range[0], range[1], channel));
      }
      scalings_.push_back(scaling_of(range[0], range[1]));
    }
  }

  void scale(const uint8_t* from, const Scaling& by, float* to) const {
    std::memcpy(to, from, options_.plane() * sizeof(float));
    for (float& value : std::span(to, options_.plane())) value = (value + by.shift) * by.scale;
  }

  void read_target(Bytes stored, uint8_t* to) const {
    const auto most = static_cast<float>(options_.classes);
    bool right = true;
    for (size_t i = 0; i < options_.plane(); ++i) {
      float value = 0;
      std::memcpy(&value, stored.data() + i * sizeof value, sizeof value);
      const bool known = value >= 0 && value < most;
      const auto number = static_cast<uint8_t>(known ? value : 0);
      right &= known && static_cast<float>(number) == value;
      to[i] = number;
    }
    if (right) return;
    throw BadSample(BadReason::corrupt,
                    fmt::format("its target has a pixel that is none of the classes 0 to {}",
                                options_.classes - 1));
  }

  const PlanesOptions& options_;
  std::vector<size_t> channels_;
  std::vector<Scaling> scalings_;  // one for each channel that is used, or empty
};

// float32 planes in C order, [channels, height, width], then what PlanesOptions says.
using Planes = SessionDecoder<PlanesOptions, PlanesSession>;

STOKER_REGISTER(Decoder, "planes", Planes);

}  // namespace
}  // namespace stoker
