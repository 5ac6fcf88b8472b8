#include "app/tools/inject/call_frame.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>

namespace stoker {
namespace {

constexpr uint64_t kRestorer = 0x7000, kFunction = 0x9000;

user_regs_struct interrupted(int64_t call, int64_t result) {
  user_regs_struct registers{};
  registers.rip = 0x4002;
  registers.rsp = 0x7fff12345678;
  registers.orig_rax = static_cast<uint64_t>(call);
  registers.rax = static_cast<uint64_t>(result);
  registers.eflags = 0x246 | 0x400;
  return registers;
}

CallFrame frame_of(const user_regs_struct& registers, const std::string& block = "abc") {
  return make_call_frame({kFunction, block, 7}, kRestorer, registers, 0x55, {});
}

uint64_t word(const CallFrame& frame, size_t at) {
  uint64_t value = 0;
  frame.bytes.copy(reinterpret_cast<char*>(&value), sizeof value, at);
  return value;
}

TEST(CallFrame, begins_the_function_below_the_red_zone_with_the_restorer_as_its_caller) {
  const CallFrame frame = frame_of(interrupted(SYS_read, 5));
  EXPECT_EQ(frame.registers.rip, kFunction);
  EXPECT_EQ(frame.registers.rsp, frame.address);
  EXPECT_EQ(frame.address % 16, 8u);
  EXPECT_LE(frame.address + frame.bytes.size(), 0x7fff12345678u - 128);
  EXPECT_EQ(word(frame, 0), kRestorer);
  EXPECT_EQ(frame.registers.rdi, frame.block);
  EXPECT_EQ(frame.registers.rsi, 7u);
  EXPECT_EQ(frame.bytes.substr(frame.block - frame.address, 3), "abc");
  EXPECT_EQ(frame.registers.orig_rax, ~uint64_t{0});  // the kernel makes no call again before it
  EXPECT_EQ(frame.registers.eflags & 0x400, 0u);
}

// As ucontext_t has it, behind the return address: rax is register 13, rip 16.
constexpr size_t kRegisters = 8 + 40, kRax = kRegisters + 13 * 8, kRip = kRegisters + 16 * 8;

TEST(CallFrame, lets_the_kernel_make_an_interrupted_call_again_where_signals_would) {
  const CallFrame again = frame_of(interrupted(SYS_read, -512));
  EXPECT_EQ(word(again, kRax), static_cast<uint64_t>(SYS_read));
  EXPECT_EQ(word(again, kRip), 0x4000u);
  const CallFrame ended = frame_of(interrupted(SYS_poll, -516));
  EXPECT_EQ(static_cast<int64_t>(word(ended, kRax)), -EINTR);
  EXPECT_EQ(word(ended, kRip), 0x4002u);
  const CallFrame done = frame_of(interrupted(SYS_read, 100));
  EXPECT_EQ(word(done, kRax), 100u);
  EXPECT_EQ(word(done, kRip), 0x4002u);
}

TEST(CallFrame, knows_the_end_and_what_was_interrupted) {
  user_regs_struct registers{};
  registers.orig_rax = SYS_rt_sigreturn;
  registers.rip = kRestorer + restorer_code().size();
  EXPECT_TRUE(is_return(registers, kRestorer));
  registers.rip += 1;
  EXPECT_FALSE(is_return(registers, kRestorer));
  EXPECT_TRUE(was_interrupted(interrupted(SYS_futex, -516)));
  EXPECT_TRUE(was_interrupted(interrupted(SYS_epoll_wait, -EINTR)));
  EXPECT_FALSE(was_interrupted(interrupted(SYS_read, 3)));
  EXPECT_FALSE(was_interrupted(interrupted(-1, -512)));
}

}  // namespace
}  // namespace stoker
