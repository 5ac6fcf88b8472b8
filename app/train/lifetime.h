#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/threads.h"
#include "io/metrics/course/goodput.h"
#include "io/metrics/hub.h"

namespace stoker {

// Keeps what a training does with its time over all its processes (io/metrics/course/goodput.h):
// takes up the record that the process before has left, tells the hub where it stands, and leaves
// it to the next process.
//
// The record is in <run.dir>/lifetimes/<the checkpoints' directory>.json, which belongs to no run
// directory, as all processes of a training have one of their own. It is written every tenth of a
// second into the same 4 KiB, without a sync, so that it costs the disk a page now and then: a
// process that is killed leaves it whole, and a machine that fails an older one. A checkpoint has
// the record of its own moment, from which a training goes on whose folder of runs is lost. Without
// checkpoints there is no file, for nothing goes on.
//
// The trainer's thread of rank 0; it has a thread of its own, as no other lasts as long and may
// wait for a disk. The hub outlives it. A record that cannot be read or written is done without:
// `warn` is told once, by any thread, and the training goes on.
class Lifetime {
 public:
  // The process began when the kernel says so, before its libraries were loaded.
  Lifetime(const ExperimentOptions& options, Hub& hub, Notify warn);
  ~Lifetime();
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // The run goes on from this step of a checkpoint, whose record this is (empty: it is older than
  // such records); or from the beginning, if `found` is false. Once, before the loop.
  void goes_on(bool found, const std::optional<Goodput>& saved, int64_t step);
  // The loop begins: from now on there is something to leave.
  void keep();
  // A step is done. Call it after every one; it costs a comparison.
  void at_step(int64_t step) {
    if (step > last_old_step_) new_step(step);
  }
  // The record now, for a checkpoint.
  Goodput now() { return look(ProcessEnd::none); }
  // The run has ended, as the hub says. May be called again.
  void end();

 private:
  // Reads what the process before has left.
  void take_up();
  // The record of a training that begins with this process.
  Goodput anew(int64_t step) const;
  // Makes the record of this moment and publishes it.
  Goodput look(ProcessEnd end);
  // Writes it where there is something to leave; by one thread at a time.
  void write(const Goodput& record);
  void new_step(int64_t step);

  Hub& hub_;
  const Notify warn_;
  const std::string config_;  // a hash of the configuration
  const std::string resume_;  // checkpoint.resume
  const std::string path_;    // empty: there are no checkpoints
  Moment begin_;
  TimePoint began_;
  // Of the process before, with its configuration.
  std::optional<Goodput> last_;
  std::string last_config_;
  int64_t last_old_step_ = INT64_MAX;  // of the recovery under way

  std::mutex mutex_;  // guards before_ and kept_
  Goodput before_;    // where this process began
  bool kept_ = false;

  FileDescriptor file_;
  bool failed_ = false;

  std::optional<Ticker> ticker_;  // last: it uses the rest
};

// The record as checkpoints and the file have it.
// from_json throws nlohmann::json::exception where it is none.
void to_json(nlohmann::json& json, const Goodput& record);
void from_json(const nlohmann::json& json, Goodput& record);

}  // namespace stoker
