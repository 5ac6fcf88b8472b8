#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <string>

namespace stoker {

// What a call is made with: a function of at most two arguments, pointer and number, whose pointer
// is to a copy of some bytes. A value.
struct TargetCall {
  uint64_t function = 0;
  std::string block;    // reached by the first argument
  uint64_t second = 0;  // the other one
};

// The stack and registers of a call that undoes itself: to the thread it is like a signal handler.
// The kernel restores all that it did before where the function returns to rt_sigreturn, so that
// nobody else is needed for it: who set it up may go away, or be killed. A value.
struct CallFrame {
  std::string bytes;  // to be written at `address`
  uint64_t address = 0;
  uint64_t block = 0;            // where the copy of the block is
  user_regs_struct registers{};  // with which the call begins
};

// restorer: where the C library calls rt_sigreturn. interrupted: registers of the thread, stopped
// within or behind a system call; the call is made again by the kernel where that is its rule for
// signals, and fails with EINTR where it is not. mask: its blocked signals. floating: its state as
// fxsave has it. Pure. x86-64.
CallFrame make_call_frame(const TargetCall& call, uint64_t restorer,
                          const user_regs_struct& interrupted, uint64_t mask,
                          const std::array<char, 512>& floating);

// The instructions of the restorer: mov $15, %rax; syscall.
std::string restorer_code();

// Where the thread has come to its end: it makes the system call rt_sigreturn.
bool is_return(const user_regs_struct& registers, uint64_t restorer);

// Whether a system call was interrupted by our stop, so that it is made again or fails.
bool was_interrupted(const user_regs_struct& registers);

}  // namespace stoker
