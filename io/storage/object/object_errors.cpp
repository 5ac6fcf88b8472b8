#include "io/storage/object/object_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/storage/keys.h"
#include "io/storage/object/s3_answers.h"

namespace stoker {
namespace {

constexpr long kOk = 200;

[[noreturn]] void fail(const std::string& shown, const std::string& what, int errno_value = EIO) {
  throw IoError(shown + ": " + what, errno_value);
}

// What to do where S3 answers with one of these codes.
struct Remedy {
  std::string_view code;
  const char* text;
  int errno_value = EACCES;
};
constexpr Remedy kRemedies[] = {
    {"AccessDenied",
     "check the rights of the credentials, and that it is there: who may not list a bucket is told "
     "the same of an object that is not"},
    {"SignatureDoesNotMatch", "check the secret key and `region`"},
    {"InvalidAccessKeyId", "check the key's id"},
    {"InvalidToken", "check the session token"},
    {"ExpiredToken", "get new credentials and start again; they are read when a tier is opened"},
    {"TokenRefreshRequired",
     "get new credentials and start again; they are read when a tier is opened"},
    {"RequestTimeTooSkewed", "set this machine's clock"},
    {"RequestExpired", "set this machine's clock"},
    {"InvalidObjectState", "it is archived: restore it first"},
    {"AuthorizationHeaderMalformed", "check `region`"},
    {"IllegalLocationConstraintException", "check `region` and `endpoint`"},
    {"PermanentRedirect", "check `region` and `endpoint`", EIO},
    {"TemporaryRedirect", "check `region` and `endpoint`", EIO},
};

// Where the answer does not say why.
Remedy remedy_of(long status, bool of_s3) {
  if (of_s3 && (status == 401 || status == 403)) {
    return {"", "check the credentials, their rights, `region` and this machine's clock"};
  }
  if (status == 401) {
    return {"",
            "it wants a login, and the tier http has none: let the server give it without one, "
            "or use a tier of type s3"};
  }
  if (status == 403) return {"", "check the URL, and who may read it on the server"};
  if (status == 407) return {"", "the proxy wants a login"};
  if (status >= 300 && status < 400) {
    return {"", of_s3 ? "check `endpoint` and `region`" : "check the URL", EIO};
  }
  return {"", "", EIO};
}

Remedy remedy_of(long status, const S3Error& error, bool of_s3) {
  if (of_s3 && error.code.starts_with("KMS.")) {
    return {"", "check the key of KMS that it is encrypted with, and the rights to that key"};
  }
  const auto* const known = std::ranges::find(kRemedies, error.code, &Remedy::code);
  return of_s3 && known != std::end(kRemedies) ? *known : remedy_of(status, of_s3);
}

std::string expected_by(const S3Error& error) {
  std::string text;
  if (!error.region.empty()) text += ": its region is " + error.region;
  if (!error.endpoint.empty()) text += ": its endpoint is " + error.endpoint;
  return text;
}

bool is_encoded(const HttpHead& head) {
  return !head.encoding.empty() && lower_case(head.encoding) != "identity";
}

// A page in the place of a file: of a login, or "not found".
bool is_page(const std::string& shown, const HttpHead& head) {
  const std::string extension = key_extension(shown);
  return head.status == kOk && lower_case(head.type).starts_with("text/html") &&
         extension != ".html" && extension != ".htm";
}

// What programs say, in the place of a file of another size.
bool is_words(const HttpHead& head) {
  static constexpr std::string_view kTypes[] = {"application/json", "application/problem+json",
                                                "application/xml", "text/xml"};
  return head.status == kOk && std::ranges::any_of(kTypes, [&](std::string_view type) {
           return lower_case(head.type).starts_with(type);
         });
}

[[noreturn]] void throw_page(const std::string& shown, const HttpHead& head) {
  fail(shown, fmt::format("the server answered 200 with a page ({}) instead of the file: look at "
                          "the URL in a browser; it may want a login, or say that there is no such "
                          "file",
                          head.type));
}

[[noreturn]] void throw_encoded(const std::string& shown, const HttpHead& head) {
  fail(shown, fmt::format("the server sent it encoded (Content-Encoding: {}), though the request "
                          "says Accept-Encoding: identity: switch that off for these files",
                          head.encoding));
}

[[noreturn]] void throw_changed(const std::string& shown) {
  fail(shown,
       "it changed while it was read (another ETag or size than before); leave the objects of a "
       "run as they are, and start it again",
       ESTALE);
}

[[noreturn]] void throw_other_size(const std::string& shown, const HttpHead& head, uint64_t bytes,
                                   const ObjectVersion& version, const ObjectPlace& place) {
  if (is_encoded(head)) throw_encoded(shown, head);
  if (is_page(shown, head) || is_words(head)) throw_page(shown, head);
  if (!version.listed) throw_changed(shown);
  fail(shown,
       fmt::format("the {} says {} bytes, and the server has {}: {}",
                   place.index.empty() ? "listing" : "index '" + place.index + "'", version.bytes,
                   bytes,
                   place.index.empty() ? "it changed since it was listed; start again"
                                       : "make the index anew"),
       ESTALE);
}

[[noreturn]] void throw_wrong_range(const std::string& shown, const HttpHead& head) {
  fail(shown, fmt::format("the server sent {} than was asked for; it must know range requests",
                          head.status == kOk ? "more" : "another range"));
}

[[noreturn]] void throw_no_range(const std::string& shown) {
  fail(shown, "the server does not say which bytes of how many it sent (Content-Range)");
}

// Names of files that are compressed themselves: some servers call that their encoding.
bool is_compressed(const std::string& shown) {
  static constexpr std::string_view kNames[] = {".gz", ".tgz", ".z",   ".br",  ".zst",
                                                ".xz", ".bz2", ".lz4", ".svgz"};
  return std::ranges::find(kNames, key_extension(shown)) != std::end(kNames);
}

}  // namespace

void throw_answer(const std::string& shown, const HttpAnswer& answer, const ObjectPlace& place) {
  const long status = answer.head.status;
  const S3Error error = parse_s3_error(answer.text);
  if (place.of_s3 && error.code == "NoSuchBucket") {
    fail(shown, "there is no such bucket; make it, or mend `bucket`", ENOENT);
  }
  if (status == 404 || status == 410) fail(shown, "No such file or directory", ENOENT);
  const Remedy remedy = remedy_of(status, error, place.of_s3);
  const std::string reason =
      error.code.empty() ? "" : fmt::format(" ({}: {})", error.code, error.message);
  const std::string advice = *remedy.text == '\0' ? "" : std::string("; ") + remedy.text;
  fail(shown,
       fmt::format("the server answered {}{}{}{}", status, reason, advice, expected_by(error)),
       remedy.errno_value);
}

void check_answer(const std::string& shown, const HttpAnswer& answer, const ObjectVersion& version,
                  const ObjectPlace& place) {
  const HttpHead& head = answer.head;
  if (head.status == kOk || head.status == 206) return;
  if (head.status == 416 && head.range && head.range->total != version.bytes) {
    throw_other_size(shown, head, head.range->total, version, place);
  }
  if (head.status == 412 || head.status == 416) throw_changed(shown);
  throw_answer(shown, answer, place);
}

void check_part(const std::string& shown, const HttpHead& head, const ObjectVersion& version,
                uint64_t offset, uint64_t length, const ObjectPlace& place) {
  const bool other = !version.etag.empty() && !head.etag.empty() && version.etag != head.etag;
  if (other) throw_changed(shown);
  if (head.status == kOk) {
    if (!head.length && is_encoded(head)) throw_encoded(shown, head);
    if (head.length && *head.length != version.bytes) {
      throw_other_size(shown, head, *head.length, version, place);
    }
    if (offset != 0 || length != version.bytes) throw_wrong_range(shown, head);
  } else {
    if (!head.range) throw_no_range(shown);
    if (head.range->total != version.bytes) {
      throw_other_size(shown, head, head.range->total, version, place);
    }
    if (head.range->offset != offset || head.range->length != length) {
      throw_wrong_range(shown, head);
    }
  }
}

uint64_t size_said(const std::string& shown, const HttpHead& head, const ObjectPlace& place,
                   bool ranged) {
  const bool raw = place.of_s3 || is_compressed(shown);
  if (is_encoded(head) && !raw) throw_encoded(shown, head);
  if (head.status != kOk) {
    if (!head.range) throw_no_range(shown);
    return head.range->total;
  }
  if (ranged && is_page(shown, head)) throw_page(shown, head);
  if (head.length) return *head.length;
  fail(shown,
       "the server does not say how long it is (Content-Length): name its size in an index, or let "
       "the server send it as a plain file");
}

}  // namespace stoker
