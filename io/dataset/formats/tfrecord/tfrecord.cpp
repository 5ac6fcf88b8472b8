#include <memory>
#include <string>

#include "io/dataset/formats/tfrecord/format.h"
#include "io/dataset/formats/tfrecord/writer.h"
#include "io/dataset/shards/sharded.h"

namespace stoker {
namespace {

// TFRecord files of tf.train.Examples with encoded images.
class TFRecord final : public Sharded {
 public:
  struct Options : ShardedOptions {
    std::string image = "image/encoded";
    std::string label = "image/class/label";
    int64_t label_offset = 0;
    std::string text = "image/class/text";
    std::string filename = "image/filename";
    Options() : ShardedOptions("tfrecord", "train*.tfrecord*", "test*.tfrecord*") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("image", image, "feature with the encoded image");
      v("label", label, "feature with the number of its class; \"\": none has one");
      v("label_offset", label_offset,
        "number of the first class in that feature: 1 for ImageNet as TensorFlow packs it",
        Limits{0, 1e6});
      v("text", text,
        "feature with the name of its class, which counts where there is no number; \"\": none");
      v("filename", filename,
        "feature that names the sample; without a number and a name of its class its first folder "
        "is the class; \"\": none");
    }
    void check(const Section& section) const {
      ShardedOptions::check(section);
      if (image.empty()) section.fail("image", "must be the name of a feature");
    }
  };
  TFRecord(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs,
                std::make_unique<TFRecordFormat>(TFRecordFeatures{options.image, options.label,
                                                                  options.text, options.filename,
                                                                  options.label_offset})) {}
};

STOKER_REGISTER(Dataset, "tfrecord", TFRecord);
STOKER_REGISTER(ShardFormatWriter, "tfrecord", TFRecordWriter);

}  // namespace
}  // namespace stoker
