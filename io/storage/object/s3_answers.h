#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What S3 answers in XML. Hostile input is safe: at most 8 MiB are read. Any thread.

// A refusal. A value.
struct S3Error {
  std::string code;     // "NoSuchBucket"; empty: the text is no error of S3
  std::string message;  // at most 200 bytes
  // What S3 expects instead; empty: it does not say.
  std::string region = {};
  std::string endpoint = {};
};
S3Error parse_s3_error(std::string_view xml);

// One page of ListObjectsV2. A value.
struct S3Listing {
  struct Object {
    std::string key;
    uint64_t bytes = 0;
    std::string etag;  // with its quotes
  };
  std::vector<Object> objects;
  std::string next;  // the continuation token; empty: it was the last page
};
// Error(ExitCode::data) where it is no such page.
S3Listing parse_s3_listing(std::string_view xml);

// The upload id of a multipart upload that was begun. Error(ExitCode::data).
std::string parse_s3_upload_id(std::string_view xml);

}  // namespace stoker
