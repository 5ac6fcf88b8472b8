#pragma once

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
