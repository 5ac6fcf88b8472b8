#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "io/core/error.h"
#include "io/http/curl/transfer.h"
#include "io/http/in_flight_limit.h"
#include "io/http/transport.h"
#include "io/metrics/clock.h"

// The life of a request:
//   1. start() puts it into one of two queues, what somebody waits for or what is read ahead, and
//      wakes the thread.
//   2. The thread takes it when a connection is free and begins an attempt on an idle handle.
//   3. libcurl's multi interface moves the bytes of all attempts. What an attempt brings goes from
//      libcurl's buffer straight to where the request wants it.
//   4. An attempt that ended is answered; or it waits in later_ until it is due, and goes on at 2.
//   5. A request that is given up (HttpRequest::stop) wakes the thread, which ends it wherever it
//      is: in a queue, on a connection, or waiting for its next attempt.
//   6. At the end, every request that is not answered gets a failure.

namespace stoker {
namespace {

void init_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("curl_global_init failed");
}

CURLM* new_multi() {
  init_curl();
  CURLM* const multi = curl_multi_init();
  if (multi == nullptr) throw std::bad_alloc();
  return multi;
}

struct Job {
  HttpRequest request;
  std::promise<HttpAnswer> answer;
  int attempts = 0;
  TimePoint begun = {};  // the last one
  std::unique_ptr<Transfer> transfer = {};
  std::optional<std::stop_callback<std::function<void()>>> on_stop = {};

  bool given_up() const { return request.stop.stop_requested(); }
};
using JobPtr = std::unique_ptr<Job>;

void answer(JobPtr job, HttpAnswer what) {
  job->on_stop.reset();
  job->request = {};  // what it kept may be destroyed by whoever gets the answer
  job->answer.set_value(std::move(what));
}

void answer_given_up(JobPtr job, const char* why) {
  HttpAnswer none{.failure = job->request.shown + ": given up" + why,
                  .cause = "given up",
                  .errno_value = ECANCELED};
  answer(std::move(job), std::move(none));
}

// One thread, libcurl's multi interface, connections that stay open.
class CurlTransport final : public HttpTransport {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  CurlTransport(Options, const Inputs& inputs)
      : inputs_(inputs),
        multi_(new_multi(), [](CURLM* multi) { curl_multi_cleanup(multi); }),
        limit_(inputs_.in_flight),
        random_(std::random_device{}()) {  // other processes wait for other times
    const long connections = static_cast<long>(limit_.most());
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~CurlTransport() override {
    thread_.request_stop();
    curl_multi_wakeup(multi_.get());
    thread_.join();
  }

  std::future<HttpAnswer> start(HttpRequest request) override {
    auto job = std::make_unique<Job>();
    job->request = std::move(request);
    std::future<HttpAnswer> future = job->answer.get_future();
    const std::stop_token stop = job->request.stop;
    if (stop.stop_possible()) {
      job->on_stop.emplace(stop, [this] {
        given_up_ = true;
        curl_multi_wakeup(multi_.get());
      });
    }
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) {
        throw IoError(job->request.shown + ": the tier's transfers have ended", ECANCELED);
      }
      (job->request.ahead ? ahead_ : asked_).push_back(std::move(job));
    }
    // It may have been asked before the job was in its queue.
    if (stop.stop_requested()) given_up_ = true;
    curl_multi_wakeup(multi_.get());
    return future;
  }

 private:
  void run(const std::stop_token& stop) {
    try {
      serve(stop);
    } catch (const std::exception&) {
      // Out of memory, or of descriptors: whoever waits gets an error below.
    }
    abandon();
  }

