#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/profiler/wrap/attached.h"

// Attaching and detaching while everything else goes on. STOKER_ATTACH_ROUNDS=10000 is the long
// version. Under ThreadSanitizer 400 a process: GCC 12's keeps 1.2 MB for each dlopen, and the
// kernel lets no process fork whose memory is more than the machine's.

namespace stoker {
namespace {

int rounds() {
  const char* const wanted = std::getenv("STOKER_ATTACH_ROUNDS");
  return wanted == nullptr ? 20 : std::atoi(wanted);
}

// Threads that do one thing again and again until they are told to stop, with pauses: those that
// load libraries keep the loader's lock, and after a fork each write faults.
class Load {
 public:
  struct Task {
    std::chrono::microseconds pause;
    std::function<void()> work;
  };
  explicit Load(const std::vector<Task>& tasks) {
    for (const Task& task : tasks) {
      threads_.emplace_back([this, task] {
        while (!stop_) {
          task.work();
          std::this_thread::sleep_for(task.pause);
        }
      });
    }
  }
  ~Load() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

class AttachStress : public testing::Test {
 protected:
  AttachStress() { EXPECT_EQ(pipe(empty_.data()), 0); }
  ~AttachStress() override {
    close(zero_);
    close(file_);
    for (const int end : empty_) close(end);
  }

  void read_zeros() {
    char byte = 1;
    ++reads_begun_;
    if (read(zero_, &byte, 1) != 1 || byte != 0) wrong("read", errno);
  }

  void load_and_unload(const char* path) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return wrong(dlerror());
    char byte = 1;
    ++reads_begun_;
    const auto read_by = symbol<ssize_t (*)(int, void*, size_t)>(library, "probe_read");
    if (read_by(zero_, &byte, 1) != 1) wrong("probe_read", errno);
    dlclose(library);
  }

  void fork_once() {
    const pid_t child = fork();
    if (child == -1) return wrong("fork", errno);
    if (child == 0) {
      char byte = 1;
      for (int i = 0; i < 10; ++i) read(zero_, &byte, 1);
      _exit(byte);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child) return wrong("waitpid", errno);
    if (status != 0) wrong("status of a child", status);
  }

  void cancel_a_read() {
    const auto block = [](void* fd) -> void* {
      char byte = 0;
      read(*static_cast<int*>(fd), &byte, 1);
      return nullptr;
    };
    pthread_t thread{};
    const int refused = pthread_create(&thread, nullptr, block, empty_.data());
    if (refused != 0) return wrong("pthread_create", refused);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) wrong("a cancelled read returned");
  }

  void wrong(const std::string& what, int number = 0) {
    const std::lock_guard lock(mutex_);
    ++wrong_[what + ": " + std::to_string(number)];
  }

  std::map<std::string, int> what_went_wrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }

  // What nobody else calls, so that each call must have been told, once.
  void check_that_calls_are_counted() {
    constexpr int kCalls = 100, kThreads = 2;
    Told& told = Told::instance();
    const int64_t seeks = told.of(Told::seeked), syncs = told.of(Told::synced);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this] {
        for (int call = 0; call < kCalls; ++call) lseek(zero_, 0, SEEK_SET);
      });
    }
    for (const char* path : {PROBE_LAZY_TOO, PROBE_NOW_TOO}) {
      void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
      const auto sync = symbol<int (*)(int)>(library, "probe_sync");
      for (int call = 0; call < 3; ++call) sync(file_);
      dlclose(library);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told.of(Told::seeked) - seeks, kThreads * kCalls);
    EXPECT_EQ(told.of(Told::synced) - syncs, 2 * 3);
  }

  const int zero_ = open("/dev/zero", O_RDONLY);
  const int file_ = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  std::array<int, 2> empty_{};
  std::atomic<int64_t> reads_begun_{0};
  std::mutex mutex_;
  std::map<std::string, int> wrong_;  // how often, by what went wrong
};

TEST_F(AttachStress, every_call_is_counted_once_beside_loading_forks_and_cancelled_reads) {
  Told::instance().clear();
  using std::chrono_literals::operator""us, std::chrono_literals::operator""ms;
  const Load load({{0us, [this] { read_zeros(); }},
                   {1ms, [this] { load_and_unload(PROBE_LAZY); }},
                   {1ms, [this] { load_and_unload(PROBE_NOW); }},
                   {50ms, [this] { fork_once(); }},
#ifndef __SANITIZE_ADDRESS__  // what it knows of a stack is wrong after a cancellation
                   {1ms, [this] { cancel_a_read(); }}
#endif
  });
  const int wanted = rounds();
  for (int round = 0; round < wanted && !HasFailure(); ++round) {
    Attachment::instance().attach(wrapped_functions());
    count_calls(true);
    check_that_calls_are_counted();
    count_calls(false);
    Attachment::instance().detach();
    const int64_t seeks = Told::instance().of(Told::seeked);
    lseek(zero_, 0, SEEK_SET);
    EXPECT_EQ(Told::instance().of(Told::seeked), seeks);
    EXPECT_EQ(Attachment::instance().figures().slots, 0);
    EXPECT_THAT(what_went_wrong(), testing::IsEmpty()) << "in round " << round;
  }
  EXPECT_LE(Told::instance().of(Told::read), reads_begun_);
  EXPECT_GT(Told::instance().of(Told::read), 0);
}

}  // namespace
}  // namespace stoker
