#include "io/dataset/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>
#include <utility>
#include <vector>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/neighbours.h"
#include "io/http/transport.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kProgressPause{50};
constexpr size_t kMostOfTag = 4096;
constexpr long kOk = 200;
constexpr long kPartialContent = 206;
constexpr long kRangeNotSatisfiable = 416;

// The part that was downloaded, and which version of the file it belongs to. Locked: a second
// process would write into the same bytes.
class Part {
 public:
  explicit Part(const std::string& file) : path_(file + ".part"), tag_path_(path_ + ".tag") {
    make_directories(std::filesystem::path(file).parent_path().string());
    file_ = open_file("write", path_, O_RDWR | O_CREAT | O_APPEND);
    const int taken = lock_file(file_, FileLock::exclusive);
    if (taken != 0 && !has_no_locks(taken)) {
      throw Error(ExitCode::environment, "download " + path_ +
                                             ": another process downloads it already; wait for "
                                             "it, or stop it");
    }
    tag_ = read_if_there(tag_path_, kMostOfTag).value_or("");
    tag_.resize(std::min(tag_.find('\n'), tag_.size()));
    if (tag_.empty()) restart("");
  }

  const std::string& tag() const { return tag_; }
  uint64_t size() const {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw_errno("read", path_, errno);
    return static_cast<uint64_t>(status.st_size);
  }
  void append(Bytes bytes) { write_all(file_, bytes, path_); }
  // Empty, and of the version `tag`.
  void restart(const std::string& tag) {
    if (::ftruncate(file_.get(), 0) != 0) throw_errno("write", path_, errno);
    tag_ = tag;
    const std::string line = tag + "\n";
    atomic_write_file(tag_path_, {reinterpret_cast<const uint8_t*>(line.data()), line.size()});
  }
  std::string md5(const DownloadOptions& options) const {
    Digest sum(Digest::Kind::md5);
    std::vector<uint8_t> block(size_t{1} << 20);
    const uint64_t total = size();
    for (uint64_t done = 0; done < total;) {
      const ssize_t count =
          ::pread(file_.get(), block.data(), block.size(), static_cast<off_t>(done));
      if (count <= 0) throw_errno("read", path_, count < 0 ? errno : EIO);
      sum.update({block.data(), static_cast<size_t>(count)});
      done += static_cast<uint64_t>(count);
      if (options.progress) options.progress("verify", done, total);
    }
    return sum.finish();
  }
  void finish(const std::string& file) {
    if (::fsync(file_.get()) != 0) throw_errno("sync", path_, errno);
    if (::rename(path_.c_str(), file.c_str()) != 0) throw_errno("write", file, errno);
    ::unlink(tag_path_.c_str());
  }

 private:
  std::string path_;
  std::string tag_path_;
  std::string tag_;
  FileDescriptor file_;
};

// The way of the server's bytes into the part. report() is called by the thread that waits, all
// else by the transport's.
class Receiver {
 public:
  explicit Receiver(Part& part) : part_(part) {}

  // Asks for what the part lacks, where it is known of which version it is.
  std::vector<std::string> headers() const {
    if (part_.tag().empty() || part_.size() == 0) return {};
    return {fmt::format("Range: bytes={}-", part_.size()), "If-Range: " + part_.tag()};
  }
  // As HttpRequest::stream.
  void take(const HttpHead& head, Bytes bytes) {
    if (bytes.empty()) return begin(head);
    part_.append(bytes);
    done_ += bytes.size();
  }
  void report(const Progress& progress) const {
    if (begun_ && progress) progress("download", done_, total_);
  }

 private:
  // 206: the rest of what we have. 200: the file from its beginning.
  void begin(const HttpHead& head) {
    // A weak ETag ("W/...") does not promise equal bytes.
    const bool strong = head.etag.starts_with('"');
    if (head.status != kPartialContent) part_.restart(strong ? head.etag : head.modified);
    done_ = part_.size();
    total_ = head.length ? done_ + *head.length : 0;
    begun_ = true;
  }

  Part& part_;
  std::atomic<bool> begun_ = false;
  std::atomic<uint64_t> done_ = 0;
  std::atomic<uint64_t> total_ = 0;
};

HttpTransport::Inputs inputs_for(const DownloadOptions& options, const Receiver& receiver) {
  HttpTransport::Inputs inputs{.in_flight = 1};
  inputs.limits = {.timeout_ms = 0, .redirects = true};
  inputs.retry.retries = options.attempts - 1;
  inputs.retry.base_ms = static_cast<int64_t>(options.retry_s * 1000);
  inputs.headers = [&receiver](const HttpRequest&) { return receiver.headers(); };
  return inputs;
}

// All attempts at what the part lacks.
HttpAnswer receive(const std::string& url, Part& part, const DownloadOptions& options) {
  Receiver receiver(part);
  const auto transport = new_http_transport(inputs_for(options, receiver));
  HttpRequest request{.url = url, .shown = "download " + url};
  request.stream = [&](const HttpHead& head, Bytes bytes) { receiver.take(head, bytes); };
  std::future<HttpAnswer> answer = transport->start(std::move(request));
  while (answer.wait_for(kProgressPause) != std::future_status::ready) {
    receiver.report(options.progress);
  }
  receiver.report(options.progress);
  return answer.get();
}

void check(const std::string& url, const HttpAnswer& answer) {
  if (answer.by_receiver) throw IoError(answer.failure, answer.errno_value);
  if (!answer.failure.empty()) throw Error(ExitCode::environment, answer.failure);
  if (answer.head.status == kOk || answer.head.status == kPartialContent) return;
  throw Error(ExitCode::environment,
              fmt::format("download {}: the server answered {}", url, answer.head.status));
}

void verify(Part& part, const std::string& url, const DownloadOptions& options) {
  if (options.md5.empty()) return;
  const std::string sum = part.md5(options);
  if (sum == options.md5) return;
  const uint64_t size = part.size();
  part.restart("");
  throw Error(ExitCode::environment,
              fmt::format("download {}: wrong checksum: MD5 {} expected, {} received in {} bytes, "
                          "which were dropped; try again",
                          url, options.md5, sum, size));
}

}  // namespace

void download(const std::string& url, const std::string& file, const DownloadOptions& options) {
  Part part(file);
  // A call that was interrupted while it verified left nothing to download.
  if (part.size() > 0 && !options.md5.empty() && part.md5(options) == options.md5) {
    return part.finish(file);
  }
  HttpAnswer answer = receive(url, part, options);
  if (answer.head.status == kRangeNotSatisfiable && part.size() > 0) {
    part.restart("");  // what was here is no part of that file
    answer = receive(url, part, options);
  }
  check(url, answer);
  verify(part, url, options);
  part.finish(file);
}

}  // namespace stoker
