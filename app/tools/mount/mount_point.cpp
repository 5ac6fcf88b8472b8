#include "app/tools/mount/mount_point.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "io/core/error.h"
#include "io/core/system/child_process.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/storage/tiers.h"

namespace stoker {
namespace {

constexpr const char* kOurs = kMountedTierType;

// \040 is a space.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 3)).c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

[[noreturn]] void refuse(const std::string& directory, const std::string& why) {
  throw Error(ExitCode::environment,
              fmt::format("cannot mount on {}: {}", readable(directory), why));
}

// umount -l: also where files are open. Others than root ask fusermount3.
bool unmount_dead(const std::string& directory) {
  if (::umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return true;
  try {
    return ChildProcess({"fusermount3", {"-u", "-z", "--", directory}, environment_with({})})
               .wait() == 0;
  } catch (const IoError&) {  // it is not installed
    return false;
  }
}

// Nobody serves it any more. Its attributes the kernel may still know.
bool is_dead(const std::string& directory) {
  struct statvfs status {};
  return ::statvfs(directory.c_str(), &status) != 0 && errno == ENOTCONN;
}

std::string absolute_path(const std::string& directory) {
  // What is mounted on it may not answer, so it is only looked at from above.
  std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  const std::filesystem::path above = std::filesystem::canonical(path.parent_path(), error);
  return error ? path.string() : (above / path.filename()).string();
}

std::string mountinfo() { return read_if_there("/proc/self/mountinfo").value_or(""); }

}  // namespace

std::optional<std::string> mounted_on(const std::string& directory, const std::string& mountinfo) {
  std::optional<std::string> type;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, where;
    for (int i = 0; i < 5; ++i) words >> where;
    if (unescaped(where) != directory) continue;
    while (words >> word && word != "-") {
    }
    // The last one lies above the others.
    if (words >> word) type = word;
  }
  return type;
}

std::string prepare_mount_point(const std::string& directory, const Notify& notify) {
  std::string path = absolute_path(directory);
  for (auto type = mounted_on(path, mountinfo()); type; type = mounted_on(path, mountinfo())) {
    if (*type != kOurs) {
      refuse(path, fmt::format("a file system of type {} is mounted there; name another directory",
                               *type));
    }
    if (!is_dead(path)) {
      refuse(path, "another `stoker mount` serves it; end that one, or name another directory");
    }
    if (!unmount_dead(path)) {
      refuse(path, "what a killed `stoker mount` left there cannot be unmounted; try umount -l");
    }
    notify(fmt::format("{}: unmounted what a killed `stoker mount` had left", readable(path)));
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) refuse(path, error.message());
  if (!std::filesystem::is_directory(status)) refuse(path, "it is no directory");
  const bool empty = std::filesystem::is_empty(path, error);
  if (error) refuse(path, error.message());
  if (!empty)
    refuse(path, "it is not empty, and its files would be hidden; name an empty directory");
  return path;
}

void set_read_ahead(const std::string& directory, uint64_t bytes, const Notify& notify) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) throw_errno("look at", directory, errno);
  const std::string path =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(status.st_dev), minor(status.st_dev));
  std::ofstream file(path);
  file << (bytes + 1023) / 1024;
  file.close();
  if (!file) {
    notify(
        fmt::format("--read-ahead {} is left out: {} cannot be written ({}); the kernel's own is "
                    "128 KiB",
                    bytes, path, std::strerror(errno)));
  }
}

}  // namespace stoker
