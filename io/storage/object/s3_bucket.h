#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/http/transport.h"
#include "io/storage/object/aws_signature.h"
#include "io/storage/object/object_reads.h"

namespace stoker {

// What the tier s3 and the writers of its objects share: the bucket's requests, signed. Any thread.
class S3Bucket {
 public:
  // Without credentials nothing is signed.
  S3Bucket(const std::string& bucket_url, std::string prefix, HttpTransport::Inputs transport,
           ObjectReads::Settings reads, const std::optional<AwsCredentials>& credentials,
           const std::string& region);

  // A request about one object; query: "uploads=", or empty.
  HttpRequest request(const std::string& method, const std::string& operation,
                      const std::string& key, const std::string& query = {}) const;
  // Sets the body, and its hash, by which the server refuses it where it was damaged under way.
  static void set_body(HttpRequest& request, std::string body);
  const ObjectPlace& place() const { return place_; }
  HttpTransport& transport() { return *transport_; }
  ObjectReads& reads() { return reads_; }

  // A bucket may have keys that are no paths ("a//b", "/a"): no tier can read them.
  struct Objects {
    std::vector<ObjectInfo> found;
    std::vector<std::string> no_keys;
  };
  Objects list(const std::string& prefix);
  // It need not be there.
  void remove(const std::string& key);

 private:
  void list_page(const std::string& prefix, std::string& token,
                 std::vector<KnownObjects::Seen>& seen);

  const std::string bucket_url_;
  const std::string prefix_;  // of all keys, as bytes; empty, or with a "/" at its end
  const ObjectPlace place_;
  const std::unique_ptr<const AwsSigner> signer_;  // null: anonymous
  const std::unique_ptr<HttpTransport> transport_;
  ObjectReads reads_;
};

// One object being written: one PUT where it is small, else a multipart upload whose parts leave in
// the background, a few at a time. `bucket` must outlive it.
std::unique_ptr<ObjectWriter> make_s3_writer(S3Bucket& bucket, std::string key, uint64_t part);

}  // namespace stoker
