#include "io/storage/object/object_place.h"

#include <fmt/format.h>

#include <cerrno>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/storage/object/s3_answers.h"

namespace stoker {

std::string ObjectPlace::url_of(const std::string& key) const {
  return url + percent_encoded(from_text(key), "/");
}

std::string ObjectPlace::shown(const std::string& operation, const std::string& key) const {
  return operation + " " + url + key;
}

void throw_answer(const std::string& shown, const HttpAnswer& answer) {
  const long status = answer.head.status;
  if (status == 404 || status == 410) {
    const S3Error error = parse_s3_error(answer.text);
    if (error.code == "NoSuchBucket") {
      throw IoError(shown + ": there is no such bucket; make it, or mend `bucket`", ENOENT);
    }
    throw IoError(shown + ": No such file or directory", ENOENT);
  }
  const S3Error error = parse_s3_error(answer.text);
  const std::string reason =
      error.code.empty() ? "" : fmt::format(" ({}: {})", error.code, error.message);
  std::string advice;
  int errno_value = EIO;
  if (status == 401 || status == 403) {
    errno_value = EACCES;
    advice = "; check the credentials, their rights, `region` and this machine's clock";
  } else if (status >= 300 && status < 400) {
    advice = "; check the URL and `region`";
  }
  throw IoError(fmt::format("{}: the server answered {}{}{}", shown, status, reason, advice),
                errno_value);
}

void throw_changed(const std::string& shown) {
  throw IoError(shown +
                    ": it changed while it was read (another ETag or size than before); leave "
                    "the objects of a run as they are, and start it again",
                ESTALE);
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
