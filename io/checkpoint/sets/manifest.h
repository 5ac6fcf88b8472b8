#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/checkpoint/saving/layout.h"
#include "io/core/system/memory.h"

namespace stoker {

// The manifest's name in a set; how many bytes of a file have one checksum; and the largest
// manifest that is read, so that a wrong file cannot ask for all memory.
inline constexpr const char* kManifestName = "MANIFEST.json";
inline constexpr uint64_t kChunkBytes = 8ull << 20;
inline constexpr uint64_t kMaxManifestBytes = 256ull << 20;
// What is no tensor may take so much of it; the rest is for names and checksums.
inline constexpr uint64_t kMaxTrainingBytes = kMaxManifestBytes / 2;

// A file of a set as it has to be. A value.
struct FileSums {
  std::string name;
  uint64_t bytes = 0;
  std::vector<uint32_t> chunks;  // CRC-32C of each kChunkBytes; the last may be shorter
  bool operator==(const FileSums&) const = default;
};

// What one process has written of a set: its files, and of each tensor of which a part lies in them
// that part's checksum and bytes. The parts of a tensor follow each other as the processes do. A
// value.
struct PartSums {  // NOLINT(bugprone-exception-escape): as Manifest
  struct Tensor {
    size_t tensor = 0;  // index into SetLayout::tensors
    uint32_t sum = 0;
    uint64_t bytes = 0;
  };
  std::vector<FileSums> files;
  std::vector<Tensor> tensors;
  nlohmann::json training = {};  // TrainingState::part
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
  // How many processes wrote it. Above 1, a tier of one of them holds some of its files only.
  int64_t parts = 1;
  nlohmann::json training;  // everything that is no tensor; belongs to the trainer
};

// Layout and checksums of a set that was written in these parts, in the order of the processes.
// What these had to say for themselves becomes manifest.training["parts"], where one had anything.
void put_together(Manifest& manifest, const SetLayout& layout, const std::vector<PartSums>& parts);

// As text and back, for other processes of the same run. Error(ExitCode::bug) for another text.
std::string to_text(const PartSums& part);
PartSums part_sums(const std::string& text);

// JSON whose last member is the SHA-256 of all before it, so that no bit can change unseen.
// README.md shows how an outsider checks it. A pure function: equal manifests have equal texts.
// Error(ExitCode::bug) for a manifest that parse_manifest() would refuse.
std::string manifest_text(const Manifest& manifest);

// Error(ExitCode::storage) that says what is wrong: a damaged text, an unknown format or version, a
// size, count or offset that does not fit. No memory is allocated by a number that was not checked.
Manifest parse_manifest(const std::string& text);

// A small file of a set; not text, as a rule. A value.
struct TextFile {
  std::string name;
  std::string text;
};

// Layout tf_saver: what TensorFlow's Saver writes beside the data, model.ckpt.index
// (tensor_bundle.h) and model.ckpt.meta (saver_graph.h). Other layouts: none. The manifest must
// have its tensors' checksums.
std::vector<TextFile> tf_saver_texts(const Manifest& manifest);

// The entry of a small file, of these bytes, in the manifest. Any thread.
FileSums sums_of(const std::string& name, Bytes bytes);

}  // namespace stoker
