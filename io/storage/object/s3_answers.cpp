#include "io/storage/object/s3_answers.h"

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/storage/object/xml_reader.h"

namespace stoker {
namespace {

using Event = XmlReader::Event;
constexpr size_t kLongestMessage = 200;

[[noreturn]] void bad_answer(const std::string& what) {
  throw Error(ExitCode::data, "an answer of S3 " + what);
}

void set_field(S3Listing::Object& object, std::string_view field, const std::string& text) {
  if (field == "Key") object.key = text;
  if (field == "ETag") object.etag = text;
  if (field == "Size" && !parse_number(text, object.bytes))
    bad_answer("has a size that is not valid");
}

}  // namespace

S3Error parse_s3_error(std::string_view xml) {
  S3Error error;
  try {
    XmlReader reader(xml);
    for (Event event; (event = reader.next()) != Event::finished;) {
      if (event != Event::end) continue;
      if (reader.path() == "Error/Code") error.code = reader.text();
      if (reader.path() == "Error/Message")
        error.message = reader.text().substr(0, kLongestMessage);
    }
  } catch (const Error&) {
    return {};  // a page of a proxy, or cut
  }
  return error;
}

S3Listing parse_s3_listing(std::string_view xml) {
  constexpr std::string_view kObject = "ListBucketResult/Contents/";
  S3Listing listing;
  std::string truncated;
  XmlReader reader(xml);
  for (Event event; (event = reader.next()) != Event::finished;) {
    const std::string_view path = reader.path();
    if (event == Event::begin) {
      if (path == "ListBucketResult/Contents") listing.objects.emplace_back();
      if (!path.starts_with("ListBucketResult")) bad_answer("is no listing");
    } else if (path.starts_with(kObject)) {
      set_field(listing.objects.back(), path.substr(kObject.size()), reader.text());
    } else if (path == "ListBucketResult/IsTruncated") {
      truncated = reader.text();
    } else if (path == "ListBucketResult/NextContinuationToken") {
      listing.next = reader.text();
    }
  }
  if (truncated == "true" && listing.next.empty())
    bad_answer("says that more follows, but not how");
  if (truncated != "true") listing.next.clear();
  for (const S3Listing::Object& object : listing.objects) {
    if (object.key.empty()) bad_answer("has an object without a key");
  }
  return listing;
}

std::string parse_s3_upload_id(std::string_view xml) {
  std::string id;
  XmlReader reader(xml);
  for (Event event; (event = reader.next()) != Event::finished;) {
    if (event == Event::end && reader.path() == "InitiateMultipartUploadResult/UploadId") {
      id = reader.text();
    }
  }
  if (id.empty()) bad_answer("has no UploadId");
  return id;
}

}  // namespace stoker
