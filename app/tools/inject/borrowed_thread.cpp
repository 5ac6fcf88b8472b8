#if defined(__x86_64__)

#include "app/tools/inject/borrowed_thread.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "app/tools/inject/harmless_calls.h"

namespace stoker {
namespace {

constexpr auto kShort = std::chrono::microseconds(100);
// Below the call, for the loader and the library.
constexpr uint64_t kStackNeeded = 64 << 10;
constexpr int kOptions = PTRACE_O_TRACESYSGOOD;  // and never PTRACE_O_EXITKILL

long trace(int request, pid_t thread, uint64_t address, uint64_t data) {
  return ::ptrace(static_cast<__ptrace_request>(request), thread, address, data);
}

uint64_t pointer(const void* to) { return reinterpret_cast<uint64_t>(to); }

// All but those by which the kernel tells of a mistake: where one of them is blocked, it would
// change what the process does at it.
uint64_t all_but_mistakes() {
  uint64_t mask = ~uint64_t{0};
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
    mask &= ~(uint64_t{1} << (signal - 1));
  }
  return mask;
}

// Whether a handler of a signal may be on its stack: it may have come while the allocator held a
// lock. What handlers have left behind looks the same.
bool is_in_handler(uint64_t from, const TargetMapping& stack, const TargetMemory& memory,
                   uint64_t restorer) {
  constexpr uint64_t kMost = 256 << 10;
  std::vector<uint64_t> words(std::min(stack.end - from, kMost) / sizeof(uint64_t));
  return !memory.read(from, words.data(), words.size() * sizeof(uint64_t)) ||
         std::ranges::find(words, restorer) != words.end();
}

}  // namespace

BorrowedThread::BorrowedThread(pid_t pid, pid_t thread) : pid_(pid), thread_(thread) {
  // ESRCH: it has ended; EPERM: it is about to, or another one traces it.
  gone_ = trace(PTRACE_SEIZE, thread, 0, kOptions) != 0;
}

BorrowedThread::~BorrowedThread() {
  if (gone_) return;
  if (!stopped_) stop_now(Clock::now() + std::chrono::seconds(1));
  // Where it did not stop, it goes on when this thread ends.
  if (!gone_ && stopped_) trace(PTRACE_DETACH, thread_, 0, static_cast<uint64_t>(signal_));
  if (was_to_stop_) ::kill(pid_, SIGSTOP);
}

BorrowedThread::Stop BorrowedThread::wait(Clock::time_point until) {
  for (;;) {
    int status = 0;
    const pid_t who = ::waitpid(thread_, &status, __WALL | WNOHANG);
    if ((who < 0 && errno != EINTR) || (who > 0 && !WIFSTOPPED(status))) {
      gone_ = true;
      return Stop::gone;
    }
    if (who > 0) {
      stopped_ = true;
      signal_ = 0;
      if (status >> 16 == PTRACE_EVENT_STOP) return Stop::event;
      if (WSTOPSIG(status) == (SIGTRAP | 0x80)) return Stop::call;
      signal_ = WSTOPSIG(status);
      return Stop::signal;
    }
    if (Clock::now() >= until) return Stop::none;
    std::this_thread::sleep_for(kShort);
  }
}

bool BorrowedThread::resume(int request, int signal) {
  stopped_ = false;
  signal_ = 0;
  if (trace(request, thread_, 0, static_cast<uint64_t>(signal)) == 0) return true;
  gone_ = errno == ESRCH;
  return false;
}

bool BorrowedThread::stop_now(Clock::time_point until) {
  if (gone_ || trace(PTRACE_INTERRUPT, thread_, 0, 0) != 0) return false;
  for (;;) {
    switch (wait(until)) {
      case Stop::event:
        return true;
      case Stop::call:
        if (!resume(PTRACE_CONT)) return false;
        break;
      case Stop::signal:  // one of its own came first
        if (!resume(PTRACE_CONT, signal_)) return false;
        break;
      default:
        return false;
    }
  }
}

bool BorrowedThread::get_registers(user_regs_struct& registers) const {
  return trace(PTRACE_GETREGS, thread_, 0, pointer(&registers)) == 0;
}

bool BorrowedThread::set_registers(const user_regs_struct& registers) const {
  return trace(PTRACE_SETREGS, thread_, 0, pointer(&registers)) == 0;
}

bool BorrowedThread::behind_harmless_call(bool waiting) {
  if (!get_registers(before_)) return false;
  if (waiting && !was_interrupted(before_)) return false;
  const SystemCall call{static_cast<int64_t>(before_.orig_rax),
                        {before_.rdi, before_.rsi, before_.rdx}};
  return is_harmless(pid_, call, waiting);
}

