#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace stoker {

// Calls in another process, which knows nothing of it: one of its threads, which waits in a
// harmless system call or has just made one, is borrowed for each (BorrowedThread); the others go
// on. Nothing is left stopped, whatever fails, and also where this process is killed meanwhile. One
// thread.
class Injection {
 public:
  // Looks whether it can be done: Error(ExitCode::environment) with what to do where the process is
  // not there or forbidden, is being traced or is stopped, has another architecture, another C
  // library than glibc or none.
  explicit Injection(pid_t pid);

  // Loads a library, by its absolute path, for as long as the process lives; nothing where it is
  // loaded. Error(environment) where the process does not see that file, its loader refuses it, or
  // no thread came to a harmless call within the patience.
  void load(const std::string& library);
  // Whether it has loaded a library of this file name.
  bool has(const std::string& library) const;
  // Calls a function of such a library, `void function(void* block, size_t bytes)`, and takes back
  // what it left in the block. Error(environment) as above, and where it does not return in time.
  void call(const std::string& library, const std::string& function, std::string& block);

  // How long is waited for a harmless call, and for the function.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

 private:
  void check_kind() const;
  void check_visible(const std::string& library) const;
  void make(const std::string& object, const std::string& function, std::string& block,
            uint64_t second);

  const pid_t pid_;
  std::chrono::milliseconds patience_{10'000};
};

}  // namespace stoker
