#include "io/dataset/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "io/core/bounded_queue.h"
#include "io/core/error.h"
#include "io/dataset/unpack.h"
#include "io/storage/cached/staging.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

using SteadyClock = std::chrono::steady_clock;

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all{
      {"caltech101", "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
       "3138e1922a9193bfa496528edbbc45d0", "caltech-101.zip", "101_ObjectCategories.tar.gz",
       "STOKER_CALTECH101", 9145},
  };
  return all;
}

// Passes progress on ten times a second, or as a remark every five seconds where nobody draws it.
class Reporter {
 public:
  Reporter(const Recipe& recipe, const FetchOptions& options)
      : recipe_(recipe), options_(options), last_(SteadyClock::now()) {}

  void remark(const std::string& text) const {
    if (options_.notify) options_.notify("dataset: " + recipe_.name + ": " + text);
  }

  void operator()(const char* stage, uint64_t done, uint64_t total) {
    const auto now = SteadyClock::now();
    const bool last = done == total;
    if (options_.progress) {
      if (!last && now - last_ < std::chrono::milliseconds(100)) return;
      last_ = now;
      options_.progress(stage, done, total);
    } else if (total > 0 && now - last_ > std::chrono::seconds(5)) {
      last_ = now;
      remark(fmt::format("{} {:.0f} %", stage,
                         100.0 * static_cast<double>(done) / static_cast<double>(total)));
    }
  }

 private:
  const Recipe& recipe_;
  const FetchOptions& options_;
  SteadyClock::time_point last_;
};

// Threads that write objects: commit() waits for the disk, and a journal commits many at once.
class Writers {
 public:
  Writers(Storage& target, int64_t count)
      : target_(target), queue_(static_cast<size_t>(2 * count)) {
    for (int64_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Writers() { queue_.close(); }

  void put(UnpackedFile file) {
    if (!queue_.push(std::move(file))) finish();
  }
  // Returns when all are durable, or throws the first failure.
  void finish() {
    queue_.close();
    threads_.clear();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work() {
    try {
      while (const auto file = queue_.pop()) write_object(target_, file->path, file->bytes);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      queue_.close();
    }
  }

  Storage& target_;
  BoundedQueue<UnpackedFile> queue_;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

using Sizes = std::map<std::string, uint64_t>;

Sizes objects_in(const Storage& target, const std::string& folder) {
  Sizes sizes;
  for (ObjectInfo& object : list_if_there(target, folder)) {
    const bool foreign = in_system_folder(std::string_view(object.key).substr(folder.size()));
    if (foreign || object.key.ends_with('/')) continue;
    sizes.emplace(std::move(object.key), object.bytes);
  }
  return sizes;
}

std::string advice(const Recipe& recipe, const FetchOptions& options) {
  return fmt::format("put {} or {} into {}/, or name one with {}=/path/to/archive", recipe.inner,
                     recipe.archive, options.data_dir, recipe.variable);
}

std::string obtain_archive(const Recipe& recipe, const FetchOptions& options, Reporter& report) {
  const char* variable = std::getenv(recipe.variable.c_str());
  const bool by_variable = options.archive.empty() && variable != nullptr && *variable != '\0';
  std::string named = by_variable ? variable : options.archive;
  if (!named.empty()) {
    if (std::filesystem::is_regular_file(named)) return named;
    throw Error(ExitCode::environment,
                fmt::format("dataset: {}: {}the archive '{}' is not there", recipe.name,
                            by_variable ? recipe.variable + ": " : "", named));
  }
  for (const std::string& name : {recipe.inner, recipe.archive}) {
    std::string path = options.data_dir + "/" + name;
    if (std::filesystem::is_regular_file(path)) return path;
  }
  const std::string url = options.url.empty() ? recipe.url : options.url;
  std::string path = options.data_dir + "/" + recipe.archive;
  report.remark("downloading " + url);
  try {
    download(url, path, {recipe.md5, options.attempts, options.retry_s, std::ref(report)});
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("dataset: {}: {}; or {}", recipe.name, error.what(),
                                          advice(recipe, options)));
  }
  return path;
}

// "101_ObjectCategories/accordion/image_0001.jpg" -> "accordion/image_0001.jpg".
std::string without_top_folder(const std::string& path) {
  const size_t slash = path.find('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void unpack_into(Storage& target, const Recipe& recipe, const FetchOptions& options,
                 const Sizes& there, Reporter& report, FetchResult& result) {
  const auto total = static_cast<uint64_t>(recipe.files);
  const auto refuse = [&](const std::string& found) {
    throw Error(
        ExitCode::environment,
        fmt::format("dataset: {}: {} holds {} where the data set has {}: it is "
                    "another archive or an incomplete one; {}",
                    recipe.name, result.source, found, recipe.files, advice(recipe, options)));
  };
  // Images hardly shrink: an archive that grows more would fill the tier.
  constexpr uint64_t kMostGrowth = 4, kLeast = 4 << 20;
  const uint64_t most =
      kMostGrowth * std::max<uint64_t>(kLeast, std::filesystem::file_size(result.source));
  Writers writers(target, options.writers);
  unpack(result.source, recipe.inner, [&](UnpackedFile file) {
    if (++result.files > recipe.files) refuse("more files");
    result.bytes += file.bytes.size();
    if (result.bytes > most) {
      throw Error(ExitCode::environment,
                  fmt::format("dataset: {}: {} unpacks to more than {} bytes, which no archive of "
                              "images of its size does: it is damaged or not that data set; {}",
                              recipe.name, result.source, most, advice(recipe, options)));
    }
    file.path = options.folder + without_top_folder(file.path);
    const auto old = there.find(file.path);
    if (old == there.end() || old->second != file.bytes.size()) writers.put(std::move(file));
    report("unpack", static_cast<uint64_t>(result.files), total);
  });
  writers.finish();
  if (result.files != recipe.files) refuse(fmt::format("{} files", result.files));
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  return names;
}

const Recipe& find_recipe(const std::string& name) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return recipe;
  }
  throw Error(ExitCode::config,
              "unknown data set '" + name + "'" + suggestion(name, recipe_names()));
}

FetchResult fetch(const Recipe& recipe, Storage& target, const FetchOptions& options) {
  const std::string marker = options.folder + kFetchMarker;
  const Sizes there = objects_in(target, options.folder);
  FetchResult result;
  result.was_there = !there.empty() && there.count(marker) == 0;
  if (result.was_there) return result;
  Reporter report(recipe, options);
  result.source = obtain_archive(recipe, options, report);
  report.remark("unpacking " + result.source);
  write_object(target, marker, {});
  unpack_into(target, recipe, options, there, report, result);
  target.remove(marker);
  return result;
}

}  // namespace stoker
