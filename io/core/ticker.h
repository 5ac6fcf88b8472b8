#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace stoker {

// Calls a function again and again on a thread of its own, with a pause before each call, until the
// object ends; the destructor waits for a call that is under way. Where the process stands still
// meanwhile, that is one pause, however long. The function must not throw.
class Ticker {
 public:
  // name: of the thread, at most 15 characters; it must live for ever. std::system_error where no
  // thread can be started.
  Ticker(const char* name, std::chrono::duration<double> pause, std::function<void()> tick)
      : thread_([this, name, pause, tick = std::move(tick)](const std::stop_token& stop) {
          pthread_setname_np(pthread_self(), name);
          std::unique_lock lock(mutex_);
          while (!wake_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) tick();
        }) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace stoker
