#pragma once

#include <cstdint>

namespace stoker {

// What a system call waits for, and which of its arguments say on what. A value.
struct CallKind {
  enum class What {
    descriptor,  // on a descriptor, which may be a file, a pipe, a socket, ...
    path,        // on a file that it names
    file,        // on files, by means that are not looked at: io_uring, asynchronous I/O, sync
    lock,        // futex, semaphores
    poll,        // poll, ppoll
    select,      // select, pselect6
    epoll,       // epoll_wait and its kin
    sleep,       // of its own accord
    children,    // wait4, waitid
    memory,      // mmap, brk and their kin: a lock of the address space, or pages of a file
    other
  };
  What what = What::other;
  int argument = 0;  // with the descriptor or the path; before a path, its folder's descriptor
};

// Of a call's number on this machine. A pure function.
CallKind kind_of_call(int64_t number);

}  // namespace stoker
