#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/config/registry.h"
#include "io/core/error.h"
#include "io/profiler/preload/preload_folder.h"
#include "io/profiler/profile.h"

namespace stoker {

// What a program of somebody else's did on files, as its preloaded counters have it. Values, all of
// them.
struct ProgramIo {
  // A file, all processes and both of Darshan's modules taken together.
  struct File {
    std::string path;
    int64_t opens = 0, reads = 0, writes = 0;
    int64_t bytes_read = 0, bytes_written = 0;
    // Within its calls. Those of one process do not overlap; those of several add up.
    // meta_s: opening, looking up, closing.
    double read_s = 0, write_s = 0, meta_s = 0;
    double call_s() const { return read_s + write_s + meta_s; }
    // Of its slow reads, what came from a device (the kernel's count of input blocks). Reads of
    // mapped memory are not in it. 0 also where the file system does not count (FUSE).
    int64_t cold_bytes = 0;
  };

  // A folder that a program saw through an emulated tier, and what it asked of it.
  struct Tier {
    std::string folder;  // without links
    std::string tier;    // as it was told: "hdd"
    std::string mode;    // of the page cache: "drop", "cached", "direct"
    int64_t files = 0;
    uint64_t bytes = 0;  // of these files
    int64_t opens = 0, reads = 0, failed = 0;
    uint64_t bytes_read = 0;
    double waited_s = 0;    // of all reads and opens, one after the other
    double modelled_s = 0;  // of that, what the tier's device takes
    int64_t overruns = 0;   // operations that took longer than the model says
  };

  int64_t begin_ns = 0;            // since 1970
  int64_t begin_monotonic_ns = 0;  // the same on CLOCK_MONOTONIC
  double seconds = 0;              // until the program had ended
  pid_t pid = 0;                   // of the program itself
  int exit_code = 0;               // 128 + signal where a signal ended it
  // That were counted. One that replaces its executable (exec) is counted once for each.
  int64_t processes = 0;
  // In reads of files that did not wait, summed over threads: copying from memory. Those that took
  // longer than 20 us and what copying their bytes at 2 GB/s takes have waited for a device, a
  // server, or a lock.
  double copied_s = 0;
  std::vector<File> files;  // the most time first
  std::vector<Tier> tiers;  // that were told for it
  // What is missing, as sentences.
  std::vector<std::string> notes;
};

// All processes' counters as one profile, with a rank for each process, for Darshan's log. Begin,
// end, process and command are `program`'s. Takes the files out of `processes`. Pure, but for the
// name of the host and the mounts.
IoProfile profile_of(std::vector<PreloadedProcess>& processes, const ProgramIo& program,
                     const std::string& command);

// Adds processes and files to `program`, the most time first, and what is missing to its notes.
// Pure.
void add_processes(const std::vector<PreloadedProcess>& processes, ProgramIo& program);

// The tiers of `stoker run --tier`. It needs libfuse and is in a library of its own, which is
// loaded when one is made. Made before this process has other threads: from then on it and what it
// starts have mounts (and, where it is not root, users) of their own, which end with the last of
// them. The folders are mounted from then to the destructor. One thread.
class ProgramTiers {
 public:
  static constexpr const char* kKind = "program tiers";
  struct Inputs {
    // FOLDER=TIER, TIER being a profile of an emulated tier, or a mapping of its figures.
    const std::vector<std::string>& tiers;
    const std::string& mode;
    const Notify& notify;
  };
  virtual ~ProgramTiers() = default;
  // What was asked until now, in the order of Inputs.
  virtual std::vector<ProgramIo::Tier> figures() const = 0;
};

template <>
Registry<ProgramTiers>& Registry<ProgramTiers>::global();

// Mounts them; null where there are none. Error(ExitCode::config) for a tier that is none,
// Error(ExitCode::environment) where a folder is not there, or nothing can be mounted here.
std::unique_ptr<ProgramTiers> program_tiers(const ProgramTiers::Inputs& inputs);

// A line for each, which begins with "/data as hdd (EMULATED, page cache: drop): 12 opens".
std::string tiers_text(const std::vector<ProgramIo::Tier>& tiers);
// An object for each.
nlohmann::json tiers_json(const std::vector<ProgramIo::Tier>& tiers);

}  // namespace stoker
