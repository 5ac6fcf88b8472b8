#include <unistd.h>

// A library that calls functions of libc through its slots. PROBE_OWN: it exports one of them.

extern "C" {

#ifdef PROBE_OWN
pid_t getppid() { return -7; }
#endif

int probe_parent() { return getppid(); }
ssize_t probe_read(int fd, void* data, size_t bytes) { return read(fd, data, bytes); }
int probe_sync(int fd) { return fsync(fd); }

}  // extern "C"
