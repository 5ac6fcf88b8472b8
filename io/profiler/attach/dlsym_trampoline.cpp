#include "io/profiler/attach/dlsym_trampoline.h"

#include <cstddef>

extern "C" {
// Names for the assembler below; nobody else's.
[[gnu::visibility("hidden")]] stoker::WrapperInstance stoker_dlsym_instance;
[[gnu::visibility("hidden")]] std::atomic<void (*)()> stoker_before_dlsym{nullptr};
[[gnu::visibility("hidden")]] void stoker_dlsym_trampoline();
}
static_assert(offsetof(stoker::WrapperInstance, original) == 8);
static_assert(sizeof(std::atomic<void*>) == sizeof(void*));

// Both keep the two arguments, and the alignment of the stack at the call.
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .globl stoker_dlsym_trampoline
  .hidden stoker_dlsym_trampoline
  .type stoker_dlsym_trampoline, @function
stoker_dlsym_trampoline:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call *stoker_before_dlsym(%rip)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *stoker_dlsym_instance+8(%rip)
  .cfi_endproc
  .size stoker_dlsym_trampoline, .-stoker_dlsym_trampoline
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .globl stoker_dlsym_trampoline
  .hidden stoker_dlsym_trampoline
  .type stoker_dlsym_trampoline, %function
stoker_dlsym_trampoline:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  stp x0, x1, [sp, #16]
  adrp x16, stoker_before_dlsym
  ldr x16, [x16, #:lo12:stoker_before_dlsym]
  blr x16
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  adrp x16, stoker_dlsym_instance
  add x16, x16, #:lo12:stoker_dlsym_instance
  ldr x16, [x16, #8]
  br x16
  .cfi_endproc
  .size stoker_dlsym_trampoline, .-stoker_dlsym_trampoline
  .popsection
)");
#endif

namespace stoker {

WrappedFunction dlsym_before(void (*before)()) {
  stoker_before_dlsym.store(before);
  stoker_dlsym_instance.wrapper = reinterpret_cast<void*>(&stoker_dlsym_trampoline);
  return {"dlsym", {&stoker_dlsym_instance, 1}};
}

}  // namespace stoker
