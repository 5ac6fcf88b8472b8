#include "io/dataset/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/system/file_lock.h"

namespace stoker {
namespace {

constexpr long kPartialContent = 206;
constexpr long kRangeNotSatisfiable = 416;

struct Failure {
  std::string cause;
  bool final = false;  // it cannot help to try again
};

void global_init() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("curl_global_init failed");
}

bool worth_another_try(CURLcode code, long status) {
  switch (code) {
    case CURLE_HTTP_RETURNED_ERROR:
      return status >= 500 || status == 408 || status == 429 || status == kRangeNotSatisfiable;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_TOO_MANY_REDIRECTS:
      return false;
    default:
      return true;
  }
}

// The part that was downloaded, and which version of the file it belongs to. Locked: a second
// process would write into the same bytes.
class Part {
 public:
  explicit Part(const std::string& file) : path_(file + ".part"), tag_path_(path_ + ".tag") {
    make_directories(std::filesystem::path(file).parent_path().string());
    file_ = open_file("write", path_, O_RDWR | O_CREAT | O_APPEND);
    if (lock_file(file_, FileLock::exclusive) != 0) {
      throw Error(ExitCode::environment, "download " + path_ +
                                             ": another process downloads it already; wait for "
                                             "it, or stop it");
    }
    std::getline(std::ifstream(tag_path_), tag_);
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

// One request. libcurl's callbacks must not throw: what they catch is kept and rethrown.
class Request {
 public:
  Request(const std::string& url, Part& part, const DownloadOptions& options)
      : part_(part),
        options_(options),
        handle_(curl_easy_init()),
        offset_(part.tag().empty() ? 0 : part.size()) {
    CURL* curl = handle_.get();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "stoker");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 100L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);
    set_callbacks(curl);
    if (offset_ > 0) {
      curl_easy_setopt(curl, CURLOPT_RANGE, fmt::format("{}-", offset_).c_str());
      headers_.reset(curl_slist_append(nullptr, ("If-Range: " + part.tag()).c_str()));
      curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers_.get());
    }
  }

  // Empty cause: the part is complete.
  Failure run() {
    const CURLcode code = curl_easy_perform(handle_.get());
    if (caught_) std::rethrow_exception(caught_);
    if (code == CURLE_OK) {
      if (!begun_) begin();  // an empty body
      return {};
    }
    const long code_http = status();
    if (code_http == kRangeNotSatisfiable) part_.restart("");
    const std::string cause = code == CURLE_HTTP_RETURNED_ERROR
                                  ? fmt::format("the server answered {}", code_http)
                              : error_[0] != '\0' ? error_
                                                  : curl_easy_strerror(code);
    return {cause, !worth_another_try(code, code_http)};
  }

 private:
  void set_callbacks(CURL* curl) {
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Request::body);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Request::progress);
  }

  static size_t body(char* data, size_t, size_t size, void* self) {
    auto& request = *static_cast<Request*>(self);
    const Bytes bytes{reinterpret_cast<const uint8_t*>(data), size};
    return request.guarded([&] { request.on_body(bytes); }) ? size : 0;
  }
  static int progress(void* self, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
    auto& request = *static_cast<Request*>(self);
    const bool go_on = request.guarded(
        [&] { request.on_progress(static_cast<uint64_t>(done), static_cast<uint64_t>(total)); });
    return go_on ? 0 : 1;
  }

  template <class F>
  bool guarded(F&& f) {
    try {
      f();
      return true;
    } catch (...) {
      caught_ = std::current_exception();
      return false;
    }
  }

  long status() const {
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  // Of the last answer, behind all redirects; empty: none.
  std::string header(const char* name) const {
    curl_header* found = nullptr;
    const CURLHcode code = curl_easy_header(handle_.get(), name, 0, CURLH_HEADER, -1, &found);
    return code == CURLHE_OK ? found->value : "";
  }

  // 206: the rest of what we have. Anything else: the file from its beginning.
  void begin() {
    begun_ = true;
    if (status() == kPartialContent) return;
    offset_ = 0;
    // A weak ETag ("W/...") does not promise equal bytes.
    const std::string etag = header("ETag");
    part_.restart(etag.starts_with('"') ? etag : header("Last-Modified"));
  }

  void on_body(Bytes bytes) {
    if (!begun_) begin();
    part_.append(bytes);
  }

  void on_progress(uint64_t done, uint64_t total) const {
    if (begun_ && options_.progress) {
      options_.progress("download", offset_ + done, total == 0 ? 0 : offset_ + total);
    }
  }

  Part& part_;
  const DownloadOptions& options_;
  std::unique_ptr<CURL, decltype([](CURL* curl) { curl_easy_cleanup(curl); })> handle_;
  std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>
      headers_;
  uint64_t offset_;
  bool begun_ = false;
  char error_[CURL_ERROR_SIZE] = {};
  std::exception_ptr caught_;
};

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
  global_init();
  Part part(file);
  // A call that was interrupted while it verified left nothing to download.
  if (part.size() > 0 && !options.md5.empty() && part.md5(options) == options.md5) {
    return part.finish(file);
  }
  double wait_s = options.retry_s;
  for (int64_t attempt = 1;; ++attempt) {
    const Failure failure = Request(url, part, options).run();
    if (failure.cause.empty()) break;
    if (failure.final || attempt >= options.attempts) {
      throw Error(ExitCode::environment,
                  fmt::format("download {}: {}{}", url, failure.cause,
                              attempt > 1 ? fmt::format(" (after {} attempts)", attempt) : ""));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    wait_s *= 2;
  }
  verify(part, url, options);
  part.finish(file);
}

}  // namespace stoker
