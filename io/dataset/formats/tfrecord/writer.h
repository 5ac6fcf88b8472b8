#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/dataset/shards/shard_writer.h"

namespace stoker {

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

}  // namespace stoker
