#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {

// One feature of a tf.train.Example. It is a list of values; this is the first of them. A value; it
// does not own the bytes.
struct ExampleFeature {
  enum class Kind { none, bytes, floats, integers };
  Kind kind = Kind::none;  // none: the feature is missing, or says nothing
  int64_t count = 0;       // number of values; not counted for floats
  Bytes bytes = {};
  int64_t integer = 0;
};

// The features of these names, in the order of the names; no name, no feature. They are read as
// protobuf does: what is given twice is merged, the last one counts if a key is there twice,
// numbers may be packed or not, and unknown fields are passed over. What is inside the other
// features is not looked at. The message must outlive the result. BadSample(corrupt) if the message
// is not an Example. Any thread.
std::vector<ExampleFeature> read_example(Bytes message, std::span<const std::string> names);

// The names of the first hundred features, for people. Fails as read_example(). Any thread.
std::vector<std::string> feature_names(Bytes message);

// What an image's Example says beside the image. A value that owns nothing.
struct ImageExample {
  std::string_view filename;
  std::string_view class_name;
  int64_t label = 0;
};

// The Example of an image of `image_bytes` bytes, up to where these bytes begin. They are its end.
// Features as TensorFlow's ImageNet has them: image/class/label, image/class/text, image/filename,
// image/encoded. Pure; any thread.
std::string image_example(const ImageExample& about, uint64_t image_bytes);

}  // namespace stoker
