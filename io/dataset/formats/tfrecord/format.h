#pragma once

#include <string>
#include <vector>

#include "io/dataset/shards/shard_index.h"

namespace stoker {

// Which features of an Example say what. A value.
struct TFRecordFeatures {
  std::string image;
  // Empty, or absent in an Example: it does not say so.
  std::string label;
  std::string text;
  std::string filename;
};

// TFRecord files of tf.train.Examples. Both checksums of a record are checked by scan(), that of
// its data whenever it is read again, too. Thread rule and failures: as ShardFormat.
class TFRecordFormat final : public ShardFormat {
 public:
  explicit TFRecordFormat(TFRecordFeatures features);
  std::string name() const override;
  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override;
  std::string label_rule() const override;
  Bytes payload(Buffer& stored) const override;

 private:
  // No feature says a class: all samples are of one.
  bool one_class() const {
    return features_.label.empty() && features_.text.empty() && features_.filename.empty();
  }
  // Takes what a record says. False: it has no image.
  bool look(Bytes record, ShardSample& sample) const;
  std::string without_image(Bytes example) const;
  BadSample without_label(Bytes example) const;

  const TFRecordFeatures features_;
  const std::vector<std::string> names_;
};

}  // namespace stoker
