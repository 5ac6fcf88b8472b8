#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "app/tools/inject/inject.h"

namespace stoker {

// A program that ran already when it was asked to count: the library of counters is loaded into it
// and the calls of all objects that it has loaded lead through it, until let_go(). What it forks
// meanwhile is counted, what it executes and the libraries that it loads later are not. Nothing in
// it is ever left stopped. One thread.
class AttachedProgram {
 public:
  // library: of the counters; folder: where it writes them (PreloadFolder::path()), which is made
  // accessible to the program's user. Error(ExitCode::environment) with what to do where it cannot
  // be attached to, or is counted already.
  AttachedProgram(pid_t pid, const std::string& library, const std::string& folder);
  // let_go(), without a word.
  ~AttachedProgram();
  AttachedProgram(const AttachedProgram&) = delete;
  AttachedProgram& operator=(const AttachedProgram&) = delete;

  // Its executable, and its words, as the kernel has them.
  const std::string& executable() const { return executable_; }
  const std::vector<std::string>& command() const { return command_; }
  // Slots of relocations that lead through the counters.
  int64_t slots() const { return slots_; }
  bool ended() const;
  // Its calls lead where they did before, and it counts no more. Once counts. Nothing where it has
  // ended. Error(environment) where it is not to be had: then it goes on with the counters, whose
  // log nobody reads, until somebody attaches again.
  void let_go();

 private:
  const pid_t pid_;
  const std::string library_;
  Injection injection_;
  std::string executable_;
  std::vector<std::string> command_;
  int64_t slots_ = 0;
  bool attached_ = false;
};

}  // namespace stoker
