#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/config/config.h"

// Where the bytes of a set of tensors lie in its files. Values and pure functions; any thread.

namespace stoker {

// A tensor without its bytes. A value. `bytes` is what dtype and shape make of it (tensor_bytes());
// the layout is dense, the last dimension varies fastest.
struct TensorInfo {
  std::string name;
  std::string dtype;  // as safetensors spells it: F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  bool operator==(const TensorInfo&) const = default;
};

// Where LibTorch puts a tensor: kernels are fastest there, and round alike.
inline constexpr uint64_t kTensorAlignment = 64;

// Bytes of one element; 0 for an unknown dtype.
uint64_t dtype_bytes(const std::string& dtype);

// The most dimensions that a tensor may have.
inline constexpr size_t kMaxDimensions = 64;

// Bytes of a tensor of that dtype and shape. Empty where dtype or shape are impossible, or no
// int64_t holds the number of bytes.
std::optional<uint64_t> tensor_bytes(const std::string& dtype, const std::vector<int64_t>& shape);

// A part of a tensor in a file: bytes [begin, begin + bytes) of the tensor from `offset` of the
// file on. Where a set has one data file, every tensor has one piece. A value.
struct TensorPiece {
  size_t tensor = 0;  // index into SetLayout::tensors
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

// Rows of a tensor that one process alone has, as bytes [begin, begin + bytes) of it. A value.
struct TensorShare {
  size_t tensor = 0;  // index into the list of tensors
  uint64_t begin = 0;
  uint64_t bytes = 0;
  int64_t process = 0;
};

// A data file of a set: its header, then its pieces, back to back. `bytes` is the size of the
// whole. A value. Read back from a manifest it has no header.
struct DataFile {
  std::string name;
  std::string header;
  std::vector<TensorPiece> pieces;
  uint64_t bytes = 0;
};

// safetensors: state.safetensors, or state-0000i-of-0000n.safetensors with equal shares of the
// bytes, each a valid file by itself (the header's __metadata__ says which rows a piece holds).
// tf_saver: what TensorFlow's Saver writes (papers: Chien 2018): model.ckpt.data-00000-of-00001
// with the tensors only; .index and .meta are written when their checksums are known.
enum class FileLayout { safetensors, tf_saver };
// Begins the names of the files of tf_saver.
inline constexpr const char* kBundlePrefix = "model.ckpt";
EnumNames<FileLayout> enum_names(FileLayout);

// Some of a set's files, [begin, end). A value.
struct FileRange {
  size_t begin = 0;
  size_t end = 0;
};

// Which bytes of which tensor lie where in which file. A value; a function of its inputs, so that
// every save of a run has the same.
struct SetLayout {
  FileLayout format = FileLayout::safetensors;
  // Tensors of whole multiples of kTensorAlignment come first, then the others by the size of their
  // elements. So the first ones are aligned to it in a file that is not shared with others, and all
  // tensors to their elements.
  std::vector<TensorInfo> tensors;
  std::vector<DataFile> files;
  std::vector<size_t>
      sources;  // of make_layout(): where each tensor stood in the list it was given

  uint64_t bytes() const;  // of all files
  uint64_t bytes(FileRange some) const;
};

// The largest set that is written or read: tensors, data files, and bytes of a file's header.
inline constexpr uint64_t kMaxTensors = 10'000;
inline constexpr int64_t kMaxShards = 1'024;
inline constexpr uint64_t kMaxHeaderBytes = 16ull << 20;

// The files that process `rank` of `size` writes: equal shares, the first of them first.
FileRange files_of(const SetLayout& layout, int64_t rank, int64_t size);

// Headers are padded so that data begin at a multiple of 4096. Error(ExitCode::bug) where a
// tensor's bytes do not agree with its shape and dtype, a name occurs twice, or a limit above is
// passed. Tensors of more than one row are split at rows (dimension 0), so that the shares differ
// from each other by less than a row; others stay whole.
//
// shares: what each of so many processes has; it goes into that process's own files (files_of()).
// The shares of a tensor follow each other as the processes do. Empty: all have all tensors.
SetLayout make_layout(FileLayout format, std::vector<TensorInfo> tensors, int64_t shards,
                      const std::vector<TensorShare>& shares = {}, int64_t processes = 1);

}  // namespace stoker
