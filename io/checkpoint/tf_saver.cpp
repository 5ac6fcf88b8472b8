#include "io/checkpoint/tf_saver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/checkpoint/crc32c.h"

namespace stoker {

std::vector<TextFile> tf_saver_texts(const Manifest& manifest) {
  if (manifest.layout.format != FileLayout::tf_saver) return {};
  std::string index = "name\tdtype\tshape\tshard\toffset\tsize\tcrc32c\n";
  for (const TensorPiece& piece : manifest.layout.files[0].pieces) {
    const TensorInfo& tensor = manifest.layout.tensors[piece.tensor];
    index += fmt::format("{}\t{}\t{}\t0\t{}\t{}\t{:08x}\n", tensor.name, tensor.dtype, tensor.shape,
                         piece.offset, piece.bytes, manifest.tensor_sums[piece.tensor]);
  }
  return {{"model.ckpt.index", index}, {"model.ckpt.meta", manifest.training.dump(2) + "\n"}};
}

FileSums sums_of(const std::string& name, Bytes bytes) {
  FileSums sums{name, bytes.size(), {}};
  for (uint64_t at = 0; at < bytes.size(); at += kChunkBytes) {
    sums.chunks.push_back(crc32c(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at))));
  }
  return sums;
}

}  // namespace stoker
