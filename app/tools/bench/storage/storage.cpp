#include "app/tools/bench/storage/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "app/base/result_table.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/system/memory.h"
#include "io/metrics/clock.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/file_tree.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

// Bytes that neither a file system nor a device can make smaller.
HostMemory noise(uint64_t bytes, uint64_t seed) {
  HostMemory memory = allocate_huge(bytes, true);
  Random random(seed);
  for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t value = random.next();
    std::memcpy(memory.data.get() + i, &value, std::min(sizeof value, bytes - i));
  }
  return memory;
}

// The transfers of a thread in their order; each comes once.
std::vector<uint64_t> transfer_order(const StorageWorkload& workload, uint64_t seed) {
  std::vector<uint64_t> order(workload.block_bytes / workload.transfer_bytes);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (!workload.random) return order;
  Random random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace

// The threads of one round.
class StorageBench::Round {
 public:
  Round(StorageBench& bench, const StorageWorkload& workload, uint64_t seed)
      : bench_(bench),
        workload_(workload),
        keys_(bench.keys(workload)),
        start_(workload.threads, Begin{this}),
        workers_(static_cast<size_t>(workload.threads)) {
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].order = transfer_order(workload, mix(seed, i));
      workers_[i].seconds.reserve(workers_[i].order.size());
      workers_[i].memory = noise(workload.transfer_bytes, mix(seed, i, 1));
    }
    if (workload.objects) return;
    for (const std::string& key : keys_) open_.push_back(open(key));
    bench_.direct_ = open_.front().direct();
  }

  StorageRound run() {
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < workers_.size(); ++i) threads.emplace_back([this, i] { work(i); });
    }
    if (error_) std::rethrow_exception(error_);
    StorageRound round;
    std::vector<double> seconds;
    TimePoint last = begun_;
    for (const Worker& worker : workers_) {
      last = std::max(last, worker.done);
      round.transfers += static_cast<int64_t>(worker.seconds.size());
      seconds.insert(seconds.end(), worker.seconds.begin(), worker.seconds.end());
    }
    round.seconds = stoker::seconds(last - begun_);
    round.bytes = static_cast<uint64_t>(round.transfers) * workload_.transfer_bytes;
    round.first_done_s = stoker::seconds(first_done_ - begun_);
    round.first_done_bytes = first_done_transfers_ * workload_.transfer_bytes;
    if (seconds.empty()) return round;
    const Spread spread = stoker::spread(std::move(seconds));
    round.p50_s = spread.median;
    round.p99_s = spread.p99;
    return round;
  }

 private:
  struct Begin {
    Round* round;
    void operator()() noexcept { round->begun_ = Clock::now(); }
  };
  struct Worker {
    std::vector<uint64_t> order;
    std::vector<double> seconds;
    HostMemory memory;
    Buffer buffer;  // what objects are read into
    std::atomic<uint64_t> transfers = 0;
    TimePoint done;
  };

  TreeFile open(const std::string& key) const {
    const FileAccess access = bench_.files_->access();
    return workload_.write ? bench_.files_->create(key, access) : bench_.files_->open(key, access);
  }

  void work(size_t i) {
    start_.arrive_and_wait();
    Worker& worker = workers_[i];
    try {
      workload_.objects ? work_on_objects(i, worker) : work_on_files(i, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
    worker.done = Clock::now();
    if (!someone_is_done_.exchange(true)) {
      first_done_ = worker.done;
      for (const Worker& other : workers_) first_done_transfers_ += other.transfers;
    }
  }

  // `transfer` gets the offset of each.
  template <class F>
  void transfers(size_t i, Worker& worker, const F& transfer) {
    const uint64_t base = workload_.shared ? i * workload_.block_bytes : 0;
    for (const uint64_t number : worker.order) {
      const TimePoint begin = Clock::now();
      if (failed_ || bench_.stop_requested_()) return;
      if (workload_.limit_s > 0 && stoker::seconds(begin - begun_) > workload_.limit_s) return;
      transfer(base + number * workload_.transfer_bytes);
      worker.seconds.push_back(stoker::seconds(Clock::now() - begin));
      worker.transfers.store(worker.transfers + 1, std::memory_order_relaxed);
    }
  }

  void work_on_files(size_t i, Worker& worker) {
    const TreeFile& file = open_[workload_.shared ? 0 : i];
    const std::span<uint8_t> memory(worker.memory.data.get(), workload_.transfer_bytes);
    transfers(i, worker, [&](uint64_t offset) {
      workload_.write ? file.write_at(offset, memory) : file.read_at(offset, memory);
    });
    if (workload_.write && workload_.sync) file.sync();
  }

  void work_on_objects(size_t i, Worker& worker) {
    const std::string& key = keys_[workload_.shared ? 0 : i];
    if (!workload_.write) {
      return transfers(i, worker, [&](uint64_t offset) {
        bench_.tier_.read(key, worker.buffer, {offset, workload_.transfer_bytes});
      });
    }
    const std::unique_ptr<ObjectWriter> writer = bench_.tier_.create(key);
    transfers(i, worker, [&](uint64_t) {
      writer->append({worker.memory.data.get(), workload_.transfer_bytes});
    });
    writer->commit();
  }

  StorageBench& bench_;
  const StorageWorkload& workload_;
  const std::vector<std::string> keys_;
  std::barrier<Begin> start_;
  std::vector<Worker> workers_;
  std::vector<TreeFile> open_;
  TimePoint begun_;
  std::atomic<bool> someone_is_done_ = false;
  TimePoint first_done_;
  uint64_t first_done_transfers_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

StorageBench::StorageBench(Storage& tier, std::function<bool()> stop_requested,
                           const std::string& below)
    : tier_(tier),
      files_(files_of(tier)),
      stop_requested_(std::move(stop_requested)),
      folder_(tier, bench_folder_name(below)),
      direct_(files_ != nullptr && files_->access() == FileAccess::direct) {}

std::vector<std::string> StorageBench::keys(const StorageWorkload& workload) const {
  const std::string begin = folder_.path() + (workload.write ? "/written-" : "/read-");
  if (workload.shared) return {begin + "shared"};
  std::vector<std::string> keys;
  for (int64_t i = 0; i < workload.threads; ++i) keys.push_back(begin + std::to_string(i));
  return keys;
}

void StorageBench::remove(const std::string& key) {
  if (files_ != nullptr) {
    files_->remove(key);
  } else {
    tier_.remove(key);
  }
  there_.erase(key);
}

void StorageBench::write_object(const std::string& key, uint64_t bytes) {
  remove(key);
  there_[key] = bytes;
  const HostMemory memory = noise(1 << 20, mix(bytes, there_.size()));
  const std::unique_ptr<ObjectWriter> writer = tier_.create(key);
  for (uint64_t done = 0; done < bytes && !stop_requested_();) {
    const uint64_t piece = std::min<uint64_t>(memory.bytes, bytes - done);
    writer->append({memory.data.get(), piece});
    done += piece;
  }
  writer->commit();
}

void StorageBench::prepare(const StorageWorkload& workload) {
  const auto refuse = [](const std::string& why) { throw Error(ExitCode::config, why); };
  if (workload.transfer_bytes == 0 || workload.block_bytes % workload.transfer_bytes != 0) {
    refuse(fmt::format("--block-size {} must be a multiple of --transfer-size {}",
                       workload.block_bytes, workload.transfer_bytes));
  }
  if (!workload.objects && files_ == nullptr) refuse("this tier has no files: give --objects");
  if (workload.objects && workload.write && (workload.random || workload.shared)) {
    refuse(
        "an object is written from its begin to its end, by one thread: "
        "give --pattern sequential and no --shared, or leave --objects out");
  }
  if (workload.cold && files_ == nullptr) {
    refuse("this tier has no files that could be evicted: leave --cold out");
  }
  const bool direct = files_ != nullptr && files_->access() == FileAccess::direct;
  if (!workload.objects && direct && workload.transfer_bytes % kDirectAlignment != 0) {
    refuse("--transfer-size must be a multiple of 4096: this tier is read past the page cache");
  }
  if (workload.write) return;
  const uint64_t bytes =
      workload.block_bytes * static_cast<uint64_t>(workload.shared ? workload.threads : 1);
  for (const std::string& key : keys(workload)) {
    if (const auto found = there_.find(key); found == there_.end() || found->second < bytes) {
      write_object(key, bytes);
    }
  }
}

StorageRound StorageBench::run(const StorageWorkload& workload, uint64_t seed) {
  StorageRound before;
  const std::vector<std::string> keys = this->keys(workload);
  if (workload.cold && !workload.write) {
    const Residency left = evict(*files_, keys);
    if (static_cast<size_t>(left.files) == keys.size()) before.cached = left.cached_share();
    before.counts = is_cold(before.cached.value_or(1));
  }
  if (workload.write) {
    for (const std::string& key : keys) {
      remove(key);
      there_[key] = workload.block_bytes;
    }
  }
  StorageRound round = Round(*this, workload, seed).run();
  round.cached = before.cached;
  round.counts = before.counts;
  if (workload.write) {
    for (const std::string& key : keys) remove(key);
  }
  return round;
}

std::vector<double> StorageBench::metadata(int64_t count) {
  std::vector<double> seconds;
  if (files_ == nullptr) return seconds;
  for (int64_t i = 0; i < count && !stop_requested_(); ++i) {
    const std::string key = folder_.path() + "/metadata-" + std::to_string(i);
    const TimePoint begin = Clock::now();
    { const TreeFile made = files_->create(key, FileAccess::buffered); }
    const TimePoint between = Clock::now();
    { const TreeFile opened = files_->open(key, FileAccess::buffered); }
    seconds.push_back(stoker::seconds(between - begin));
    seconds.push_back(stoker::seconds(Clock::now() - between));
    files_->remove(key);
  }
  return seconds;
}

}  // namespace stoker