// From one system call to the next, until one is harmless and done.
bool BorrowedThread::stop_behind_call(Clock::time_point until) {
  bool inside = false;
  int request = PTRACE_SYSCALL, signal = 0;
  for (;;) {
    if (!resume(request, signal)) return false;
    signal = 0;
    switch (wait(until)) {
      case Stop::call:
        inside = !inside;
        if (!inside && behind_harmless_call(false)) return true;
        break;
      case Stop::signal:
        signal = signal_;
        break;
      case Stop::event:
        break;
      default:
        return false;
    }
  }
}

bool BorrowedThread::stop_harmlessly(Clock::time_point until) {
  if (!stop_now(until)) return false;
  return behind_harmless_call(true) || stop_behind_call(until);
}

BorrowedThread::Outcome BorrowedThread::make(TargetCall& call, const TargetObjects& objects,
                                             const TargetMemory& memory, uint64_t restorer,
                                             Clock::time_point until) {
  floating_.resize(1 << 16);
  iovec state{floating_.data(), floating_.size()};
  if (trace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, pointer(&state)) != 0 ||
      state.iov_len < 512 ||
      trace(PTRACE_GETSIGMASK, thread_, sizeof mask_, pointer(&mask_)) != 0) {
    return Outcome::refused;
  }
  floating_.resize(state.iov_len);
  std::array<char, 512> plain{};
  std::copy_n(floating_.begin(), plain.size(), plain.begin());
  const CallFrame frame = make_call_frame(call, restorer, before_, mask_, plain);
  const TargetMapping* const stack = objects.at(before_.rsp);
  const bool grows = stack != nullptr && stack->path == "[stack]";
  if (stack == nullptr || (!grows && frame.address < stack->begin + kStackNeeded) ||
      is_in_handler(before_.rsp, *stack, memory, restorer) ||
      !memory.write(frame.address, frame.bytes.data(), frame.bytes.size())) {
    return Outcome::refused;
  }
  const Outcome outcome = run(frame, restorer, until);
  if (outcome == Outcome::returned) {
    memory.read(frame.block, call.block.data(), call.block.size());
    // Or the next one would take the thread for one in a handler.
    const uint64_t nothing = 0;
    memory.write(frame.address, &nothing, sizeof nothing);
  }
  return outcome;
}

BorrowedThread::Outcome BorrowedThread::run(const CallFrame& frame, uint64_t restorer,
                                            Clock::time_point until) {
  // In this order: at each instant, what would follow is harmless if this program ended.
  if (!set_registers(frame.registers)) return Outcome::refused;
  const uint64_t blocked = all_but_mistakes();
  trace(PTRACE_SETSIGMASK, thread_, sizeof blocked, pointer(&blocked));
  bool inside = false;
  for (;;) {
    if (!resume(PTRACE_SYSCALL)) return Outcome::failed;
    user_regs_struct now{};
    switch (wait(until)) {
      case Stop::call:
        inside = !inside;
        if (inside && get_registers(now) && is_return(now, restorer)) {
          return put_back(restorer, until + std::chrono::seconds(2)) ? Outcome::returned
                                                                     : Outcome::under_way;
        }
        break;
      case Stop::signal:
        if (signal_ == SIGSTOP) {  // cannot be blocked; afterwards
          was_to_stop_ = true;
          break;
        }
        // A mistake of what was called.
        signal_ = 0;
        set_registers(before_);
        trace(PTRACE_SETSIGMASK, thread_, sizeof mask_, pointer(&mask_));
        return Outcome::failed;
      case Stop::none:
        return Outcome::under_way;
      case Stop::event:
        break;
      case Stop::gone:
        return Outcome::failed;
    }
  }
}

// It would restore itself by rt_sigreturn, except that a call with a time limit which we
// interrupted would end with EINTR. So it is sent back to the begin of the restorer without making
// the call, and gets what it had where the kernel looks at interrupted calls again: in an event
// stop.
bool BorrowedThread::put_back(uint64_t restorer, Clock::time_point until) {
  user_regs_struct again{};
  if (!get_registers(again)) return false;
  again.rip = restorer;
  again.orig_rax = static_cast<uint64_t>(-1);
  if (!set_registers(again)) return false;
  trace(PTRACE_INTERRUPT, thread_, 0, 0);
  if (!resume(PTRACE_CONT)) return false;
  if (wait(until) != Stop::event) return false;
  iovec state{floating_.data(), floating_.size()};
  trace(PTRACE_SETREGSET, thread_, NT_X86_XSTATE, pointer(&state));
  trace(PTRACE_SETSIGMASK, thread_, sizeof mask_, pointer(&mask_));
  return set_registers(before_);
}

}  // namespace stoker

#endif