  // How many more requests may be made now.
  size_t room() const {
    const auto most = static_cast<size_t>(limit_.limit());
    return most - std::min(most, under_way_.size());
  }

  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      start_due();
      int running = 0;
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
        throw std::runtime_error("curl_multi_perform failed");
      }
      finish_done();
      if (given_up_.exchange(false)) end_given_up();
      tell_limit();
      for (JobPtr& job : take(room())) begin(std::move(job));
      curl_multi_poll(multi_.get(), nullptr, 0, pause_ms(), nullptr);
    }
  }

  void tell_limit() {
    if (std::exchange(told_limit_, limit_.limit()) == limit_.limit()) return;
    if (inputs_.most_in_flight) inputs_.most_in_flight(limit_.limit());
  }

  void end_given_up() {
    std::vector<JobPtr> jobs;
    for (auto at = under_way_.begin(); at != under_way_.end();) {
      const auto job = at++;
      if (!job->second->given_up()) continue;
      curl_multi_remove_handle(multi_.get(), job->first);
      jobs.push_back(std::move(job->second));
      under_way_.erase(job);
    }
    const auto given_up = [](const JobPtr& job) { return job->given_up(); };
    for (auto at = later_.begin(); at != later_.end();) {
      const auto job = at++;
      if (given_up(job->second)) jobs.push_back(std::move(later_.extract(job).mapped()));
    }
    {
      const std::lock_guard lock(mutex_);
      for (auto* queue : {&asked_, &ahead_}) {
        const auto gone =
            std::stable_partition(queue->begin(), queue->end(), std::not_fn(given_up));
        std::move(gone, queue->end(), std::back_inserter(jobs));
        queue->erase(gone, queue->end());
      }
    }
    for (JobPtr& job : jobs) answer_given_up(std::move(job), "");
  }

  std::vector<JobPtr> take(size_t most) {
    std::vector<JobPtr> jobs;
    const std::lock_guard lock(mutex_);
    for (auto* queue : {&asked_, &ahead_}) {
      while (!queue->empty() && jobs.size() < most) {
        jobs.push_back(std::move(queue->front()));
        queue->pop_front();
      }
    }
    return jobs;
  }

  void start_due() {
    const auto now = std::chrono::steady_clock::now();
    while (!later_.empty() && later_.begin()->first <= now && room() > 0) {
      begin(std::move(later_.extract(later_.begin()).mapped()));
    }
  }

  void begin(JobPtr job) {
    if (job->given_up()) return answer_given_up(std::move(job), "");
    ++job->attempts;
    job->begun = Clock::now();
    try {
      if (idle_.empty()) idle_.push_back(std::make_unique<Transfer>(inputs_.limits));
      job->transfer = std::move(idle_.back());
      idle_.pop_back();
      job->transfer->begin(job->request, inputs_.headers ? inputs_.headers(job->request)
                                                         : std::vector<std::string>());
      if (curl_multi_add_handle(multi_.get(), job->transfer->handle()) != CURLM_OK) {
        throw std::bad_alloc();
      }
    } catch (const std::exception& error) {
      HttpAnswer none{.failure = job->request.shown + ": " + error.what(),
                      .cause = error.what(),
                      .errno_value = EIO};
      return answer(std::move(job), std::move(none));
    }
    CURL* const handle = job->transfer->handle();
    under_way_.emplace(handle, std::move(job));
  }

  void finish_done() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const handle = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto in_flight = std::ssize(under_way_);
      JobPtr job = std::move(under_way_.extract(handle).mapped());
      TransferOutcome outcome = job->transfer->end(code, host_found_);
      host_found_ = host_found_ || code != CURLE_COULDNT_RESOLVE_HOST;
      curl_multi_remove_handle(multi_.get(), handle);
      idle_.push_back(std::move(job->transfer));
      learn(*job, outcome, in_flight);
      finish(std::move(job), std::move(outcome));
    }
  }

  // From how long an attempt took: how many may be in flight.
  void learn(const Job& job, const TransferOutcome& outcome, int64_t in_flight) {
    if (outcome.again) return limit_.failed();
    if (!outcome.answer.failure.empty() || job.request.method != "GET") return;
    limit_.answered(outcome.answer.head.length.value_or(0), Clock::now() - job.begun, in_flight);
  }

  void finish(JobPtr job, TransferOutcome outcome) {
    const std::string& shown = job->request.shown;
    HttpAnswer& result = outcome.answer;
    result.attempt = job->attempts;
    if (outcome.again && job->attempts <= inputs_.retry.retries) {
      if (!std::exchange(told_, true) && inputs_.retried) {
        inputs_.retried(shown + ": " + result.failure);
      }
      const int64_t wait = wait_ms(inputs_.retry, job->attempts, random_, outcome.retry_after_ms);
      later_.emplace(std::chrono::steady_clock::now() + std::chrono::milliseconds(wait),
                     std::move(job));
      return;
    }
    if (!result.failure.empty() && !result.by_receiver) {
      result.failure = shown + ": " + result.failure;
      if (job->attempts > 1) {
        result.failure +=
            fmt::format(" (after {} attempts{})", job->attempts, inputs_.more_attempts);
      }
    }
    answer(std::move(job), std::move(result));
  }

  // How long the thread may sleep where nothing happens on the connections.
  int pause_ms() const {
    constexpr int64_t kLongest = 1000;
    if (later_.empty() || room() == 0) return kLongest;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        later_.begin()->first - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, kLongest));
  }

  void abandon() {
    std::vector<JobPtr> jobs;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    for (auto& [handle, job] : under_way_) {
      curl_multi_remove_handle(multi_.get(), handle);
      jobs.push_back(std::move(job));
    }
    under_way_.clear();
    for (auto& [due, job] : later_) jobs.push_back(std::move(job));
    later_.clear();
    for (JobPtr& job : take(SIZE_MAX)) jobs.push_back(std::move(job));
    for (JobPtr& job : jobs) answer_given_up(std::move(job), ", for the tier's transfers end");
  }

  const Inputs inputs_;
  const std::unique_ptr<CURLM, void (*)(CURLM*)> multi_;
  std::mutex mutex_;
  std::deque<JobPtr> asked_;
  std::deque<JobPtr> ahead_;
  bool stopped_ = false;
  std::atomic<bool> given_up_ = false;  // some request
  // The thread's own:
  InFlightLimit limit_;
  int64_t told_limit_ = 0;
  Random random_;
  bool host_found_ = false;
  bool told_ = false;
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::map<CURL*, JobPtr> under_way_;
  std::multimap<TimePoint, JobPtr> later_;
  std::jthread thread_;
};

STOKER_REGISTER(HttpTransport, "curl", CurlTransport);

}  // namespace
}  // namespace stoker
