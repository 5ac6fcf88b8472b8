#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <future>
#include <utility>

#include "io/core/error.h"
#include "io/storage/object/object_errors.h"
#include "io/storage/object/s3_answers.h"
#include "io/storage/object/s3_bucket.h"

namespace stoker {
namespace {

constexpr size_t kPartsUnderWay = 4;
constexpr size_t kMostParts = 10'000;
// After this many parts, the size of parts doubles: 10,000 of 8 MiB alone would end at 80 GB.
constexpr size_t kPartsOfOneSize = 2'000;

std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

class S3Writer final : public ObjectWriter {
 public:
  S3Writer(S3Bucket& bucket, std::string key, uint64_t part)
      : bucket_(bucket), key_(std::move(key)), part_(part) {}

  ~S3Writer() override {
    if (upload_.empty() || committed_) return;
    try {
      for (auto& [number, answer] : under_way_) answer.wait();
      bucket_.transport().perform(
          bucket_.request("DELETE", "write", key_, "uploadId=" + percent_encoded(upload_)));
    } catch (const std::exception&) {
      // The bucket's rule for uploads that were not completed has to remove it.
    }
  }

  void append(Bytes bytes) override {
    while (!bytes.empty()) {
      if (buffer_.size() == part_) {
        send_part();
        buffer_.reserve(part_);
      }
      const size_t count = std::min<size_t>(bytes.size(), part_ - buffer_.size());
      buffer_.append(reinterpret_cast<const char*>(bytes.data()), count);
      bytes = bytes.subspan(count);
    }
  }

  void commit() override {
    const ObjectReads::Change change(bucket_.reads(), key_);
    if (upload_.empty()) {
      HttpRequest request = bucket_.request("PUT", "write", key_);
      S3Bucket::set_body(request, std::move(buffer_));
      perform(std::move(request));
    } else {
      send_part();
      while (!under_way_.empty()) finish_part();
      complete();
    }
    committed_ = true;
  }

 private:
  HttpAnswer perform(HttpRequest request) {
    const std::string shown = request.shown;
    HttpAnswer answer = bucket_.transport().perform(std::move(request));
    if (answer.head.status != 200) throw_answer(shown, answer, bucket_.place());
    return answer;
  }

  void begin() {
    HttpRequest request = bucket_.request("POST", "write", key_, "uploads=");
    S3Bucket::set_body(request, "");
    const std::string shown = request.shown;
    const HttpAnswer answer = perform(std::move(request));
    try {
      upload_ = parse_s3_upload_id(answer.text);
    } catch (const Error& error) {
      throw IoError(shown + ": " + error.what(), EIO);
    }
  }

  void send_part() {
    if (upload_.empty()) begin();
    if (under_way_.size() >= kPartsUnderWay) finish_part();
    const size_t number = ++parts_;
    if (number > kMostParts) {
      throw IoError(bucket_.request("PUT", "write", key_).shown +
                        ": an object has at most 10,000 parts; choose a larger `part`",
                    EFBIG);
    }
    HttpRequest request =
        bucket_.request("PUT", "write", key_,
                        fmt::format("partNumber={}&uploadId={}", number, percent_encoded(upload_)));
    S3Bucket::set_body(request, std::exchange(buffer_, {}));
    under_way_.emplace_back(number, bucket_.transport().start(std::move(request)));
    if (number % kPartsOfOneSize == 0) part_ *= 2;
  }

  // Waits for the oldest part.
  void finish_part() {
    auto [number, future] = std::move(under_way_.front());
    under_way_.pop_front();
    const HttpAnswer answer = HttpTransport::get(std::move(future));
    const std::string shown = bucket_.request("PUT", "write", key_).shown;
    if (answer.head.status != 200) throw_answer(shown, answer, bucket_.place());
    if (answer.head.etag.empty()) throw IoError(shown + ": a part was answered without ETag", EIO);
    list_ += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number,
                         xml_text(answer.head.etag));
  }

  void complete() {
    HttpRequest request =
        bucket_.request("POST", "write", key_, "uploadId=" + percent_encoded(upload_));
    S3Bucket::set_body(request, "<CompleteMultipartUpload>" + list_ + "</CompleteMultipartUpload>");
    request.patience = 10;  // S3 may take minutes for a large one
    const std::string shown = request.shown;
    const HttpAnswer answer = perform(std::move(request));
    // It may answer 200 before it knows.
    const S3Error error = parse_s3_error(answer.text);
    if (!error.code.empty()) {
      throw IoError(fmt::format("{}: the upload was not completed ({}: {}); write it again", shown,
                                error.code, error.message),
                    EIO);
    }
  }

  S3Bucket& bucket_;
  const std::string key_;
  uint64_t part_;
  std::string buffer_;
  std::string upload_;  // its id; empty: no upload was begun
  size_t parts_ = 0;
  std::deque<std::pair<size_t, std::future<HttpAnswer>>> under_way_;
  std::string list_;
  bool committed_ = false;
};

}  // namespace

std::unique_ptr<ObjectWriter> make_s3_writer(S3Bucket& bucket, std::string key, uint64_t part) {
  constexpr uint64_t kSmallest = 5 << 20;  // S3's own limit, but for the last part
  return std::make_unique<S3Writer>(bucket, std::move(key), std::max(part, kSmallest));
}

}  // namespace stoker
