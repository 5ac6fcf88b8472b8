#include <string.h>  // strverscmp

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/tools/darshan/darshan.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/profile_json.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

void add_logs(const fs::path& directory, std::vector<std::string>& logs) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("io_profile") && name.ends_with(".darshan")) logs.push_back(entry.path());
  }
}

constexpr size_t kInFull = 40;

void keep_sums(nlohmann::json& profile) {
  nlohmann::json sums = nlohmann::json::object();
  for (const char* part : {"job", "posix", "stdio", "read", "write"}) sums[part] = profile[part];
  profile = std::move(sums);
}

}  // namespace

std::vector<std::string> profile_logs(const std::string& directory) {
  std::vector<std::string> logs;
  add_logs(directory, logs);
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
    if (entry.path().filename().string().starts_with("rank-")) add_logs(entry.path(), logs);
  }
  // io_profile-5, io_profile-5-2, io_profile-10.
  const auto name = [](const std::string& log) { return fs::path(log).replace_extension(); };
  std::ranges::sort(logs, [&](const std::string& a, const std::string& b) {
    return ::strverscmp(name(a).c_str(), name(b).c_str()) < 0;
  });
  return logs;
}

nlohmann::json profile_log_data(const std::string& path, const std::string& called) {
  constexpr ProfileViewLimits kOfAPage{.files = 30, .directories = 10};
  return {{"file", to_text(called)},
          {"profile", profile_json(read_darshan_log(path).profile, kOfAPage)}};
}

nlohmann::json profile_page_data(const std::string& directory) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& path : profile_logs(directory)) {
    const std::string called = fs::path(path).lexically_relative(directory);
    try {
      list.push_back(profile_log_data(path, called));
      if (list.size() > kInFull) keep_sums(list.back()["profile"]);
    } catch (const Error& error) {
      list.push_back({{"file", to_text(called)}, {"error", error.what()}});
    }
  }
  return list;
}

}  // namespace stoker
