#include "io/storage/object/s3_bucket.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/storage/keys.h"
#include "io/storage/object/object_errors.h"
#include "io/storage/object/s3_answers.h"

namespace stoker {
namespace {

constexpr int kMostEmptyPages = 100;
const char* const kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::vector<std::string> signature(const AwsSigner& signer, const HttpRequest& request) {
  AwsSigner::Request to_sign{.method = request.method,
                             .path = path_of_url(request.url),
                             .query = query_of_url(request.url),
                             .headers = {{"host", host_of(request.url)}},
                             .payload = kEmptyHash};
  if (!request.body_sha256.empty()) to_sign.payload = request.body_sha256;
  return signer.sign(std::move(to_sign), std::time(nullptr));
}

HttpTransport::Inputs signed_by(HttpTransport::Inputs inputs, const AwsSigner* signer) {
  if (signer != nullptr) {
    inputs.headers = [signer](const HttpRequest& request) { return signature(*signer, request); };
  }
  return inputs;
}

std::string_view without_last_slash(std::string_view key) {
  if (key.ends_with('/')) key.remove_suffix(1);
  return key;
}

// Objects named "folder/" are made by some tools; beside what is in the folder they say nothing.
void drop_folders(std::vector<ObjectInfo>& sorted) {
  size_t kept = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const std::string& key = sorted[i].key;
    const bool inhabited =
        key.ends_with('/') && i + 1 < sorted.size() && sorted[i + 1].key.starts_with(key);
    if (inhabited) continue;
    if (kept != i) sorted[kept] = std::move(sorted[i]);
    ++kept;
  }
  sorted.resize(kept);
}

}  // namespace

S3Bucket::S3Bucket(const std::string& bucket_url, std::string prefix,
                   HttpTransport::Inputs transport, ObjectReads::Settings reads,
                   const std::optional<AwsCredentials>& credentials, const std::string& region)
    : bucket_url_(bucket_url),
      prefix_(std::move(prefix)),
      place_{bucket_url + "/" + percent_encoded(prefix_, "/"), true},
      signer_(credentials ? std::make_unique<AwsSigner>(*credentials, region) : nullptr),
      transport_(new_http_transport(signed_by(std::move(transport), signer_.get()))),
      reads_(*transport_, place_, reads) {}

HttpRequest S3Bucket::request(const std::string& method, const std::string& operation,
                              const std::string& key, const std::string& query) const {
  return {.method = method,
          .url = place_.url_of(key) + (query.empty() ? "" : "?" + query),
          .shown = place_.shown(operation, key)};
}

void S3Bucket::set_body(HttpRequest& request, std::string body) {
  request.body_sha256 = sha256_hex(body);
  request.body = std::make_shared<const std::string>(std::move(body));
}

void S3Bucket::list_page(const std::string& prefix, std::string& token,
                         std::vector<KnownObjects::Seen>& seen) {
  std::string query = "list-type=2&prefix=" + percent_encoded(prefix_ + from_text(prefix));
  if (!token.empty()) query += "&continuation-token=" + percent_encoded(token);
  const std::string shown = place_.shown("list", prefix);
  const HttpAnswer answer = transport_->perform({.url = bucket_url_ + "?" + query, .shown = shown});
  if (answer.head.status != 200) throw_answer(shown, answer, place_);
  S3Listing page;
  try {
    page = parse_s3_listing(answer.text);
  } catch (const Error& error) {
    const bool html = lower_case(answer.head.type).starts_with("text/html");
    throw IoError(
        shown + ": " + error.what() +
            (html ? ": a page of HTML; check `endpoint`, for consoles have another port" : ""),
        EIO);
  }
  if (!page.next.empty() && page.next == token) {
    throw IoError(shown + ": the server answers the same page again and again", EIO);
  }
  token = std::move(page.next);
  for (S3Listing::Object& object : page.objects) {
    if (object.key.size() <= prefix_.size() || !object.key.starts_with(prefix_)) continue;
    seen.push_back({to_text(std::string_view(object.key).substr(prefix_.size())),
                    {object.bytes, std::move(object.etag), true}});
  }
}

S3Bucket::Objects S3Bucket::list(const std::string& prefix) {
  const uint64_t changes = reads_.known().changes();
  std::vector<KnownObjects::Seen> seen;
  std::string token;
  int empty_pages = 0;
  do {
    const size_t before = seen.size();
    list_page(prefix, token, seen);
    empty_pages = seen.size() == before ? empty_pages + 1 : 0;
    if (empty_pages > kMostEmptyPages) {
      throw IoError(place_.shown("list", prefix) + ": the server answers pages without objects",
                    EIO);
    }
  } while (!token.empty());
  reads_.known().add_listed(changes, seen);
  Objects objects;
  objects.found.reserve(seen.size());
  for (KnownObjects::Seen& object : seen) {
    if (!object.key.starts_with(prefix)) continue;
    if (!is_key(without_last_slash(object.key))) {
      objects.no_keys.push_back(std::move(object.key));
    } else {
      objects.found.push_back({std::move(object.key), object.version.bytes});
    }
  }
  std::ranges::sort(objects.found, {}, &ObjectInfo::key);
  drop_folders(objects.found);
  return objects;
}

void S3Bucket::remove(const std::string& key) {
  check_key(key);
  HttpRequest request = this->request("DELETE", "remove", key);
  const std::string shown = request.shown;
  const ObjectReads::Change change(reads_, key);
  const HttpAnswer answer = transport_->perform(std::move(request));
  const long status = answer.head.status;
  if (status == 404 && parse_s3_error(answer.text).code != "NoSuchBucket") return;
  if (status != 200 && status != 202 && status != 204) throw_answer(shown, answer, place_);
}

}  // namespace stoker
