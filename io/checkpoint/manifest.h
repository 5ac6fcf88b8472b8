#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/checkpoint/layout.h"

namespace stoker {

inline constexpr const char* kManifestName = "MANIFEST.json";
inline constexpr uint64_t kChunkBytes = 8ull << 20;
inline constexpr uint64_t kMaxManifestBytes = 64ull << 20;

struct FileSums {
  std::string name;
  uint64_t bytes = 0;
  std::vector<uint32_t> chunks;  // CRC-32C of each kChunkBytes; the last may be shorter
  bool operator==(const FileSums&) const = default;
};

// What is known of one checkpoint beside the bytes of its tensors. A value.
// nlohmann's move is declared noexcept and throws nothing, but clang-tidy does not see that.
struct Manifest {  // NOLINT(bugprone-exception-escape)
  int64_t step = 0;
  std::string created;                // UTC, 2026-11-21T13:40:00.123Z
  std::string writer;                 // random, one per process: fences two writers off
  std::string durability;             // "fsync" or "none"
  SetLayout layout;                   // without the files' headers
  std::vector<uint32_t> tensor_sums;  // CRC-32C of each of layout.tensors
  std::vector<FileSums> files;        // every file of the set but the manifest itself
  nlohmann::json training;            // everything that is no tensor; belongs to the trainer
};

// JSON that ends with its own SHA-256 as the last member, so that no bit of it can change unseen;
// an outsider can check it (README).
std::string manifest_text(const Manifest& manifest);

// Error(ExitCode::storage) that says what is wrong: a damaged text, a format or version that is not
// ours, a size, count or offset that does not fit. Nothing is allocated from a number that was not
// checked.
Manifest parse_manifest(const std::string& text);

}  // namespace stoker
