#include "app/tools/checkpoint/files/open_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "app/tools/checkpoint/files/input_file.h"
#include "app/tools/checkpoint/files/safetensors_source.h"
#include "app/tools/checkpoint/files/set_source.h"
#include "app/tools/checkpoint/files/torch_source.h"
#include "io/core/error.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kZipBegin = "PK\x03\x04";
constexpr size_t kBeginBytes = 8;

std::unique_ptr<StoredTensors> open_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder = path;
  if (fs::exists(folder / kManifestName, error)) return std::make_unique<SetSource>(path);
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {
    if (fs::exists(folder / name, error)) return open_tensors((folder / name).native());
  }
  throw Error(
      ExitCode::environment,
      fmt::format("{}: a folder without {} and without model.safetensors: name one set in it "
                  "(step-...; `stoker checkpoint list {}` shows them), or a file",
                  path, kManifestName, path));
}

}  // namespace

std::unique_ptr<StoredTensors> open_tensors(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path);
  if (is_safetensors_index(path)) return open_safetensors_index(path);
  const InputFile file(path);
  const std::string begin = file.text(0, std::min<uint64_t>(file.size(), kBeginBytes));
  if (begin.starts_with(kZipBegin)) return open_torch(path);
  const auto* bytes = reinterpret_cast<const uint8_t*>(begin.data());
  // A header of safetensors may have a length whose first byte is that of a pickle.
  const bool no_length =
      begin.size() < kBeginBytes || little_endian(bytes, kBeginBytes) > file.size();
  if (begin.starts_with('\x80') && no_length) {
    file.refuse(
        "a pickle without a zip around it, as torch.save wrote it before PyTorch 1.6: load it "
        "in Python, and save it anew (torch.save, or safetensors)");
  }
  return open_safetensors(path);
}

}  // namespace stoker
