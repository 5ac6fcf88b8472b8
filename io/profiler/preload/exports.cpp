#include "io/profiler/preload/export_names.h"
#include "io/profiler/preload/preload.h"

// An exported name is a jump to where its slot leads. An empty slot asks stoker_resolve(), with the
// caller's arguments saved, and jumps to what that answers. So a name has the arguments of its
// function, whatever they are, and needs no declaration.

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

#define STOKER_NAME(name) #name,
#define STOKER_COUNT(name) +1
#define STOKER_EXPORT(name) "stoker_export " #name "\n"

namespace stoker {

extern const size_t kExports = 0 STOKER_EXPORTS(STOKER_COUNT);
extern const char* const kExportNames[] = {STOKER_EXPORTS(STOKER_NAME)};
extern "C" {
void* stoker_slots[0 STOKER_EXPORTS(STOKER_COUNT)] = {};
}

}  // namespace stoker

#if defined(__x86_64__)
asm(R"(
.text
.type stoker_export_empty, @function
stoker_export_empty:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  andq $-16, %rsp
  subq $192, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movups %xmm0, 64(%rsp)
  movups %xmm1, 80(%rsp)
  movups %xmm2, 96(%rsp)
  movups %xmm3, 112(%rsp)
  movups %xmm4, 128(%rsp)
  movups %xmm5, 144(%rsp)
  movups %xmm6, 160(%rsp)
  movups %xmm7, 176(%rsp)
  movq %r11, %rdi
  call stoker_resolve
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movups 64(%rsp), %xmm0
  movups 80(%rsp), %xmm1
  movups 96(%rsp), %xmm2
  movups 112(%rsp), %xmm3
  movups 128(%rsp), %xmm4
  movups 144(%rsp), %xmm5
  movups 160(%rsp), %xmm6
  movups 176(%rsp), %xmm7
  leave
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
.size stoker_export_empty, .-stoker_export_empty

.macro stoker_export name
.globl \name
.type \name, @function
.p2align 4
\name:
  .cfi_startproc
  endbr64
  movq stoker_slots+8*stoker_number(%rip), %r11
  testq %r11, %r11
  je 1f
  jmp *%r11
1:
  movl $stoker_number, %r11d
  jmp stoker_export_empty
  .cfi_endproc
.size \name, .-\name
.set stoker_number, stoker_number+1
.endm

.set stoker_number, 0
)" STOKER_EXPORTS(STOKER_EXPORT));
#else
#error "the preloaded library knows x86-64 alone"
#endif
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
