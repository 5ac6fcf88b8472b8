#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint/saving/layout.h"
#include "io/core/system/memory.h"

// The header of a safetensors file, whoever wrote it: its length in 8 bytes, JSON, then the bytes
// of the tensors. Any thread.

namespace stoker {

// Where a tensor lies in its file. A value.
struct StoredTensor : TensorInfo {
  uint64_t begin = 0;  // of its bytes, from the file's begin on
};

// What a header says; all of it was compared with the size of the file. A value.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;            // in the order of their bytes
  std::map<std::string, std::string> metadata;  // __metadata__
  uint64_t data_begin = 0;                      // from the file's begin on
};

// The largest header that safetensors' own reader takes, and bytes that tell how long a header is.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr uint64_t kSafetensorsPrefix = 8;

// Bytes of one element in a safetensors file, which may have more types than a set of ours; 0 for
// an unknown dtype, and for those of less than a byte.
uint64_t safetensors_dtype_bytes(const std::string& dtype);

// Prefix and header together, from the file's first 8 bytes (or all it has). `path` is for
// messages. Error(ExitCode::storage) where they are no header of a file of `file_bytes` bytes.
uint64_t safetensors_header_bytes(Bytes prefix, uint64_t file_bytes, const std::string& path);

// `start`: so many bytes from the file's begin on. Error(ExitCode::storage) that names the file
// and, where it is known, the tensor: damaged JSON, a tensor that lies behind the file's end or in
// another's place, or has other bytes than its dtype and shape say, bytes of no tensor.
SafetensorsHeader parse_safetensors(Bytes start, uint64_t file_bytes, const std::string& path);

// The most files that an index may name, and the most tensors that are read from other programs.
inline constexpr uint64_t kMaxForeignFiles = 10'000;
inline constexpr uint64_t kMaxForeignTensors = 100'000;

// Whether a path is called as an index is ("model.safetensors.index.json").
bool is_safetensors_index(std::string_view path);

// The files that an index names, each with the tensors that are read from it; the files lie in the
// folder of the index. `path` is for messages. Error(ExitCode::storage) where the text is not an
// index, or names what is not a file of that folder. A pure function; any thread.
std::map<std::string, std::vector<std::string>> parse_safetensors_index(std::string_view text,
                                                                        const std::string& path);

// Leaves those tensors of the file at `path` that the index says are read from it: another file may
// replace the others. Error(ExitCode::storage) where one of them is not there.
void keep_indexed(std::vector<StoredTensor>& tensors, const std::vector<std::string>& named,
                  const std::string& path);

}  // namespace stoker
