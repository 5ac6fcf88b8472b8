// With STOKER_PORTABLE, libstoker_core has this function of libstdc++ itself. It is the only one
// that GCC 12's headers take in its version of GCC 12 (GLIBCXX_3.4.30, where it became noexcept),
// so without it a wheel runs where GCC 11's libstdc++ is: Red Hat's 9 and its like. The same code
// as libstdc++'s.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

void std::condition_variable::wait(std::unique_lock<std::mutex>& lock) noexcept {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
