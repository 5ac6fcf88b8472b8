#include "io/storage/object/transfers.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

void init_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw std::runtime_error("curl_global_init failed");
}

void* new_multi() {
  init_curl();
  void* const multi = curl_multi_init();
  if (multi == nullptr) throw std::bad_alloc();
  return multi;
}

}  // namespace

int64_t RetryPolicy::wait_ms(int64_t attempts, Random& random, int64_t retry_after_ms) const {
  int64_t most = base_ms;
  for (int64_t i = 1; i < attempts && most < longest_ms; ++i) most *= 2;
  most = std::min(most, longest_ms);
  const auto jitter = static_cast<int64_t>(random.below(static_cast<uint64_t>(most) + 1));
  return std::max(jitter, retry_after_ms);
}

struct Transfers::Job {
  HttpRequest request;
  std::promise<HttpAnswer> answer;
  int attempts = 0;
  std::unique_ptr<Transfer> transfer = {};
};

Transfers::Transfers(Settings settings)
    : settings_(std::move(settings)),
      multi_(new_multi(), [](void* multi) { curl_multi_cleanup(multi); }),
      random_(settings_.seed) {
  const long connections = static_cast<long>(settings_.connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Transfers::~Transfers() {
  thread_.request_stop();
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

std::future<HttpAnswer> Transfers::start(HttpRequest request, Urgency urgency) {
  auto job = std::make_unique<Job>(Job{std::move(request), {}});
  std::future<HttpAnswer> future = job->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_)
      throw IoError(job->request.shown + ": the tier's transfers have ended", ECANCELED);
    (urgency == Urgency::asked ? asked_ : ahead_).push_back(std::move(job));
  }
  curl_multi_wakeup(multi_.get());
  return future;
}

void Transfers::run(const std::stop_token& stop) {
  try {
    serve(stop);
  } catch (const std::exception&) {
    // Out of memory, or of descriptors: whoever waits gets an error below.
  }
  abandon();
}

void Transfers::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    start_due();
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
      throw std::runtime_error("curl_multi_perform failed");
    }
    finish_done();
    const size_t room = static_cast<size_t>(settings_.connections) - under_way_.size();
    for (JobPtr& job : take(room)) begin(std::move(job));
    curl_multi_poll(multi_.get(), nullptr, 0, wait_ms(), nullptr);
  }
}

std::vector<Transfers::JobPtr> Transfers::take(size_t most) {
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

void Transfers::start_due() {
  const auto now = std::chrono::steady_clock::now();
  while (!later_.empty() && later_.begin()->first <= now &&
         under_way_.size() < static_cast<size_t>(settings_.connections)) {
    begin(std::move(later_.extract(later_.begin()).mapped()));
  }
}

void Transfers::begin(JobPtr job) {
  ++job->attempts;
  try {
    if (idle_.empty()) idle_.push_back(std::make_unique<Transfer>(settings_.limits));
    job->transfer = std::move(idle_.back());
    idle_.pop_back();
    job->transfer->begin(
        job->request, settings_.sign ? settings_.sign(job->request) : std::vector<std::string>());
    if (curl_multi_add_handle(multi_.get(), job->transfer->handle()) != CURLM_OK) {
      throw std::bad_alloc();
    }
  } catch (const std::exception& error) {
    HttpAnswer none{.failure = job->request.shown + ": " + error.what(), .errno_value = EIO};
    return answer(std::move(job), std::move(none));
  }
  void* const handle = job->transfer->handle();
  under_way_.emplace(handle, std::move(job));
}

void Transfers::finish_done() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    void* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    JobPtr job = std::move(under_way_.extract(handle).mapped());
    TransferOutcome outcome = job->transfer->end(code);
    curl_multi_remove_handle(multi_.get(), handle);
    idle_.push_back(std::move(job->transfer));
    finish(std::move(job), std::move(outcome));
  }
}

void Transfers::answer(JobPtr job, HttpAnswer answer) {
  job->request = {};  // what it kept may be destroyed by whoever gets the answer
  job->answer.set_value(std::move(answer));
}

HttpAnswer Transfers::get(std::future<HttpAnswer> answer) {
  HttpAnswer got = answer.get();
  if (!got.failure.empty()) throw IoError(got.failure, got.errno_value);
  return got;
}

void Transfers::finish(JobPtr job, TransferOutcome outcome) {
  const std::string& shown = job->request.shown;
  HttpAnswer& result = outcome.answer;
  result.attempt = job->attempts;
  if (outcome.again && job->attempts <= settings_.retry.retries) {
    if (!std::exchange(told_, true) && settings_.retried) {
      settings_.retried(shown + ": " + outcome.failure);
    }
    const int64_t wait = settings_.retry.wait_ms(job->attempts, random_, outcome.retry_after_ms);
    later_.emplace(std::chrono::steady_clock::now() + std::chrono::milliseconds(wait),
                   std::move(job));
    return;
  }
  if (!outcome.refused.empty()) {
    result.failure = outcome.refused;
  } else if (!outcome.failure.empty()) {
    result.failure = shown + ": " + outcome.failure;
    if (job->attempts > 1) {
      result.failure +=
          fmt::format(" (after {} attempts; more by the tier's `retries`)", job->attempts);
    }
  }
  result.errno_value = outcome.errno_value;
  answer(std::move(job), std::move(result));
}

int Transfers::wait_ms() const {
  constexpr int64_t kLongest = 1000;
  const bool full = under_way_.size() >= static_cast<size_t>(settings_.connections);
  if (later_.empty() || full) return kLongest;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      later_.begin()->first - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, kLongest));
}

void Transfers::abandon() {
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
  for (JobPtr& job : jobs) {
    HttpAnswer none{.failure = job->request.shown + ": given up, for the tier's transfers end",
                    .errno_value = ECANCELED};
    answer(std::move(job), std::move(none));
  }
}

}  // namespace stoker
