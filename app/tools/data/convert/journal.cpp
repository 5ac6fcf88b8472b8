#include "app/tools/data/convert/journal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/dataset/signed_index.h"
#include "io/storage/cached/staging.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

constexpr const char* kPlan = "convert.json";
constexpr const char* kLock = ".tmp-convert.lock";  // a name that no listing has
constexpr const char* kFormat = "stoker conversion";
constexpr int kVersion = 1;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

ConvertJournal::ConvertJournal(Storage& to, std::string prefix, Work work, size_t classes,
                               bool apart)
    : to_(to),
      prefix_(std::move(prefix)),
      work_(std::move(work)),
      classes_(classes),
      apart_(apart) {
  check_work(list_if_there(to_, prefix_));
  lock();
  // Read once more: with the lock, nobody else changes it.
  const std::vector<ObjectInfo> objects = list_if_there(to_, prefix_);
  check_work(objects);
  for (const ObjectInfo& object : objects) found_[object.key] = object.bytes;
  remove_temporaries();
  write_object(to_, prefix_ + kPlan, bytes_of(signed_json({{"work", work_}}, kFormat, kVersion)));
}

ConvertJournal::~ConvertJournal() {
  if (!lock_) return;
  try {
    files_of(to_)->remove(prefix_ + kLock);
  } catch (const IoError&) {  // it is no part of any listing
  }
}

void ConvertJournal::check_work(const std::vector<ObjectInfo>& objects) const {
  std::string other;
  bool begun = false;
  for (const ObjectInfo& object : objects) {
    begun = begun || object.key == prefix_ + kPlan;
    if (other.empty() && !object.key.ends_with('/') && object.key != prefix_ + kPlan)
      other = object.key;
  }
  if (!begun && other.empty()) return;
  if (!begun) {
    throw Error(ExitCode::environment,
                fmt::format("dataset convert: there is a {} already, and nothing is written over: "
                            "name a new or empty folder, or remove what is in this one",
                            other));
  }
  Buffer text;
  to_.read(prefix_ + kPlan, text);
  Work before;
  try {
    before = parse_signed_json(text.bytes(), kFormat, kVersion).at("work").get<Work>();
  } catch (const std::exception&) {  // a foreign one: all differs
  }
  std::vector<std::string> differ;
  for (const auto& [name, value] : work_) {
    const auto at = before.find(name);
    if (at == before.end() || at->second != value) differ.push_back(name);
  }
  if (differ.empty() || other.empty()) return;
  throw Error(ExitCode::environment,
              fmt::format("dataset convert: {}{} is of a conversion that was not finished, with "
                          "another {}: finish it with the arguments of then, name another folder, "
                          "or remove what is in this one",
                          prefix_, kPlan, fmt::join(differ, " and ")));
}

void ConvertJournal::lock() {
  const FileTree* files = files_of(to_);
  if (files == nullptr) return;
  files->make_directories(prefix_.substr(0, prefix_.empty() ? 0 : prefix_.size() - 1));
  try {
    lock_ = files->lock(prefix_ + kLock);
  } catch (const IoError& error) {
    if (!has_no_locks(error.errno_value())) throw;
    return;
  }
  if (lock_) return;
  throw Error(ExitCode::environment,
              fmt::format("dataset convert: another process writes to {}: wait for its end",
                          files->full(prefix_)));
}

// A process that was killed leaves files without a name of their own. They are no part of any
// listing, so that one that cannot be removed is in the way of nothing.
void ConvertJournal::remove_temporaries() const {
  const FileTree* files = files_of(to_);
  if (files == nullptr) return;
  std::set<std::string> folders{prefix_};
  for (const auto& [key, bytes] : found_) {
    for (size_t at = key.find('/', prefix_.size()); at != key.npos; at = key.find('/', at + 1))
      folders.insert(key.substr(0, at + 1));
  }
  for (const std::string& folder : folders) {
    for (const std::string& name : files->list(folder)) {
      if (!is_temporary(name) || name == kLock) continue;
      try {
        files->remove(folder + name);
      } catch (const IoError&) {
        continue;
      }
    }
  }
}

std::string ConvertJournal::receipt_key(const PlannedShard& shard) const {
  return prefix_ + "convert-" + shard.name + ".json";
}

std::optional<ShardReceipt> ConvertJournal::find(const PlannedShard& shard) const {
  if (!found_.contains(receipt_key(shard))) return std::nullopt;
  Buffer text;
  try {
    to_.read(receipt_key(shard), text);
    ShardReceipt receipt = parse_receipt(text.bytes());
    return fits(receipt, shard) ? std::optional(std::move(receipt)) : std::nullopt;
  } catch (const IoError&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The receipt is that of this shard, and the objects that it names are there.
bool ConvertJournal::fits(const ShardReceipt& receipt, const PlannedShard& shard) const {
  const WrittenShard& written = receipt.written;
  const size_t samples = written.samples.size();
  return written.split == shard.split &&
         std::cmp_equal(samples + receipt.left_out.size(), shard.count) &&
         (apart_ ? written.objects.size() == samples : !written.objects.empty()) &&
         std::ranges::all_of(written.samples,
                             [&](const WrittenSample& sample) {
                               return sample.label >= 0 && std::cmp_less(sample.label, classes_);
                             }) &&
         std::ranges::all_of(written.objects, [&](const ObjectInfo& object) {
           const auto at = found_.find(object.key);
           return at != found_.end() && at->second == object.bytes;
         });
}

void ConvertJournal::keep(const PlannedShard& shard, const ShardReceipt& receipt) {
  write_object(to_, receipt_key(shard), bytes_of(receipt_json(receipt)));
}

void ConvertJournal::forget(const PlannedShard& shard) { to_.remove(receipt_key(shard)); }

bool ConvertJournal::is_plan(const std::string& name) { return name == kPlan; }

void ConvertJournal::finish(const std::vector<PlannedShard>& shards) {
  for (const PlannedShard& shard : shards) to_.remove(receipt_key(shard));
  to_.remove(prefix_ + kPlan);
}

}  // namespace stoker
