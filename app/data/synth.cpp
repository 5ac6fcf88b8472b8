#include "app/data/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "app/base/progress_line.h"
#include "io/core/error.h"
#include "io/core/file.h"
#include "io/core/random.h"
#include "io/core/usable_cores.h"

namespace stoker {
namespace {

// The files that are still to be written, shared by the threads that write them.
class SynthWork {
 public:
  explicit SynthWork(const SynthOptions& options) : options_(options) {}

  void run() {
    try {
      for (int64_t i; (i = next_++) < options_.files;) write(i);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop();
    }
  }
  void stop() { next_ = options_.files; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  SynthResult result() const { return {files_, bytes_}; }
  bool over() const { return next_ >= options_.files; }

 private:
  void write(int64_t index) {
    const int64_t label = index % options_.classes;
    const std::vector<uint8_t> jpeg = synthetic_jpeg(
        options_.image, options_.classes, label, mix(options_.seed, static_cast<uint64_t>(index)));
    atomic_write_file(
        fmt::format("{}/{}/{:06}.jpg", options_.directory, synthetic_class_name(label), index),
        jpeg);
    bytes_ += jpeg.size();
    ++files_;
  }

  const SynthOptions& options_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<int64_t> files_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

SynthResult synth_dataset(const SynthOptions& options,
                          const std::function<void(int64_t, int64_t)>& progress) {
  namespace fs = std::filesystem;
  if (fs::exists(options.directory) && !fs::is_empty(options.directory)) {
    throw Error(ExitCode::environment,
                "dataset synth: " + options.directory + " is not empty; name a new directory");
  }
  SynthWork work(options);
  const int64_t count = options.threads > 0 ? options.threads : usable_cores();
  std::vector<std::jthread> threads;
  for (int64_t i = 0; i < count; ++i) {
    threads.emplace_back([&] { work.run(); });
  }
  try {
    while (progress && !work.over()) {
      progress(work.result().files, options.files);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  } catch (...) {
    work.stop();
    throw;
  }
  threads.clear();
  work.rethrow();
  if (progress) progress(options.files, options.files);
  return work.result();
}

ExitCode synth(const SynthOptions& options) {
  const SynthResult result = synth_dataset(options, [](int64_t done, int64_t total) {
    show_progress("files", static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  });
  if (options.json) {
    const nlohmann::json json = {
        {"directory", options.directory}, {"files", result.files}, {"bytes", result.bytes}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}: {} files, {} bytes\n", options.directory, result.files, result.bytes);
  }
  return ExitCode::ok;
}

}  // namespace stoker
