#include "io/checkpoint/set_writer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kSetPrefix = "step-";
constexpr const char* kTemporaryPrefix = ".tmp-";
constexpr const char* kRankPrefix = "rank-";
constexpr size_t kDigits = 10;

// -1: something else stands there.
int64_t number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return -1;
  int64_t number = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && stop == end ? number : -1;
}

}  // namespace

EnumNames<Durability> enum_names(Durability) {
  return {{"fsync", Durability::fsync}, {"none", Durability::none}};
}

std::string set_name(int64_t step) { return fmt::format("{}{:0{}}", kSetPrefix, step, kDigits); }

int64_t step_of(const std::string& name) {
  const int64_t step = number_after(kSetPrefix, name);
  return step >= 0 && set_name(step) == name ? step : -1;
}

std::string rank_directory(const std::string& directory, int64_t rank) {
  return fmt::format("{}/{}{}", directory, kRankPrefix, rank);
}

int64_t rank_of(const std::string& name) { return number_after(kRankPrefix, name); }

bool is_garbage(const std::string& name) { return name.starts_with(kTemporaryPrefix); }

SetWriter::SetWriter(const FileTree& tree, std::string directory, int64_t step,
                     Durability durability)
    : tree_(tree),
      directory_(std::move(directory)),
      step_(step),
      sync_(durability == Durability::fsync),
      joined_(false) {
  temporary_ = unique_name(directory_ + "/" + kTemporaryPrefix + set_name(step) + "-");
  try {
    tree_.make_directories(temporary_, sync_);
  } catch (const Error&) {
    remove_temporary();
    throw;
  }
}

SetWriter::SetWriter(const FileTree& tree, std::string directory, int64_t step,
                     Durability durability, std::string temporary)
    : tree_(tree),
      directory_(std::move(directory)),
      step_(step),
      sync_(durability == Durability::fsync),
      joined_(true),
      temporary_(std::move(temporary)) {}

SetWriter::~SetWriter() {
  files_.clear();
  if (!temporary_.empty() && !joined_) remove_temporary();
}

void SetWriter::remove_temporary() {
  try {
    tree_.remove_directory(temporary_);
  } catch (const Error&) {
    // The tier fails; the next process collects it.
  }
}

size_t SetWriter::add_file(const std::string& name, uint64_t bytes, FileAccess access) {
  files_.push_back({tree_.create(temporary_ + "/" + name, access), bytes});
  files_.back().file.reserve(bytes);
  return files_.size() - 1;
}

void SetWriter::write(size_t file, uint64_t offset, Bytes bytes, Uring* queue) {
  const TreeFile& target = files_[file].file;
  const size_t tail = target.direct() ? bytes.size() % kDirectAlignment : 0;
  target.write_at(offset, bytes.first(bytes.size() - tail), queue);
  if (tail == 0) return;
  // Direct I/O writes whole blocks; commit() cuts the file to its size.
  alignas(kDirectAlignment) std::array<uint8_t, kDirectAlignment> block{};
  std::memcpy(block.data(), bytes.data() + bytes.size() - tail, tail);
  target.write_at(offset + bytes.size() - tail, block);
}

void SetWriter::finish() {
  for (const File& file : files_) {
    if (file.file.size() != file.bytes) file.file.truncate(file.bytes);
    if (sync_) file.file.sync();
  }
  files_.clear();
  if (joined_ && sync_) tree_.sync_directory(temporary_);
}

void SetWriter::commit(const Manifest& manifest) {
  tree_.write_text(temporary_ + "/" + kManifestName, manifest_text(manifest), sync_);
  if (sync_) tree_.sync_directory(temporary_);
  publish();
}

void SetWriter::publish() {
  const std::string final_name = directory_ + "/" + set_name(step_);
  tree_.rename(temporary_, final_name);
  try {
    if (sync_) tree_.sync_directory(directory_);
  } catch (...) {
    // Visible, but perhaps not for long: not to be acknowledged, so not to be seen either.
    try {
      tree_.rename(final_name, temporary_);
    } catch (const Error&) {
      temporary_.clear();
    }
    throw;
  }
  temporary_.clear();
}

}  // namespace stoker
