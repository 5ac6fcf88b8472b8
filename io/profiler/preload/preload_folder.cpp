#include "io/profiler/preload/preload_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/metrics/clock.h"
#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/preload/preload_log.h"
#include "io/profiler/records/mount_table.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// In memory where it can be, so that nothing of it is I/O of a device.
std::vector<std::string> places() {
  const char* const temporary = std::getenv("TMPDIR");
  return {"/dev/shm", temporary == nullptr || *temporary != '/' ? "/tmp" : temporary};
}

std::string prefix() { return fmt::format("stoker-run-{}-", ::getuid()); }

bool holds(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

// Whoever made them was killed: it would hold a lock on `common`.
void remove_left_over(const std::string& place) {
  constexpr auto kYoung = std::chrono::seconds(60);  // it may be about to take its lock
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename();
    const auto changed = entry.last_write_time(error);
    if (!name.starts_with(prefix()) || fs::file_time_type::clock::now() - changed < kYoung)
      continue;
    const std::string common = entry.path() / kPreloadCommonName;
    const FileDescriptor file(::open(common.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0 || holds(file.get())) fs::remove_all(entry.path(), error);
  }
}

std::string make_folder() {
  int error = 0;
  for (const std::string& place : places()) {
    remove_left_over(place);
    std::string path = fmt::format("{}/{}XXXXXX", place, prefix());
    if (::mkdtemp(path.data()) != nullptr) return path;
    error = errno;
  }
  throw Error(ExitCode::environment,
              fmt::format("/dev/shm and the folder for temporary files: no folder for counters can "
                          "be made ({}): set TMPDIR to one that can be written",
                          std::strerror(error)));
}

// The mounts, for who asks how large the blocks of a file's file system are.
void add_mounts(PreloadCommon& common) {
  size_t at = 0;
  for (const IoProfile::Mount& mount : MountTable().list()) {
    const size_t length = mount.path.size();
    if (common.mounts == common.mount.size() || at + length > common.text.size()) return;
    std::memcpy(common.text.data() + at, mount.path.data(), length);
    PreloadCommon::Mount& to = common.mount[common.mounts++];
    to.at = static_cast<uint32_t>(at);
    to.length = static_cast<uint32_t>(length);
    at += length;
  }
}

}  // namespace

PreloadFolder::PreloadFolder(int64_t segment_bytes) : path_(make_folder()) {
  try {
    write_common(segment_bytes);
  } catch (...) {
    std::error_code error;
    fs::remove_all(path_, error);
    throw;
  }
}

PreloadFolder::~PreloadFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void PreloadFolder::write_common(int64_t segment_bytes) {
  const std::string name = path_ + '/' + kPreloadCommonName;
  lock_ = FileDescriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (lock_.get() < 0) throw_errno("make", name, errno);
  holds(lock_.get());
  const int failed = ::posix_fallocate(lock_.get(), 0, sizeof(PreloadCommon));
  if (failed != 0) throw_errno("make room in", name, failed);
  void* const memory =
      ::mmap(nullptr, sizeof(PreloadCommon), PROT_READ | PROT_WRITE, MAP_SHARED, lock_.get(), 0);
  if (memory == MAP_FAILED) throw_errno("map", name, errno);
  auto& common = *std::construct_at(static_cast<PreloadCommon*>(memory));
  begin_ns_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  common.begin_ns = begin_ns_;
  common.segment_bytes = segment_bytes;
  add_mounts(common);
  common.layout = kPreloadLayout;
  ::munmap(memory, sizeof(PreloadCommon));
}

std::string PreloadFolder::library() { return plugin_beside_library("stoker_preload"); }

std::vector<std::string> PreloadFolder::environment() const {
  std::string preload = library();
  const char* const others = std::getenv("LD_PRELOAD");
  if (others != nullptr && *others != '\0') preload += std::string(":") + others;
  return {"LD_PRELOAD=" + preload, std::string(kPreloadFolder) + '=' + path_};
}

void PreloadFolder::collect_logs(bool only_ended) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (entry.path().extension() != ".log") continue;
    auto process = read_preload_log(entry.path(), only_ended);
    const bool taken = process.has_value();
    if (taken) collected_.push_back(*std::move(process));
    if (taken || !only_ended) ::unlink(entry.path().c_str());
  }
}

void PreloadFolder::collect_ended() { collect_logs(true); }

std::vector<PreloadedProcess> PreloadFolder::collect() {
  collect_logs(false);
  std::ranges::sort(collected_, {}, &PreloadedProcess::number);
  return std::exchange(collected_, {});
}

}  // namespace stoker
