#include "io/storage/storage.h"

#include <cerrno>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/keys.h"

namespace stoker {

template <>
Registry<Storage>& Registry<Storage>::global() {
  static Registry registry;
  return registry;
}

void check_key(const std::string& key) {
  if (is_key(key)) return;
  throw IoError("key '" + key + "' must be a relative path inside its tier such as a/b.jpg",
                EINVAL);
}

void Storage::Inputs::remark(const std::string& text) const {
  if (notify) notify("storage '" + name + "': " + text);
  if (meter != nullptr) meter->add_condition(text);
}

const FileTree* files_of(const Storage& tier) {
  const auto* const keeper = dynamic_cast<const KeepsFiles*>(&tier);
  return keeper == nullptr ? nullptr : keeper->files();
}

void write_object(Storage& to, const std::string& key, Bytes bytes) {
  const std::unique_ptr<ObjectWriter> writer = to.create(key);
  writer->append(bytes);
  writer->commit();
}

void Tiers::add(const std::string& name, std::unique_ptr<Storage> tier) {
  tiers_[name] = std::move(tier);
}

Storage& Tiers::at(const std::string& name) const {
  const auto found = tiers_.find(name);
  if (found != tiers_.end()) return *found->second;
  std::vector<std::string> names;
  for (const auto& [known, tier] : tiers_) names.push_back(known);
  throw Error(ExitCode::config, "unknown storage tier '" + name + "'" + suggestion(name, names));
}

}  // namespace stoker
