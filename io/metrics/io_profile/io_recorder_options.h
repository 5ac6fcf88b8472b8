#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// What the recorder keeps, and which files it looks at. A value.
struct IoRecorderOptions {
  ByteSize memory{512ull << 20};
  ByteSize segment_memory{128ull << 20};
  int64_t memory_alignment = 8;
  // Darshan's lists, so that the same files are in both, and /dev/shm, where data are staged.
  std::vector<std::string> exclude{"/etc/", "/dev/",  "/usr/", "/bin/",  "/boot/", "/lib/",
                                   "/opt/", "/sbin/", "/sys/", "/proc/", "/var/"};
  std::vector<std::string> include{"/dev/shm/", "/var/opt/cray/dws/mounts/"};

  template <class V>
  void visit(V& v) {
    v("memory", memory,
      same_results("Bytes of memory for the counters of files, about 2 KiB for each file. Files "
                   "that do not fit are left out and counted."));
    v("segment_memory", segment_memory,
      same_results("Bytes of memory for the single reads and writes of a session, 34 for each of "
                   "them. 0: they are not kept."));
    v("memory_alignment", memory_alignment,
      same_results("A caller's memory counts as aligned where its address is a multiple of this "
                   "many bytes."),
      Limits{1, 1 << 30});
    v("exclude", exclude,
      same_results("Files whose path begins with one of these are left out, but for those of the "
                   "run's tiers. The default leaves out the system's files."));
    v("include", include,
      same_results("Files whose path begins with one of these are counted although `exclude` says "
                   "otherwise."));
  }
};

}  // namespace stoker
