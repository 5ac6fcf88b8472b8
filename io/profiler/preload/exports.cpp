#include "io/profiler/preload/preload.h"

// An exported name is a jump to where its slot leads. An empty slot asks stoker_resolve(), with the
// caller's arguments saved, and jumps to what that answers. So a name has the arguments of its
// function, whatever they are, and needs no declaration.

// The names that the preloaded library defines in libc's place: those of all functions that
// io/profiler/wrap knows of libc (tests/profiler/preload/exports_test.cpp compares them).

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
// clang-format off
#define STOKER_EXPORTS(ROW) \
  ROW(open) ROW(open64) ROW(__open) ROW(__open64) ROW(__open_2) ROW(__open64_2) ROW(openat) \
  ROW(openat64) ROW(__openat_2) ROW(__openat64_2) ROW(creat) ROW(creat64) ROW(mkstemp) \
  ROW(mkstemp64) ROW(mkostemp) ROW(mkostemp64) ROW(mkstemps) ROW(mkstemps64) ROW(mkostemps) \
  ROW(mkostemps64) ROW(opendir) ROW(closedir) ROW(close) ROW(__close) ROW(close_range) \
  ROW(closefrom) ROW(dup) ROW(dup2) ROW(__dup2) ROW(dup3) ROW(fcntl) ROW(fcntl64) ROW(__fcntl) \
  ROW(read) ROW(__read) ROW(__read_chk) ROW(pread) ROW(pread64) ROW(__pread64) ROW(__pread_chk) \
  ROW(__pread64_chk) ROW(write) ROW(__write) ROW(pwrite) ROW(pwrite64) ROW(__pwrite64) \
  ROW(readv) ROW(writev) ROW(preadv) ROW(preadv64) ROW(preadv2) ROW(preadv64v2) ROW(pwritev) \
  ROW(pwritev64) ROW(pwritev2) ROW(pwritev64v2) ROW(copy_file_range) ROW(splice) ROW(sendfile) \
  ROW(sendfile64) ROW(stat) ROW(stat64) ROW(lstat) ROW(lstat64) ROW(fstat) ROW(fstat64) \
  ROW(__fstat64) ROW(fstatat) ROW(fstatat64) ROW(statx) ROW(__xstat) ROW(__xstat64) \
  ROW(__lxstat) ROW(__lxstat64) ROW(__fxstat) ROW(__fxstat64) ROW(__fxstatat) ROW(__fxstatat64) \
  ROW(lseek) ROW(lseek64) ROW(__lseek) ROW(mmap) ROW(mmap64) ROW(__mmap) ROW(fsync) \
  ROW(fdatasync) ROW(rename) ROW(renameat) ROW(renameat2) ROW(fopen) ROW(fopen64) ROW(fdopen) \
  ROW(freopen) ROW(freopen64) ROW(fclose) ROW(fflush) ROW(fflush_unlocked) ROW(fileno) \
  ROW(fileno_unlocked) ROW(fseek) ROW(fseeko) ROW(fseeko64) ROW(fsetpos) ROW(fsetpos64) \
  ROW(rewind) ROW(fgetc) ROW(getc) ROW(_IO_getc) ROW(fgetc_unlocked) ROW(getc_unlocked) \
  ROW(getchar) ROW(getchar_unlocked) ROW(fputc) ROW(putc) ROW(_IO_putc) ROW(fputc_unlocked) \
  ROW(putc_unlocked) ROW(putchar) ROW(putchar_unlocked) ROW(fread) ROW(fread_unlocked) \
  ROW(__fread_chk) ROW(__fread_unlocked_chk) ROW(fwrite) ROW(fwrite_unlocked) ROW(fgets) \
  ROW(fgets_unlocked) ROW(__fgets_chk) ROW(__fgets_unlocked_chk) ROW(fputs) ROW(fputs_unlocked) \
  ROW(puts) ROW(getw) ROW(putw) ROW(getline) ROW(getdelim) ROW(__getdelim) ROW(fprintf) \
  ROW(printf) ROW(__fprintf_chk) ROW(__printf_chk) ROW(fscanf) ROW(scanf) ROW(__isoc99_fscanf) \
  ROW(__isoc99_scanf) ROW(__isoc23_fscanf) ROW(__isoc23_scanf) ROW(vfprintf) ROW(vprintf) \
  ROW(__vfprintf_chk) ROW(__vprintf_chk) ROW(vfscanf) ROW(vscanf) ROW(__isoc99_vfscanf) \
  ROW(__isoc99_vscanf) ROW(__isoc23_vfscanf) ROW(__isoc23_vscanf)
// clang-format on
// NOLINTEND(cppcoreguidelines-macro-usage)

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
