#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include <functional>
#include <string>

#include "io/core/system/file.h"

namespace stoker {

// How a file system is mounted. A value.
struct FuseOptions {
  std::string source;        // the first column of `mount`
  bool allow_other = false;  // other users see it, too
  // Files that bypass the page cache can be mapped all the same, where the kernel is 6.6 or later.
  bool map_direct = false;
};

// A read-only file system in user space, mounted by libfuse. Throws Error(ExitCode::environment)
// that names the directory where it cannot be. Thread rules at the methods.
class FuseSession {
 public:
  // Mounts it on `directory`. Nothing is answered before serve(), which calls `operations`, but for
  // their `init`. user: what user_of() gives in them.
  FuseSession(const std::string& directory, const FuseOptions& options,
              const fuse_lowlevel_ops& operations, void* user);
  // unmount().
  ~FuseSession();
  FuseSession(const FuseSession&) = delete;
  FuseSession& operator=(const FuseSession&) = delete;

  // Takes requests and calls the operations, until stop() or until somebody unmounts it. One
  // thread, once.
  void serve();
  // serve() returns soon, from whatever thread this comes.
  void stop();
  // After serve(): the directory is free, also where files are open. Who waits for an answer gets
  // ENOTCONN, who touches a page that is mapped and not in memory SIGBUS. No answers may be under
  // way or come later. Once counts.
  void unmount();
  // Takes the pages of a file out of the page cache, those that are mapped as well. Waits for
  // answers, so not on the threads that give them. Otherwise any thread before unmount().
  void drop_pages(uint64_t number);

  // Valid in an operation.
  static void* user_of(fuse_req_t request) {
    return static_cast<const FuseSession*>(fuse_req_userdata(request))->user_;
  }

 private:
  void begin(fuse_conn_info& connection);
  static ssize_t write_answer(int fd, iovec* parts, int count, void* user);

  const FuseOptions options_;
  void* const user_;
  FileDescriptor stop_;
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
  bool answers_init_ = false;
};

}  // namespace stoker
