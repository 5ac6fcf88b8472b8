#include "io/storage/object/object_place.h"

#include "io/core/text/text.h"
#include "io/http/message.h"

namespace stoker {

std::string ObjectPlace::url_of(const std::string& key) const {
  return url + percent_encoded(from_text(key), "/");
}

std::string ObjectPlace::shown(const std::string& operation, const std::string& key) const {
  return operation + " " + url + key;
}

std::optional<ObjectVersion> KnownObjects::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = versions_.find(key);
  if (found == versions_.end()) return std::nullopt;
  return found->second;
}

uint64_t KnownObjects::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void KnownObjects::add_listed(uint64_t changes, const std::vector<Seen>& seen) {
  const std::lock_guard lock(mutex_);
  if (changes != changes_) return;
  for (const Seen& object : seen) versions_[object.key] = object.version;
}

void KnownObjects::add(uint64_t changes, const std::string& key, const ObjectVersion& version) {
  const std::lock_guard lock(mutex_);
  if (changes != changes_) return;
  ObjectVersion& known = versions_[key];
  if (known.etag.empty()) known = version;
}

void KnownObjects::begin_change(const std::string& key) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  versions_.erase(key);
  changing_.insert(key);
}

void KnownObjects::end_change(const std::string& key) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  versions_.erase(key);
  changing_.erase(changing_.find(key));
}

bool KnownObjects::changing(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return changing_.contains(key);
}

}  // namespace stoker
