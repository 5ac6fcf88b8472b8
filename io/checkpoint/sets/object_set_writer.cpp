#include "io/checkpoint/sets/object_set_writer.h"

#include <fmt/format.h>

#include <utility>

#include "io/core/error.h"

namespace stoker {

void remove_set(Storage& objects, const std::string& set) {
  objects.remove(set + "/" + kManifestName);
  for (const ObjectInfo& object : objects.list(set + "/")) {
    if (object.key.size() > set.size() + 1) objects.remove(object.key);
  }
}

ObjectSetWriter::ObjectSetWriter(Storage& objects, std::string set, bool joined,
                                 std::function<void()> may_commit)
    : SetWriter(true),
      objects_(objects),
      set_(std::move(set)),
      joined_(joined),
      may_commit_(std::move(may_commit)) {}

ObjectSetWriter::~ObjectSetWriter() {
  files_.clear();
  if (committed_ || joined_) return;
  try {
    remove_set(objects_, set_);
  } catch (const Error&) {
    // The tier fails; the next process collects it.
  }
}

size_t ObjectSetWriter::add_file(const std::string& name, uint64_t bytes, FileAccess) {
  files_.push_back({objects_.create(set_ + "/" + name), name, bytes});
  return files_.size() - 1;
}

void ObjectSetWriter::write(size_t file, uint64_t offset, Bytes bytes, Uring*) {
  File& target = files_[file];
  if (!target.writer || offset != target.written || bytes.size() > target.bytes - offset) {
    throw Error(ExitCode::bug, fmt::format("checkpoint: {} is written at {} after {} of {} bytes",
                                           target.name, offset, target.written, target.bytes));
  }
  target.writer->append(bytes);
  target.written += bytes.size();
  if (target.written < target.bytes) return;
  target.writer->commit();
  target.writer.reset();
}

void ObjectSetWriter::finish() {
  for (File& file : files_) {
    if (file.written < file.bytes) {
      throw Error(ExitCode::bug, fmt::format("checkpoint: {} has {} of {} bytes", file.name,
                                             file.written, file.bytes));
    }
    if (file.writer) file.writer->commit();  // of no bytes
  }
  files_.clear();
}

// Whoever claims the directory takes a set without manifest for garbage. So a set is acknowledged
// where it was this process's own even after its manifest was there: the next owner has seen it
// then. After a failed commit it is not known whether the manifest is there; removing a set begins
// with it, so that what stays where that fails as well is a whole set, or none.
void ObjectSetWriter::commit(const Manifest& manifest) {
  const std::string text = manifest_text(manifest);
  may_commit_();
  write_object(objects_, set_ + "/" + kManifestName,
               {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  may_commit_();
  committed_ = true;
}

}  // namespace stoker
