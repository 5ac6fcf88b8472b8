#include "io/checkpoint/sets/object_set_writer.h"

#include <fmt/format.h>

#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kSuperseded = "superseded";

}  // namespace

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void remove_set(Storage& objects, const std::string& set) {
  objects.remove(set + "/" + kManifestName);
  for (const ObjectInfo& object : objects.list(set + "/")) {
    if (object.key.size() > set.size() + 1) objects.remove(object.key);
  }
}

ObjectSetWriter::ObjectSetWriter(Storage& objects, std::string set, bool joined,
                                 std::function<void()> may_commit)
    : SetWriter(true, std::move(set)),
      objects_(objects),
      joined_(joined),
      may_commit_(std::move(may_commit)) {}

ObjectSetWriter::~ObjectSetWriter() {
  files_.clear();
  if (joined_) return;
  for (const std::string& set : committed_ ? replaced_ : std::vector{place()}) {
    try {
      remove_set(objects_, set);
    } catch (const Error&) {
      // The tier fails. The next process collects what has no manifest; the rest is set aside.
    }
  }
}

size_t ObjectSetWriter::add_file(const std::string& name, uint64_t bytes, FileAccess) {
  files_.push_back({objects_.create(place() + "/" + name), name, bytes});
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
void ObjectSetWriter::commit(const Manifest& manifest, bool replaces) {
  may_commit_();
  write_object(objects_, place() + "/" + kManifestName, bytes_of(manifest_text(manifest)));
  may_commit_();
  if (replaces) replace_others();
  committed_ = true;
}

// Until they are set aside, two sets of the step are there, and each is whole.
void ObjectSetWriter::replace_others() {
  const std::string directory = place().substr(0, place().rfind('/'));
  const std::string of_step = place().substr(0, place().rfind('-') + 1);
  for (const SetEntry& other : sets_among(objects_.list(of_step), directory)) {
    const std::string set = directory + "/" + other.name;
    if (other.step < 0 || set == place()) continue;
    replaced_.push_back(set);
    try {
      write_object(objects_, set + "/" + aside_name(kSuperseded), bytes_of("superseded\n"));
    } catch (const Error&) {
      take_back();
      throw;
    }
  }
}

// Where an old set cannot come back, the new one stays.
void ObjectSetWriter::take_back() {
  committed_ = true;
  for (const std::string& set : std::exchange(replaced_, {})) {
    objects_.remove(set + "/" + aside_name(kSuperseded));
  }
  committed_ = false;
}

}  // namespace stoker
