#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/core/random.h"
#include "io/storage/object/http_message.h"
#include "io/storage/object/transfer.h"

namespace stoker {

// When and how often a request is made again. A value.
//
// Before attempt n + 1 there is a wait between 0 and base * 2^(n - 1), at most `longest`: "full
// jitter" (Brooker, "Exponential backoff and jitter", AWS 2015), so that many readers whom a server
// turned away do not come back at once. Never less than the server asked for by Retry-After.
struct RetryPolicy {
  int64_t retries = 6;
  int64_t base_ms = 100;
  int64_t longest_ms = 10'000;
  // The wait before the next attempt, when so many were made.
  int64_t wait_ms(int64_t attempts, Random& random, int64_t retry_after_ms) const;
};

// All HTTP requests of one tier: one thread, libcurl's multi interface, connections that stay open.
// Any thread.
//
// A request that fails in a way that may pass (429, 500, 502, 503, 504, 408, a connection that is
// cut or refused, the time limit) is made again, by the policy. When none is left, its future has a
// failure that names the request, the cause and what can be done. Any other answer of a server,
// also 404, is an answer.
class Transfers {
 public:
  struct Settings {
    int64_t connections = 16;  // requests in flight
    TransferLimits limits = {};
    RetryPolicy retry = {};
    uint64_t seed = 0;  // of the waits
    // Headers that are made for each attempt, such as a signature, by the transfers' thread.
    std::function<std::vector<std::string>(const HttpRequest&)> sign = {};
    // Of the first request that is made again: why. By the transfers' thread.
    std::function<void(const std::string&)> retried = {};
  };
  // asked: somebody waits; ahead: it comes after all of the other kind.
  enum class Urgency { asked, ahead };

  explicit Transfers(Settings settings);
  // What is not answered yet fails. Waits for no server.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Never blocks.
  std::future<HttpAnswer> start(HttpRequest request, Urgency urgency = Urgency::asked);
  // Waits for it. IoError where it failed.
  static HttpAnswer get(std::future<HttpAnswer> answer);
  // start() and get().
  HttpAnswer perform(HttpRequest request) { return get(start(std::move(request))); }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Job;
  using JobPtr = std::unique_ptr<Job>;

  void run(const std::stop_token& stop);
  void serve(const std::stop_token& stop);
  std::vector<JobPtr> take(size_t most);
  void start_due();
  void begin(JobPtr job);
  void finish_done();
  void finish(JobPtr job, TransferOutcome outcome);
  static void answer(JobPtr job, HttpAnswer answer);
  int wait_ms() const;
  void abandon();

  const Settings settings_;
  std::unique_ptr<void, void (*)(void*)> multi_;
  std::mutex mutex_;
  std::deque<JobPtr> asked_;
  std::deque<JobPtr> ahead_;
  bool stopped_ = false;
  // Of the thread:
  Random random_;
  bool told_ = false;
  std::map<void*, JobPtr> under_way_;
  std::multimap<TimePoint, JobPtr> later_;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::jthread thread_;
};

}  // namespace stoker
