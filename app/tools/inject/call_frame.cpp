#if defined(__x86_64__)

#include "app/tools/inject/call_frame.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

namespace stoker {
namespace {

// What system calls return inside the kernel where a signal interrupts them.
constexpr int64_t kRestartSys = -512, kRestartNoIntr = -513, kRestartNoHand = -514,
                  kRestartBlock = -516;
constexpr int64_t kNoCall = -1;
constexpr uint64_t kRedZone = 128;

// As the kernel lays it out for rt_sigreturn: the return address, then what it restores.
struct SignalFrame {
  uint64_t restorer;
  uint64_t flags;
  uint64_t link;
  stack_t stack;
  gregset_t registers;
  uint64_t floating;
  uint64_t reserved[8];
  uint64_t mask;
};
static_assert(offsetof(SignalFrame, registers) == 8 + offsetof(ucontext_t, uc_mcontext));
static_assert(offsetof(SignalFrame, mask) == 8 + offsetof(ucontext_t, uc_sigmask));

constexpr uint64_t aligned_down(uint64_t value, uint64_t unit) { return value / unit * unit; }

// What happens to the call where a handler of a signal with SA_RESTART has returned.
void finish_interrupted(user_regs_struct& registers) {
  if (registers.orig_rax == static_cast<uint64_t>(kNoCall)) return;
  switch (static_cast<int64_t>(registers.rax)) {
    case kRestartSys:
    case kRestartNoIntr:
      registers.rax = registers.orig_rax;
      registers.rip -= 2;  // the instruction syscall
      break;
    case kRestartNoHand:
    case kRestartBlock:
      registers.rax = static_cast<uint64_t>(-EINTR);
      break;
    default:
      break;
  }
}

void put_registers(SignalFrame& frame, const user_regs_struct& from) {
  constexpr uint64_t kUserSegments = 0x33 | uint64_t{0x2b} << 48;
  const auto put = [&](int at, uint64_t value) {
    frame.registers[at] = static_cast<greg_t>(value);
  };
  put(REG_R8, from.r8);
  put(REG_R9, from.r9);
  put(REG_R10, from.r10);
  put(REG_R11, from.r11);
  put(REG_R12, from.r12);
  put(REG_R13, from.r13);
  put(REG_R14, from.r14);
  put(REG_R15, from.r15);
  put(REG_RDI, from.rdi);
  put(REG_RSI, from.rsi);
  put(REG_RBP, from.rbp);
  put(REG_RBX, from.rbx);
  put(REG_RDX, from.rdx);
  put(REG_RAX, from.rax);
  put(REG_RCX, from.rcx);
  put(REG_RSP, from.rsp);
  put(REG_RIP, from.rip);
  put(REG_EFL, from.eflags);
  put(REG_CSGSFS, kUserSegments);
}

}  // namespace

CallFrame make_call_frame(const TargetCall& call, uint64_t restorer,
                          const user_regs_struct& interrupted, uint64_t mask,
                          const std::array<char, 512>& floating) {
  constexpr uint64_t kRestoreSegment = 0x2 | 0x4;  // UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
  constexpr int kNoSuchMode = 0x40;
  user_regs_struct before = interrupted;
  finish_interrupted(before);

  const uint64_t top = interrupted.rsp - kRedZone;
  const uint64_t state = aligned_down(top - sizeof floating, 64);
  const uint64_t block = aligned_down(state - call.block.size(), 64);
  // A function finds its return address at 8 below a multiple of 16.
  const uint64_t at = aligned_down(block - sizeof(SignalFrame), 16) - 8;

  SignalFrame frame{};
  frame.restorer = restorer;
  frame.flags = kRestoreSegment;
  // The alternate stack stays as it is: the kernel ignores a setting that it refuses.
  frame.stack.ss_flags = kNoSuchMode;
  put_registers(frame, before);
  frame.floating = state;
  frame.mask = mask;
  // Nothing beyond: rt_sigreturn then restores what fxsave has, and in a function that has made a
  // system call the rest of the vector registers is nobody's.
  std::array<char, 512> plain = floating;
  std::memset(plain.data() + 464, 0, 48);

  CallFrame result;
  result.address = at;
  result.block = block;
  result.bytes.assign(state + sizeof floating - at, '\0');
  std::memcpy(result.bytes.data(), &frame, sizeof frame);
  std::memcpy(result.bytes.data() + (block - at), call.block.data(), call.block.size());
  std::memcpy(result.bytes.data() + (state - at), plain.data(), plain.size());
  result.registers = interrupted;
  result.registers.rip = call.function;
  result.registers.rsp = at;
  result.registers.rdi = block;
  result.registers.rsi = call.second;
  result.registers.rax = 0;
  result.registers.orig_rax = static_cast<uint64_t>(kNoCall);
  // Forwards, without traps or checks of alignment.
  result.registers.eflags &= ~uint64_t{0x400 | 0x100 | 0x40000};
  return result;
}

std::string restorer_code() { return std::string("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9); }

bool is_return(const user_regs_struct& registers, uint64_t restorer) {
  return registers.orig_rax == SYS_rt_sigreturn &&
         registers.rip == restorer + restorer_code().size();
}

bool was_interrupted(const user_regs_struct& registers) {
  if (registers.orig_rax == static_cast<uint64_t>(kNoCall)) return false;
  const auto result = static_cast<int64_t>(registers.rax);
  return result == kRestartSys || result == kRestartNoIntr || result == kRestartNoHand ||
         result == kRestartBlock || result == -EINTR;
}

}  // namespace stoker

#endif
