#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/saving/layout.h"
#include "io/core/system/memory.h"

// TensorFlow's tensor bundle, which its Saver and its tf.train.Checkpoint write (V2):
//
//   PREFIX.index                     a sorted table: "" -> BundleHeaderProto, the name of each
//   tensor
//                                    -> BundleEntryProto (type, shape, file, offset, size, CRC-32C)
//   PREFIX.data-0000i-of-0000n       the tensors' bytes
//   PREFIX.meta                      the graph of it (saver_graph.h), which a bundle can do without

namespace stoker {

// The largest index that is read.
inline constexpr uint64_t kMaxIndexBytes = 64ull << 20;

// What an index says of one tensor. A value.
struct BundleTensor {
  std::string name;
  // As safetensors spells it where it has the type, else TensorFlow's word (DT_STRING), or number.
  std::string dtype;
  std::vector<int64_t> shape;
  // The tensor lies in slices, which have entries of their own, and no bytes belong to this one.
  bool sliced = false;
  uint64_t file = 0;  // number of its data file
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t sum = 0;  // CRC-32C, not masked; of texts: see text_sum()
};

// A whole index. A value.
struct TensorBundle {
  uint64_t files = 1;
  std::vector<BundleTensor> tensors;  // by name
};

// The index of a set with one data file, whose tensors have these CRC-32C. A pure function.
std::string bundle_index(const SetLayout& layout, const std::vector<uint32_t>& sums);

// Error(ExitCode::storage) where the bytes are no index, or one of another version or byte order.
// Nothing in it is believed but what was checked: a file's number is below `files`, dtype and shape
// agree with the bytes where the type is one of ours. Whether the file has the bytes is for
// whoever reads them. Any thread.
TensorBundle parse_bundle_index(Bytes index);

// "model.ckpt", 0, 1 -> "model.ckpt.data-00000-of-00001".
std::string bundle_data_name(const std::string& prefix, uint64_t file, uint64_t files);

// The CRC-32C by which TensorFlow sums a tensor of texts (DT_STRING): their lengths as 32 or 64
// bits, then the sum of these and the texts themselves. `bytes`: all that the entry points to; it
// has `count` texts. Error(ExitCode::storage) where they do not fit. Any thread.
uint32_t text_sum(Bytes bytes, uint64_t count);

// TensorFlow's number of a type that a layout may have (DataType); 0: it has none. Any thread.
uint64_t bundle_dtype(const std::string& dtype);
// TensorFlow's message of a shape (TensorShapeProto). Any thread.
std::string shape_proto(const std::vector<int64_t>& shape);

}  // namespace stoker
