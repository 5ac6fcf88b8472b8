#include "app/tools/mount/fuse_session.h"

#include <fmt/format.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

// Reads that wait in the kernel at once, where others than their readers ask for them (read-ahead).
// Its own limit is 12.
constexpr unsigned kBackground = 1024;

// What libfuse says while a session is being made; null: it goes to standard error.
thread_local std::string* t_said = nullptr;

void take_log(fuse_log_level /*level*/, const char* format, va_list arguments) {
  char text[512];
  if (std::vsnprintf(text, sizeof text, format, arguments) < 0) return;
  if (t_said != nullptr) {
    *t_said += text;
  } else {
    std::fputs(text, stderr);
  }
}

struct Listening {
  explicit Listening(std::string& to) { t_said = &to; }
  ~Listening() { t_said = nullptr; }
};

[[noreturn]] void cannot_mount(const std::string& directory, std::string why) {
  while (!why.empty() && why.back() == '\n') why.pop_back();
  throw Error(
      ExitCode::environment,
      fmt::format("cannot mount on {}: {} (who is not root needs Debian's package fuse3 and "
                  "a /dev/fuse that may be written; a container --device /dev/fuse and "
                  "CAP_SYS_ADMIN)",
                  directory, why.empty() ? "libfuse does not say why" : why));
}

}  // namespace

FuseSession::FuseSession(const std::string& directory, const FuseOptions& options,
                         const fuse_lowlevel_ops& operations, void* user)
    : options_(options), user_(user), stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw_errno("make an event descriptor for", directory, errno);
  if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    cannot_mount(directory, fmt::format("/dev/fuse: {}", std::strerror(errno)));
  }
  std::string said;
  fuse_set_log_func(take_log);
  const Listening listening(said);
  std::string source = "fsname=" + options.source;
  std::ranges::replace(source, ',', '_');  // would begin another option
  std::string how = "ro,subtype=stoker,default_permissions,nosuid,nodev";
  if (options.allow_other) how += ",allow_other";
  char program[] = "stoker", o[] = "-o";
  char* words[] = {program, o, how.data(), o, source.data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(5, words);
  fuse_lowlevel_ops all = operations;
  all.init = [](void* self, fuse_conn_info* connection) {
    static_cast<FuseSession*>(self)->begin(*connection);
  };
  session_ = fuse_session_new(&arguments, &all, sizeof all, this);
  fuse_opt_free_args(&arguments);
  if (session_ == nullptr) cannot_mount(directory, said);
  if (fuse_session_mount(session_, directory.c_str()) != 0) {
    fuse_session_destroy(std::exchange(session_, nullptr));
    cannot_mount(directory, said);
  }
  mounted_ = true;
  const int fd = fuse_session_fd(session_);
  // So that serve() can wait for stop() as well.
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
#ifndef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
  if (options.map_direct) {
    static constexpr fuse_custom_io kIo{
        .writev = write_answer,
        .read = [](int from, void* to, size_t bytes, void*) { return ::read(from, to, bytes); },
        .splice_receive = nullptr,
        .splice_send = nullptr};
    if (fuse_session_custom_io(session_, &kIo, fd) != 0) {
      unmount();
      cannot_mount(directory, "libfuse takes no functions for its reads and writes");
    }
  }
#endif
}

FuseSession::~FuseSession() {
  if (session_ == nullptr) return;
  unmount();
  fuse_session_destroy(session_);
}

// libfuse 3.14 does not know the flag of the protocol that allows such mappings: it is put into its
// answer to the kernel's first request.
ssize_t FuseSession::write_answer(int fd, iovec* parts, int count, void* user) {
  auto* const self = static_cast<FuseSession*>(user);
  if (self->answers_init_) {
    self->answers_init_ = false;
    constexpr size_t kNeeded = offsetof(fuse_init_out, flags2) + sizeof(uint32_t);
    if (count == 2 && parts[1].iov_len >= kNeeded) {
      fuse_init_out answer{};
      std::memcpy(&answer, parts[1].iov_base, kNeeded);
      answer.flags |= 1U << 30;  // FUSE_INIT_EXT: flags2 counts
      answer.flags2 |= 1U << 4;  // FUSE_DIRECT_IO_ALLOW_MMAP
      std::memcpy(parts[1].iov_base, &answer, kNeeded);
    }
  }
  return ::writev(fd, parts, count);
}

void FuseSession::begin(fuse_conn_info& connection) {
  answers_init_ = true;
  connection.max_background = kBackground;
  connection.congestion_threshold = kBackground;
  // Splicing was slower than copying.
  connection.want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
  if (options_.map_direct && (connection.capable & FUSE_CAP_DIRECT_IO_ALLOW_MMAP) != 0) {
    connection.want |= FUSE_CAP_DIRECT_IO_ALLOW_MMAP;
  }
#endif
}

void FuseSession::serve() {
  fuse_buf buffer{};
  pollfd waiting[2] = {{fuse_session_fd(session_), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (fuse_session_exited(session_) == 0) {
    const int got = fuse_session_receive_buf(session_, &buffer);
    if (got > 0) {
      fuse_session_process_buf(session_, &buffer);
    } else if (got == -EAGAIN) {
      ::poll(waiting, 2, -1);
      if (waiting[1].revents != 0) break;
    } else if (got != -EINTR) {
      break;  // 0: unmounted
    }
  }
  std::free(buffer.mem);
}

void FuseSession::stop() {
  fuse_session_exit(session_);
  const uint64_t one = 1;
  static_cast<void>(!::write(stop_.get(), &one, sizeof one));
}

void FuseSession::unmount() {
  if (std::exchange(mounted_, false)) fuse_session_unmount(session_);
}

void FuseSession::drop_pages(uint64_t number) {
  fuse_lowlevel_notify_inval_inode(session_, number, 0, 0);
}

}  // namespace stoker
