#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace stoker {

// The process exit codes. They are an API: scripts, Slurm and Kubernetes act on them, so a number
// never changes its meaning. docker/kubernetes and README.md list them for users.
enum class ExitCode : int {
  ok = 0,
  config = 2,         // usage or configuration: the user's file or command line
  environment = 3,    // the user's system: missing file, permission, space
  data = 4,           // more bad samples than the failure budget allows
  storage = 5,        // a tier or a checkpoint failed
  device = 6,         // the accelerator failed or is absent
  threshold = 7,      // a threshold that the user stated was not met; a loss is not a number
  bug = 70,           // ours
  sigterm = 75,       // stopped by SIGTERM, SIGHUP or SIGUSR1: requeue
  sigint = 130,       // stopped by SIGINT
  reader_gone = 141,  // cut off, for whoever read its output went away; as SIGPIPE would end it
};

// Something the user can mend. what() names the thing, what was expected and the next action, and
// is printed as it is; code() becomes the exit code of the process. Any other exception that
// reaches main is a bug of ours (ExitCode::bug). what() is UTF-8, whatever bytes a path in it has
// (to_text()). A value; any thread.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what);
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// An error after which trying again is of no use. Any thread.
class NoRetry : public Error {
 public:
  using Error::Error;
};

// A failed operation on a file or an object. what(): "read train/a.jpg: No such file or directory".
// errno_value() is 0 where no system call failed (a short read).
//
// Its exit code is `environment` for what the user's system lacks or forbids (no such file,
// permission, space, quota, read-only), else `storage`.
class IoError final : public Error {
 public:
  IoError(const std::string& what, int errno_value);
  int errno_value() const { return errno_; }
  // The tier that failed, as the configuration calls it. Empty: not known.
  const std::string& tier() const { return tier_; }
  // Called by each tier that it passes; the first one is to blame.
  void passes(const std::string& tier) {
    if (tier_.empty()) tier_ = tier;
  }

 private:
  int errno_;
  std::string tier_;
};

// There is no object of that name: a link leads nowhere, a folder stands in its place, or a part of
// its path is no folder.
bool is_absent(const IoError& error);

// Throws IoError: "<operation> <path>: <text of errno_value>". The only place where errno becomes
// text. Save errno first: building the arguments may change it.
[[noreturn]] void throw_errno(const std::string& operation, const std::string& path,
                              int errno_value);

// Why one sample could not be used. Failures are counted by reason in the metrics, so the set is
// closed: a new one is a new label of a figure, and a column in what people already plot.
//
//   missing       no object under its key
//   empty         an object of 0 bytes
//   not_an_image  bytes of no known format
//   truncated     the image ends before its data do
//   corrupt       its data contradict themselves, or the index
//   too_large     more bytes or pixels than a stated limit
//   unsupported   an image of a kind that the decoder does not know
enum class BadReason { missing, empty, not_an_image, truncated, corrupt, too_large, unsupported };

// The enumerator's name, as in skipped.csv and the label of the metric. Static text; any thread.
const char* to_string(BadReason reason);

// One sample is unusable; the others are not concerned. Thrown by data sets and decoders, on a
// worker's thread. Loaders catch it and apply dataset.on_error. No Error: whether it ends the run
// is the budget's decision. A tier that fails is no bad sample (io/dataset/read_sample.h).
class BadSample final : public std::runtime_error {
 public:
  BadSample(BadReason reason, const std::string& what);
  BadReason reason() const { return reason_; }

 private:
  BadReason reason_;
};

// What an exception means that is not an Error: ExitCode::environment, with what to do, where
// memory, threads, or what an IoError would be for, ran short. Empty: it is a bug of ours.
std::optional<Error> shortage(const std::exception& exception);

// The process has no descriptor or memory left for the operation: that says nothing of its file.
bool is_shortage(const IoError& error);

// How a component tells the user something that is not an error ("ignored 1 file that is no
// image"). One call is one line of the log.
//
// Called from the thread that constructs or starts the component, never from a worker. Exception: a
// tier that has to go on with less than it was asked for says so when it finds out, on any thread;
// so what is passed must be safe to call from any thread, and must outlive the component.
using Notify = std::function<void(const std::string&)>;

}  // namespace stoker
