#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/profiler/preload/preload_folder.h"

namespace stoker {

// A program that ran already when it was asked to count, with the processes that it had started by
// then: the library of counters is loaded into each, and the calls of all objects that it has
// loaded lead through it, until let_go(). What they fork meanwhile is counted, what they execute
// and the libraries that they load later are not. Nothing is ever left stopped. One thread.
class AttachedProgram {
 public:
  // library: of the counters; folder: where it writes them, which is given to the program's user.
  // Error(ExitCode::environment) with what to do where the program itself cannot be attached to, or
  // is counted already; of its children, this is in notes(), also where another user owns one.
  AttachedProgram(pid_t pid, const std::string& library, const PreloadFolder& folder);
  // let_go().
  ~AttachedProgram();
  AttachedProgram(const AttachedProgram&) = delete;
  AttachedProgram& operator=(const AttachedProgram&) = delete;

  // Its words, as the kernel has them.
  const std::vector<std::string>& command() const { return command_; }
  // Processes that are counted, and slots of relocations that lead through the counters.
  int64_t processes() const { return static_cast<int64_t>(parts_.size()); }
  int64_t slots() const { return slots_; }
  bool ended() const;
  // Calls lead where they did before, and nothing is counted any more. Once counts. A process that
  // cannot be reached goes on with the counters, whose log nobody reads, until somebody attaches
  // again: then notes() say it.
  void let_go();
  // What could not be done, as sentences.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void attach(pid_t pid, const PreloadFolder& folder);
  void let_go(pid_t pid) const;

  const pid_t pid_;
  const std::string library_;
  std::vector<std::string> command_;
  std::vector<pid_t> parts_;
  int64_t slots_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace stoker
