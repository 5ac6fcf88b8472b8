#include "app/tools/checkpoint/files/tensor_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/tools/checkpoint/files/state_pickle.h"
#include "app/tools/checkpoint/files/stored_tensors.h"
#include "app/tools/checkpoint/files/zip.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kHeaderUnit = 8;  // as Python's library pads it
constexpr std::string_view kSuffix = ".safetensors";
constexpr size_t kMostShards = 1000;  // all are open until the last one is whole

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A file that must not be there yet.
std::unique_ptr<AtomicFile> new_file(const std::string& path) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error))) {
    throw Error(ExitCode::config, path + ": is there already: remove it, or name another file");
  }
  return std::make_unique<AtomicFile>(path);
}

template <class Append>
void copy_tensor(const WrittenTensor& tensor, const Append& append) {
  TensorPieces pieces(*tensor.source, tensor.index, kElementsAtOnce);
  for (Bytes bytes = pieces.next(); !bytes.empty(); bytes = pieces.next()) append(bytes);
}

std::string header_of(const std::vector<WrittenTensor>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t end = 0;
  for (const auto& [info, source, index] : tensors) {
    if (info.name == "__metadata__") {
      throw Error(ExitCode::config,
                  "a tensor is called __metadata__, which safetensors has for itself: "
                  "write a file of torch.save (.pt) instead");
    }
    header[info.name] = {
        {"dtype", info.dtype}, {"shape", info.shape}, {"data_offsets", {end, end + info.bytes}}};
    end += info.bytes;
  }
  std::string text = json_text(header);
  text.append(rounded_up(text.size(), kHeaderUnit) - text.size(), ' ');
  std::string length;
  append_little_endian(length, text.size(), sizeof(uint64_t));
  return length + text;
}

std::unique_ptr<AtomicFile> begin_safetensors(const std::vector<WrittenTensor>& tensors,
                                              const std::string& path) {
  std::unique_ptr<AtomicFile> file = new_file(path);
  file->append(bytes_of(header_of(tensors)));
  for (const WrittenTensor& tensor : tensors) {
    copy_tensor(tensor, [&](Bytes bytes) { file->append(bytes); });
  }
  return file;
}

// In order, a new one where the next tensor would not fit; one that is too large has one for
// itself.
std::vector<std::vector<WrittenTensor>> shards_of(const std::vector<WrittenTensor>& tensors,
                                                  uint64_t most) {
  std::vector<std::vector<WrittenTensor>> shards(1);
  uint64_t bytes = 0;
  for (const WrittenTensor& tensor : tensors) {
    if (most > 0 && bytes > 0 && tensor.info.bytes > most - std::min(most, bytes)) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(tensor);
    bytes += tensor.info.bytes;
  }
  return shards;
}

// The index last: without it the shards are none. Those that are there go where one fails.
void commit_all(const std::vector<std::unique_ptr<AtomicFile>>& files,
                const std::vector<std::string>& paths, AtomicFile& index) {
  size_t done = 0;
  try {
    for (; done < files.size(); ++done) files[done]->commit();
    index.commit();
  } catch (...) {
    std::error_code error;
    while (done-- > 0) fs::remove(paths[done], error);
    throw;
  }
}

}  // namespace

std::vector<std::string> write_safetensors(const std::vector<WrittenTensor>& tensors,
                                           const std::string& path, uint64_t max_shard_bytes) {
  const auto shards = shards_of(tensors, max_shard_bytes);
  if (shards.size() == 1) {
    begin_safetensors(tensors, path)->commit();
    return {path};
  }
  if (shards.size() > kMostShards) {
    throw Error(ExitCode::config, fmt::format("--max-shard: {} files; at most {}: make it larger",
                                              shards.size(), kMostShards));
  }
  const std::string index_path = path + ".index.json";
  const std::unique_ptr<AtomicFile> index = new_file(index_path);
  const std::string stem = path.substr(0, path.size() - kSuffix.size());
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<AtomicFile>> files;
  Json map = Json::object();
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    paths.push_back(fmt::format("{}-{:05}-of-{:05}{}", stem, i + 1, shards.size(), kSuffix));
    files.push_back(begin_safetensors(shards[i], paths.back()));
    const std::string name = to_text(fs::path(paths.back()).filename().native());
    for (const WrittenTensor& tensor : shards[i]) {
      map[tensor.info.name] = name;
      total += tensor.info.bytes;
    }
  }
  const Json json = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  index->append(bytes_of(json_text(json, 2) + "\n"));
  commit_all(files, paths, *index);
  paths.push_back(index_path);
  return paths;
}

// The records that torch.load looks for, and no more.
std::vector<std::string> write_torch(const std::vector<WrittenTensor>& tensors,
                                     const std::string& path) {
  const std::unique_ptr<AtomicFile> file = new_file(path);
  std::vector<TensorInfo> infos;
  infos.reserve(tensors.size());
  for (const WrittenTensor& tensor : tensors) infos.push_back(tensor.info);
  ZipWriter zip(*file);
  zip.add("archive/data.pkl", state_pickle(infos));
  zip.add("archive/byteorder", "little");
  for (size_t i = 0; i < tensors.size(); ++i) {
    zip.begin(fmt::format("archive/data/{}", i), tensors[i].info.bytes);
    copy_tensor(tensors[i], [&](Bytes bytes) { zip.append(bytes); });
  }
  zip.add("archive/version", "3\n");
  zip.finish();
  file->commit();
  return {path};
}

}  // namespace stoker
