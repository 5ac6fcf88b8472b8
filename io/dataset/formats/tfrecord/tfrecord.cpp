#include <memory>
#include <string>

#include "io/dataset/shards/sharded.h"
#include "io/dataset/formats/tfrecord/format.h"
#include "io/dataset/formats/tfrecord/writer.h"

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
    Options() : ShardedOptions("train*.tfrecord*", "test*.tfrecord*") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("image", image, "The feature that holds the encoded image.");
      v("label", label,
        "The feature that holds the number of its class. \"\": no sample has such a number.");
      v("label_offset", label_offset,
        "The number that this feature gives to the first class. ImageNet as TensorFlow packs it "
        "needs 1.",
        Limits{0, 1e6});
      v("text", text,
        "The feature that holds the name of its class. It counts where a sample has no number. "
        "\"\": no sample has such a name.");
      v("filename", filename,
        "The feature that names the sample. Where a sample has neither the number nor the name of "
        "its class, the first folder of this name is the class. \"\": samples have no names.");
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
