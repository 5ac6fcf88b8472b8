#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/config/registry.h"

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

class Hub;

// Sessions of the I/O profiler, each of which records every call of this process on a file. A
// session leaves NAME.darshan in the run directory, a row for each file among the tracer's, and the
// live page's section. One thread; logs are written by a thread of the sessions' own.
//
// The one implementation, "profiler", is in the plug-in stoker_profiler, so that a run without
// sessions does not load it.
class IoSessions {
 public:
  static constexpr const char* kKind = "io sessions";
  struct Inputs {
    IoRecorderOptions recorder;
    std::string run_dir;
    Hub& hub;  // must outlive the sessions
    // Files in these folders are always looked at, whatever `recorder` leaves out.
    std::vector<std::string> folders = {};
    // A libdarshan.so that counts beside the profiler, from the first session on, and leaves
    // libdarshan.darshan in the run directory. Empty: none.
    std::string library = {};
  };
  // Drops a session that is open.
  virtual ~IoSessions() = default;
  // Begins a session: there must be none. Error(ExitCode::environment) where the profiler cannot be
  // attached; the first session attaches it.
  virtual void begin() = 0;
  virtual bool open() const = 0;
  // Ends the session, which is about the steps [first, last); its log is written meanwhile.
  virtual void end(const std::string& name, int64_t first, int64_t last) = 0;
  // Once, without an open session: when it returns, all logs are written. IoError where one could
  // not be: those behind it are missing, too.
  virtual void finish() = 0;
};

template <>
Registry<IoSessions>& Registry<IoSessions>::global();

// Loads the plug-in on first use. Error(ExitCode::environment), which names it, where it cannot be
// loaded.
std::unique_ptr<IoSessions> new_io_sessions(const IoSessions::Inputs& inputs);

// What somebody asks of the I/O profiler from outside of the training loop, which looks here
// between two steps or two batches of an evaluation: SIGUSR2, a POST to the live server, a call in
// the program. The last wish counts. One for the process. Any thread, and signal handlers.
class IoTrigger {
 public:
  static IoTrigger& instance() {
    static IoTrigger trigger;
    return trigger;
  }
  void begin() noexcept { wish_ = Wish::begin; }
  void end() noexcept { wish_ = Wish::end; }
  // Begins a session, or ends the one that is under way.
  void toggle() noexcept { wish_ = Wish::toggle; }
  // Whether there shall be a session, now that there is one or not; the wish is then fulfilled.
  // Empty: nobody asked.
  std::optional<bool> take(bool running) noexcept {
    switch (wish_.exchange(Wish::none)) {
      case Wish::none:
        break;
      case Wish::begin:
        return true;
      case Wish::end:
        return false;
      case Wish::toggle:
        return !running;
    }
    return std::nullopt;
  }

 private:
  enum class Wish { none, begin, end, toggle };
  static_assert(std::atomic<Wish>::is_always_lock_free);
  std::atomic<Wish> wish_{Wish::none};
};

}  // namespace stoker
