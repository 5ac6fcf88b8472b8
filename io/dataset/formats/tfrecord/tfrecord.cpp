#include <fmt/format.h>

#include <climits>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/core/crc32c.h"
#include "io/core/error.h"
#include "io/core/wire/protobuf.h"
#include "io/dataset/formats/tfrecord/example.h"
#include "io/dataset/formats/tfrecord/format.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/dataset/shards/sharded.h"

namespace stoker {
namespace {

// TFRecord files of tf.train.Examples with encoded images.
class TFRecord final : public Sharded {
 public:
  struct Options : ShardedOptions {
    std::string image = "image/encoded";
    std::string label = "image/class/label";
    std::string text = "image/class/text";
    std::string filename = "image/filename";
    Options() : ShardedOptions("tfrecord", "train*.tfrecord*", "test*.tfrecord*") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("image", image, "The feature that holds the encoded image.");
      v("label", label,
        "The feature that holds the number of its class. \"\": no sample has such a number.");
      v("text", text,
        "The feature that holds the name of its class. It counts where a sample has no number. "
        "\"\": no sample has such a name.");
      v("filename", filename,
        "The feature that names the sample. Where a sample has neither the number nor the name of "
        "its class, the first folder of this name is the class. \"\": samples have no names. If "
        "label and text are \"\", too, all samples are of one class.");
    }
    void check(const Section& section) const {
      ShardedOptions::check(section);
      if (image.empty()) section.fail("image", "must be the name of a feature");
    }
  };
  TFRecord(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs,
                std::make_unique<TFRecordFormat>(TFRecordFeatures{
                    options.image, options.label, options.text, options.filename})) {}
};

// protobuf reads no message of 2 GiB; an image's other features are far from the rest.
constexpr size_t kMostImageBytes = INT_MAX - (1 << 20);

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class TFRecordFile final : public ShardWriter {
 public:
  TFRecordFile(std::vector<std::string> classes, std::unique_ptr<ObjectWriter> object)
      : classes_(std::move(classes)), object_(std::move(object)) {}

  void add(const SampleToWrite& sample) override {
    if (sample.bytes.size() > kMostImageBytes || sample.key.size() > kMostKeyBytes) {
      throw Error(ExitCode::data,
                  fmt::format("sample {:.200}: its image or its name is too long for an Example of "
                              "2 GiB",
                              sample.key));
    }
    if (sample.label < 0 || sample.label >= std::ssize(classes_)) {
      throw Error(ExitCode::data,
                  fmt::format("sample {}: its label is {}, and there are {} classes", sample.key,
                              sample.label, classes_.size()));
    }
    const std::string& class_name = classes_[static_cast<size_t>(sample.label)];
    const std::string front =
        image_example({sample.key, class_name, sample.label}, sample.bytes.size());
    const auto head = record_head(front.size() + sample.bytes.size());
    object_->append(bytes_of(std::string(head.begin(), head.end()) + front));
    object_->append(sample.bytes);
    object_->append(record_tail(crc32c(sample.bytes, crc32c(bytes_of(front)))));
  }
  void commit() override { object_->commit(); }

 private:
  static constexpr size_t kMostKeyBytes = size_t{64} << 10;

  const std::vector<std::string> classes_;
  const std::unique_ptr<ObjectWriter> object_;
};

// Examples as TensorFlow's ImageNet has them (image_example()), in TFRecord files that TensorFlow
// reads. Thread rule and failures: as ShardFormatWriter.
class TFRecordWriter final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    WritableInfo info() const { return {".tfrecord"}; }
  };
  TFRecordWriter(Options, const Inputs& inputs) : classes_(inputs.classes) {}
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override;

 private:
  const std::vector<std::string> classes_;
};

std::unique_ptr<ShardWriter> TFRecordWriter::create(Storage& to, const std::string& key) const {
  return std::make_unique<TFRecordFile>(classes_, to.create(key));
}

STOKER_REGISTER(Dataset, "tfrecord", TFRecord);
STOKER_REGISTER(ShardFormatWriter, "tfrecord", TFRecordWriter);

}  // namespace
}  // namespace stoker
