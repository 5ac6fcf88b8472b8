#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/profiler/profile.h"

namespace stoker {

struct PreloadCommon;

// What one process with one executable has counted. A value.
struct PreloadedProcess {
  int64_t number = 0;   // in the order in which they began; the first has 0
  double copied_s = 0;  // in reads of files that did not wait, summed over its threads
  // Its files, with `number` for a rank, and what was not kept.
  IoProfile io;
  std::map<uint64_t, int64_t> cold_bytes;  // by the file's id, where there are any
};

// A folder in memory by which a program and all processes that it starts are counted: what they
// write is read here. Removed when the object goes; folders that killed programs have left are
// removed when one is made. One thread.
class PreloadFolder {
 public:
  // segment_bytes: for single reads and writes, of all processes together, 37 bytes each.
  // Error(ExitCode::environment) where there is no room for it.
  explicit PreloadFolder(int64_t segment_bytes = int64_t{256} << 20);
  ~PreloadFolder();
  PreloadFolder(const PreloadFolder&) = delete;
  PreloadFolder& operator=(const PreloadFolder&) = delete;

  const std::string& path() const { return folder_->path(); }
  // Gives it to the user of a process that is to write in it; for root. From then on it is read
  // through descriptors alone, and only plain files in it. IoError.
  void give_to(uid_t user, gid_t group) const;
  // Where times begin: CLOCK_MONOTONIC.
  int64_t begin_ns() const { return begin_ns_; }
  // The library that processes load. It may be missing, where a build is not whole.
  static std::string library();
  // NAME=value of what the program must have in its environment. What it preloads already stays.
  std::vector<std::string> environment() const;

  // Takes in the logs of processes that ended a while ago, so that programs which start very many
  // need no more memory. To be called now and then; takes a millisecond for each.
  void collect_ended();
  // All processes, by number; also those that are still running, as far as they are. The folder is
  // empty then. A log that another build has written, or nobody has finished, is left out.
  std::vector<PreloadedProcess> collect();

 private:
  void write_common(int64_t segment_bytes);
  void collect_logs(bool only_ended);

  std::unique_ptr<TemporaryFolder> folder_;
  FileDescriptor opened_;  // the folder, whatever lies under its path meanwhile
  FileDescriptor lock_;    // of `common`: the folder is in use
  int64_t begin_ns_ = 0;
  std::vector<PreloadedProcess> collected_;
};

// Reads the log of a process, which may still write it. only_ended: nothing, where the process did
// not say two seconds ago that it ended. Absent: it is not finished, of another build, cannot be
// read, or `file` is none. Trusts no pointer in it; a file of another user is copied first, because
// that user may shorten it, and a mapping of it would end this process. Any thread.
std::optional<PreloadedProcess> read_preload_log(const FileDescriptor& file, bool only_ended);

}  // namespace stoker
