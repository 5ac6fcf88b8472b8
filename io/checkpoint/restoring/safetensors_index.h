#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint/restoring/safetensors_header.h"

namespace stoker {

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
