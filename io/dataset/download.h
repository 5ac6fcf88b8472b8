#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace stoker {

// Called with what is being done, how far it is and how much there is (0: not known), by the
// calling thread. May throw to stop.
using Progress = std::function<void(const char* stage, uint64_t done, uint64_t total)>;

// How a download is checked and tried again. A value.
struct DownloadOptions {
  // In hex; empty: not checked.
  std::string md5;
  // How many attempts this call makes, the first one included. A later call makes as many again.
  int64_t attempts = 5;
  // The longest wait before the second attempt; it doubles with every attempt (RetryPolicy).
  double retry_s = 1;
  // Told of "download" and "verify", in bytes of the whole file.
  Progress progress;
};

// Downloads `url` (http, https) into `file`, whose directory is made. Blocks; one thread at a time
// for a file.
//
// The bytes so far are in "<file>.part", beside "<file>.part.tag" with the server's ETag or date.
// The next attempt, and a later call, continues there (Range with If-Range, so never with the rest
// of another version) unless the server cannot. `file` itself appears complete and with the right
// checksum, or not at all.
//
// Error(ExitCode::environment) with the cause where all attempts failed, where another attempt
// cannot help (404, an unknown host), where the checksum differs (the bytes are then dropped), or
// where another process downloads the same file, or where the plug-in stoker_http cannot be loaded.
void download(const std::string& url, const std::string& file, const DownloadOptions& options);

}  // namespace stoker
