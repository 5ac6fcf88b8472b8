#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/text/text.h"
#include "io/storage/object/aws_signature.h"
#include "io/storage/object/object_reads.h"
#include "io/storage/object/s3_bucket.h"
#include "io/storage/storage.h"
#include "io/storage/tail/hedged_reads.h"

namespace stoker {
namespace {

struct S3Options {
  std::string endpoint;
  std::string bucket;
  std::string prefix;
  std::string region = "us-east-1";
  std::optional<Path> credentials;
  std::string profile = "default";
  bool anonymous = false;
  TransferOptions transfers;
  template <class V>
  void visit(V& v) {
    v.required("endpoint", endpoint,
               "The URL of the service, such as https://s3.eu-west-1.amazonaws.com.");
    v.required("bucket", bucket, "The name of the bucket, which has to exist.");
    v("prefix", prefix, "The tier's objects are those whose keys begin with this text and a '/'.");
    v("region", region, "The service's region, which is part of the signature.");
    v("credentials", credentials,
      same_results(
          "A file of AWS's format that has the credentials. Without it, they are taken from "
          "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN."));
    v("profile", profile, same_results("The part of that file that is used."));
    v("anonymous", anonymous, same_results("Do not sign requests, as for a public bucket."));
    transfers.visit(v);
  }
  void check(const Section& section) const {
    constexpr const char* kLegal =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    check_url(section, "endpoint", endpoint);
    if (bucket.empty() || bucket.find_first_not_of(kLegal) != bucket.npos) {
      section.fail("bucket", "must be the name of a bucket: letters, digits, '.', '-' and '_'");
    }
    if (anonymous && credentials) {
      section.fail("anonymous", "excludes `credentials`: leave one of the two out");
    }
    transfers.check(section);
  }
};

std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

std::string folder(std::string prefix) {
  prefix = without_slash(from_text(prefix));
  return prefix.empty() ? "" : prefix + "/";
}

std::optional<AwsCredentials> credentials_of(const S3Options& options) {
  if (options.anonymous) return std::nullopt;
  if (!options.credentials) return aws_credentials_from_environment();
  return aws_credentials_from_file(options.credentials->value, options.profile);
}

// Objects of a bucket of S3, or of a service that speaks as it does.
class S3Storage final : public Storage {
 public:
  using Options = S3Options;
  S3Storage(const Options& options, const Inputs& inputs)
      : part_(options.transfers.part.bytes),
        inputs_(inputs),
        bucket_(without_slash(options.endpoint) + "/" + options.bucket, folder(options.prefix),
                options.transfers.transport(inputs), options.transfers.reads(),
                credentials_of(options), options.region),
        hedged_(hedged_reads(options.transfers.tail, inputs.meter,
                             [this](const std::string& key, Buffer& out, Range range) {
                               bucket_.reads().read(key, out, range);
                             })) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    S3Bucket::Objects objects = bucket_.list(prefix);
    if (!objects.no_keys.empty()) std::call_once(told_, [&] { remark_no_keys(objects.no_keys); });
    return std::move(objects.found);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    if (!hedged_) return bucket_.reads().read(key, out, range);
    hedged_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    check_key(key);
    return make_s3_writer(bucket_, key, part_);
  }
  void remove(const std::string& key) override { bucket_.remove(key); }
  void expect(std::span<const ObjectRange> reads) const override { bucket_.reads().expect(reads); }

 private:
  void remark_no_keys(const std::vector<std::string>& keys) const {
    inputs_.remark(
        fmt::format("{} objects are passed over, for their keys are no paths inside the "
                    "tier: {}; rename them",
                    keys.size(), some_of(keys)));
  }

  const uint64_t part_;
  const Inputs inputs_;
  mutable std::once_flag told_;
  mutable S3Bucket bucket_;
  const std::unique_ptr<HedgedReads> hedged_;  // null: no read is sent twice
};

STOKER_REGISTER(Storage, "s3", S3Storage);

}  // namespace
}  // namespace stoker
