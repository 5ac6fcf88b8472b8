#include <algorithm>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/random.h"
#include "io/dataset/dataset.h"
#include "io/dataset/synthetic_image.h"
#include "io/dataset/synthetic_planes.h"

namespace stoker {
namespace {

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
