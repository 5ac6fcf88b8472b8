#include "io/checkpoint/sets/file_set_writer.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {

EnumNames<Durability> enum_names(Durability) {
  return {{"fsync", Durability::fsync}, {"none", Durability::none}};
}

FileSetWriter::FileSetWriter(const FileTree& tree, std::string directory, int64_t step,
                             Durability durability, const std::string& temporary,
                             std::function<void()> not_direct)
    : SetWriter(false, temporary.empty() ? garbage_name(directory, set_name(step)) : temporary),
      tree_(tree),
      directory_(std::move(directory)),
      step_(step),
      sync_(durability == Durability::fsync),
      joined_(!temporary.empty()),
      not_direct_(std::move(not_direct)),
      name_(directory_ + "/" + set_name(step)) {
  if (joined_) return;
  try {
    tree_.make_directories(place(), sync_);
  } catch (const Error&) {
    remove_temporary();
    throw;
  }
}

FileSetWriter::~FileSetWriter() {
  files_.clear();
  if (!joined_ && (!published_ || replaced_)) remove_temporary();
}

void FileSetWriter::remove_temporary() {
  try {
    tree_.remove_directory(place());
  } catch (const Error&) {
    // The tier fails; the next process collects it.
  }
}

size_t FileSetWriter::add_file(const std::string& name, uint64_t bytes, FileAccess access) {
  files_.push_back({tree_.create(place() + "/" + name, access), bytes, access});
  files_.back().file.reserve(bytes);
  return files_.size() - 1;
}

void FileSetWriter::write(size_t file, uint64_t offset, Bytes bytes, Uring* queue) {
  const TreeFile& target = files_[file].file;
  const size_t tail = target.direct() ? bytes.size() % kDirectAlignment : 0;
  target.write_at(offset, bytes.first(bytes.size() - tail), queue);
  if (tail == 0) return;
  // Direct I/O writes whole blocks; commit() cuts the file to its size.
  alignas(kDirectAlignment) std::array<uint8_t, kDirectAlignment> block{};
  std::memcpy(block.data(), bytes.data() + bytes.size() - tail, tail);
  target.write_at(offset + bytes.size() - tail, block);
}

void FileSetWriter::finish() {
  for (const File& file : files_) {
    if (file.file.size() != file.bytes) file.file.truncate(file.bytes);
    if (sync_) file.file.sync();
    if (file.access == FileAccess::direct && !file.file.direct()) not_direct_();
  }
  files_.clear();
  if (joined_ && sync_) tree_.sync_directory(place());
}

void FileSetWriter::commit(const Manifest& manifest, bool replaces) {
  tree_.write_text(place() + "/" + kManifestName, manifest_text(manifest), sync_);
  if (sync_) tree_.sync_directory(place());
  publish(replaces);
}

void FileSetWriter::publish(bool replaces) {
  try {
    tree_.rename(place(), name_);
  } catch (const IoError& error) {
    if (error.errno_value() != EEXIST) throw;
    if (!replaces) {
      throw NoRetry(ExitCode::storage,
                    tree_.root() + "/" + name_ +
                        " is there already, and a set is not written over: give each save a step "
                        "of its own, or this run another checkpoint.directory");
    }
    exchange();
    replaced_ = true;
  }
  published_ = true;
  try {
    if (sync_) tree_.sync_directory(directory_);
  } catch (...) {
    // Visible, but perhaps not for long: not to be acknowledged, so not to be seen either.
    try {
      take_back();
    } catch (const Error&) {
      // Both stay.
    }
    throw;
  }
}

// Nothing is removed before the names are durable: else a power loss could bring those back that
// they had, of files that are gone. What stays where that fails the next process collects.
void FileSetWriter::take_back() {
  if (std::exchange(replaced_, false)) {
    exchange();
  } else {
    tree_.rename(name_, place());
  }
  if (sync_) tree_.sync_directory(directory_);
  published_ = false;
}

void FileSetWriter::exchange() {
  tree_.exchange(place(), name_, unique_name(directory_ + "/superseded-" + set_name(step_) + "-"));
}

}  // namespace stoker
