#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/dataset/dataset.h"
#include "io/dataset/synthetic_image.h"

namespace stoker {
namespace {

// What generated planes of numbers look like. A value.
struct SyntheticPlanesOptions {
  int64_t channels = 3;
  int64_t height = 224;
  int64_t width = 224;
  // A class for each pixel, too.
  bool target = false;
  template <class V>
  void visit(V& v) {
    v("channels", channels, "Number of planes of a sample.", Limits{1, 1024});
    v("height", height, "Number of rows of a plane.", Limits{1, 65535});
    v("width", width, "Number of columns of a plane.", Limits{1, 65535});
    v("target", target, "Whether one more plane follows, with the class of each pixel.");
  }
};

// One sample as the decoder `planes` takes it: float32 planes in C order of noise from 0 to 1, to
// which a class adds a half in a channel of its own, so that a model can learn it. The channel of
// its label is raised everywhere; with `target` the channel of each class but 0 is raised in one
// rectangle, and the plane of classes follows. A pure function of its arguments, the same on every
// machine; any thread. `label` is in [0, classes).
std::vector<uint8_t> synthetic_planes(const SyntheticPlanesOptions& options, int64_t classes,
                                      int64_t label, uint64_t seed);

struct Rectangle {
  int64_t top, left, rows, columns;
};

// A quarter of the sides, anywhere.
Rectangle somewhere(const SyntheticPlanesOptions& options, Random& random) {
  const int64_t rows = std::max<int64_t>(options.height / 4, 1);
  const int64_t columns = std::max<int64_t>(options.width / 4, 1);
  const auto below = [&random](int64_t end) {
    return static_cast<int64_t>(random.below(static_cast<uint64_t>(end)));
  };
  return {below(options.height - rows + 1), below(options.width - columns + 1), rows, columns};
}

// Calls back with each row of the rectangle in a plane.
template <class F>
void for_each_row(const Rectangle& in, std::span<float> plane, int64_t width, const F& call) {
  for (int64_t row = in.top; row < in.top + in.rows; ++row) {
    call(
        plane.subspan(static_cast<size_t>(row * width + in.left), static_cast<size_t>(in.columns)));
  }
}

std::vector<uint8_t> synthetic_planes(const SyntheticPlanesOptions& options, int64_t classes,
                                      int64_t label, uint64_t seed) {
  const auto pixels = static_cast<size_t>(options.height * options.width);
  const auto channels = static_cast<size_t>(options.channels);
  std::vector<float> values((channels + (options.target ? 1 : 0)) * pixels);
  const std::span all(values);
  Random random(seed);
  for (float& value : all.first(channels * pixels)) {
    value = static_cast<float>(random.next() >> 40) * 0x1p-24f;
  }
  const auto mark = [&](int64_t of, const Rectangle& in) {
    const std::span plane = all.subspan(static_cast<size_t>(of) % channels * pixels, pixels);
    for_each_row(in, plane, options.width, [](std::span<float> row) {
      for (float& value : row) value += 0.5f;
    });
    if (!options.target) return;
    for_each_row(in, all.subspan(channels * pixels), options.width,
                 [of](std::span<float> row) { std::ranges::fill(row, static_cast<float>(of)); });
  };
  if (!options.target) {
    mark(label, {0, 0, options.height, options.width});
  } else {
    for (int64_t of = 1; of < classes; ++of) mark(of, somewhere(options, random));
  }
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Generated JPEGs, or planes of numbers, in memory: loaders and decoders without any disk. The
// label of sample i is i % classes. Only `unique` images per split are made, by the constructor,
// and sample i is one of those of its class: making an image costs more than decoding it, and would
// be measured as reading.
class Synthetic final : public Dataset {
 public:
  struct Options {
    int64_t samples = 1024;
    int64_t test_samples = 256;
    int64_t classes = 10;
    int64_t unique = 256;
    SyntheticImageOptions image;
    std::optional<SyntheticPlanesOptions> planes;
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v("samples", samples, "Number of training samples.", Limits{1, 1e9});
      v("test_samples", test_samples, "Number of test samples.", Limits{0, 1e9});
      v("classes", classes, "Number of classes.", Limits{1, 100'000});
      v("unique", unique,
        "How many different images each split keeps in memory. Every class gets at least one.",
        Limits{1, 1e6});
      v("image", image, "What the images look like.");
      v("planes", planes, "Make planes of float32 for the decoder `planes` instead of images.");
      v("on_error", on_error, "What to do with bad samples.");
    }
    void check(const Section& section) const {
      if (samples < classes) section.fail("samples", "must be at least 'classes'");
      if (planes && planes->target && classes > 256) {
        section.fail("classes", "must be at most 256 with planes.target");
      }
    }
  };

  Synthetic(Options options, const Inputs& inputs)
      : Dataset(options.on_error),
        train_(options, options.samples, mix(inputs.seed, 0)),
        test_(options, options.test_samples, mix(inputs.seed, 1)) {
    for (int64_t i = 0; i < options.classes; ++i) classes_.push_back(synthetic_class_name(i));
    if (!options.planes) return;
    const SyntheticPlanesOptions& planes = *options.planes;
    SampleArrays samples{{{"float32", {planes.channels, planes.height, planes.width}}},
                         "synthetic"};
    if (planes.target) samples.arrays.push_back({"float32", {planes.height, planes.width}});
    hold(std::move(samples));
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return of(split).samples; }
  SampleInfo info(Split split, int64_t index) const override {
    const char* folder = split == Split::train ? "synthetic/" : "synthetic/test/";
    return {folder + std::to_string(index), index % static_cast<int64_t>(classes_.size()),
            of(split).at(index).size()};
  }
  EncodedSample read(Split split, int64_t index, Buffer&) const override {
    return {of(split).at(index), index % static_cast<int64_t>(classes_.size())};
  }

 private:
  // Image i is of class i % classes; their number is a multiple of the classes where there are
  // enough samples, so that wrapping around keeps the class.
  struct Pool {
    Pool(const Options& options, int64_t count, uint64_t seed) : samples(count) {
      const int64_t rounds = std::max<int64_t>(1, options.unique / options.classes);
      const int64_t distinct = std::min(rounds * options.classes, count);
      for (int64_t i = 0; i < distinct; ++i) {
        images.push_back(
            generate(options, i % options.classes, mix(seed, static_cast<uint64_t>(i))));
      }
    }
    static std::vector<uint8_t> generate(const Options& options, int64_t label, uint64_t seed) {
      return options.planes ? synthetic_planes(*options.planes, options.classes, label, seed)
                            : synthetic_jpeg(options.image, options.classes, label, seed);
    }
    const std::vector<uint8_t>& at(int64_t index) const {
      return images[static_cast<size_t>(index) % images.size()];
    }
    int64_t samples;
    std::vector<std::vector<uint8_t>> images;
  };
  const Pool& of(Split split) const { return split == Split::train ? train_ : test_; }

  Pool train_;
  Pool test_;
  std::vector<std::string> classes_;
};

STOKER_REGISTER(Dataset, "synthetic", Synthetic);

}  // namespace

}  // namespace stoker
