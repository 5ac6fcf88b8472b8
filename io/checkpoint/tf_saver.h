#pragma once

#include <string>
#include <vector>

#include "io/checkpoint/manifest.h"
#include "io/core/memory.h"

// The small files of layout tf_saver: the roles that TensorFlow's Saver (r1.10) gives them. Any
// thread.

namespace stoker {

// A small file of a set. A value.
struct TextFile {
  std::string name;
  std::string text;
};

// Layout tf_saver: model.ckpt.index (a line per tensor: name, dtype, shape, shard, offset, size,
// CRC-32C) and model.ckpt.meta (what describes the model: here the trainer's part of the manifest,
// as JSON). Other layouts: none. The manifest must have its tensors' checksums.
std::vector<TextFile> tf_saver_texts(const Manifest& manifest);

// The entry of a small file in the manifest.
FileSums sums_of(const std::string& name, Bytes bytes);

}  // namespace stoker
