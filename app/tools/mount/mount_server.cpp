#include "app/tools/mount/mount_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <utility>

#include "app/tools/mount/mount_threads.h"
#include "io/core/error.h"
#include "io/storage/emulated/tier_model.h"

namespace stoker {
namespace {

// The inode number of the file of zeros. No file of a tree has it.
constexpr uint64_t kProbeNumber = UINT64_MAX - 1;
constexpr Clock::duration kProbeLatency = std::chrono::microseconds(200);
constexpr size_t kMostIdle = 64;

const Storage& data_of(const Storage& tier) {
  const auto* const emulated = dynamic_cast<const Emulates*>(&tier);
  return emulated == nullptr ? tier : emulated->data();
}
TierModel* model_of(const Storage& tier) {
  const auto* const emulated = dynamic_cast<const Emulates*>(&tier);
  return emulated == nullptr ? nullptr : &emulated->model();
}

TierDevice probe_device() {
  constexpr double kFast = 1e15;
  TierCosts costs;
  costs.read_bytes_per_s = kFast;
  costs.read_latency = kProbeLatency;
  return {costs, std::make_shared<TierShare>()};
}

}  // namespace

struct MountServer::Probe {
  TierModel model{probe_device()};
  const MountTree::Node file{.directory = false, .bytes = uint64_t{1} << 40};
  const std::string name = fmt::format(".stoker-probe-{:08x}", std::random_device()());
  std::atomic<bool> on{false};
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<ProbeTimes> times;
};

MountRequest::~MountRequest() {
  if (request != nullptr) fuse_reply_none(request);
}

MountServer::MountServer(const Storage& tier, const MountTree& tree, TierMeter& meter,
                         Options options)
    : data_(data_of(tier)),
      model_(model_of(tier)),
      tree_(tree),
      meter_(meter),
      options_(std::move(options)),
      probe_(std::make_unique<Probe>()),
      session_(options_.directory, options_.fuse, mount_operations(), this),
      timer_([this](const ReplySchedule::Due& due) {
        due.request->due = due;
        part_done(*due.request);
      }),
      pool_(options_.threads, model_ != nullptr, [this](MountRequest& request) { fetch(request); }),
      receiver_([this] {
        realtime_ = model_ == nullptr || take_realtime_priority();
        session_.serve();
        ended_ = true;
        options_.wake();
      }) {}

MountServer::~MountServer() {
  end();
  for (const fuse_req_t request : drop_requests_) fuse_reply_none(request);
}

void MountServer::end() {
  session_.stop();
  if (receiver_.joinable()) receiver_.join();
  {
    const std::lock_guard lock(answering_mutex_);
    answering_ = false;
  }
  session_.unmount();
}

const MountTree::Node* MountServer::node(uint64_t number) const {
  if (number == kProbeNumber) return &probe_->file;
  return tree_.node(number);
}

uint64_t MountServer::find(uint64_t directory, const char* name) const {
  if (probe_->on && probe_->name == name) return kProbeNumber;
  return tree_.find(directory, name);
}

MountRequest& MountServer::begin(fuse_req_t request, TierOp op, uint64_t number) {
  std::list<MountRequest>::iterator at;
  {
    const std::lock_guard lock(requests_mutex_);
    if (idle_.empty()) idle_.emplace_front();
    at = idle_.begin();
    requests_.splice(requests_.begin(), idle_, at);
  }
  at->at = at;
  at->request = request;
  at->op = op;
  at->number = number;
  at->error = 0;
  at->due = {};
  at->received = at->ready = Clock::now();
  meter_.begin(op, at->received);
  return *at;
}

void MountServer::forget(MountRequest& request) {
  request.request = nullptr;
  const std::lock_guard lock(requests_mutex_);
  if (idle_.size() < kMostIdle) {
    idle_.splice(idle_.begin(), requests_, request.at);
  } else {
    requests_.erase(request.at);
  }
}

// Gives the request to its device. If that fails, so does the request.
void MountServer::charge(MountRequest& request, const TierOperation& operation) {
  TierModel& model = request.number == kProbeNumber ? probe_->model : *model_;
  try {
    timer_.arrive(&request, fuse_req_ctx(request.request)->pid, model, operation);
  } catch (const IoError& error) {
    request.error = error.errno_value() == 0 ? EIO : error.errno_value();
    part_done(request);
  }
}

void MountServer::open(fuse_req_t request, uint64_t number, const fuse_file_info& file) {
  MountRequest& open = begin(request, TierOp::open, number);
  open.file = file;
  open.offset = open.bytes = 0;
  // No read would tell that an empty file is not there any more, or not empty.
  const bool look = number != kProbeNumber && node(number)->bytes == 0;
  open.parts = model_ != nullptr && look ? 2 : 1;
  if (number == kProbeNumber) {
    open.file.direct_io = 1;
    return part_done(open);
  }
  open.file.direct_io = options_.mode == MountMode::direct ? 1U : 0U;
  {
    const std::lock_guard lock(files_mutex_);
    OpenFile& state = open_files_[number];
    // Without it the kernel drops the pages that the file has.
    open.file.keep_cache = options_.mode != MountMode::drop || state.times > 0 ? 1U : 0U;
    ++state.times;
    state.cached = true;
  }
  if (model_ != nullptr) charge(open, {TierOperation::Kind::metadata});
  if (look) return pool_.push(open);
  if (model_ == nullptr) part_done(open);
}

void MountServer::release(uint64_t number) {
  const std::lock_guard lock(files_mutex_);
  if (const auto found = open_files_.find(number); found != open_files_.end()) {
    --found->second.times;
  }
}

void MountServer::read(fuse_req_t request, uint64_t number, uint64_t offset, uint64_t bytes) {
  const uint64_t end = node(number)->bytes;
  bytes = offset < end ? std::min(bytes, end - offset) : 0;
  // A file system knows its files' sizes, and asks no device for what is behind their ends.
  if (bytes == 0) {
    fuse_reply_buf(request, nullptr, 0);
    return;
  }
  MountRequest& read = begin(request, TierOp::read, number);
  read.offset = offset;
  read.bytes = bytes;
  const bool modelled = model_ != nullptr || number == kProbeNumber;
  read.parts = modelled ? 2 : 1;
  if (modelled) {
    charge(read, {TierOperation::Kind::read, bytes, tier_object(node(number)->key), offset});
  }
  pool_.push(read);
}

// The kernel knows a file's size from the listing. At its end a byte more is asked for, because a
// longer file would be cut there.
void MountServer::fetch_file(MountRequest& request, const MountTree::Node& file) {
  const bool at_end = request.offset + request.bytes == file.bytes;
  data_.read(file.key, request.data, {request.offset, request.bytes + (at_end ? 1 : 0)});
  if (request.data.size() == request.bytes) return;
  request.error = EIO;
  if (!changed_.exchange(true)) {
    meter_.add_condition("an object is not as long as when it was mounted: " + file.key +
                         "; mount the tier again");
  }
}

void MountServer::fetch(MountRequest& request) {
  const TimePoint begun = Clock::now();
  try {
    if (request.number == kProbeNumber) {
      std::memset(request.data.resize(request.bytes), 0, request.bytes);
    } else {
      fetch_file(request, *node(request.number));
    }
  } catch (const IoError& error) {
    request.error = error.errno_value() == 0 ? EIO : error.errno_value();
  } catch (const std::bad_alloc&) {
    request.error = ENOMEM;
  }
  // As if it had begun at once, because waiting for a processor is not the tier's slowness.
  request.ready = request.received + (Clock::now() - begun);
  part_done(request);
}

void MountServer::part_done(MountRequest& request) {
  if (request.parts.fetch_sub(1, std::memory_order_acq_rel) == 1) answer(request);
}

// Before the reader can go on, so that it finds itself counted.
void MountServer::count(MountRequest& request) {
  const ReplySchedule::Due& due = request.due;
  const bool failed = request.error != 0;
  Clock::duration modelled{};
  if (due.model != nullptr) {
    request.overrun = std::max((request.ready - request.received) - (due.modelled - due.arrival),
                               Clock::duration{});
    due.model->passed(due.arrival, due.modelled, due.modelled + request.overrun);
    modelled = due.modelled - due.arrival;
  }
  if (request.number == kProbeNumber) {
    meter_.end(request.op, Clock::now());
    return;
  }
  TimePoint end = Clock::now();
  if (failed) {
    meter_.failed(request.op, request.error);
  } else {
    end = meter_.finished(request.op, request.received, request.bytes);
  }
  meter_.end(request.op, end);
  const Clock::duration waited = end - request.received;
  request.op == TierOp::read ? statistics_.read(request.bytes, failed, waited, modelled)
                             : statistics_.opened(failed, waited, modelled);
}

// False: nobody waits for the answer any more.
bool MountServer::send(MountRequest& request) {
  const std::shared_lock lock(answering_mutex_);
  const fuse_req_t to = std::exchange(request.request, nullptr);
  if (!answering_) {
    fuse_reply_none(to);
    return false;
  }
  if (request.error != 0) return fuse_reply_err(to, request.error) == 0;
  if (request.op == TierOp::open) return fuse_reply_open(to, &request.file) == 0;
  return fuse_reply_buf(to, reinterpret_cast<const char*>(request.data.data()), request.bytes) == 0;
}

void MountServer::answer(MountRequest& request) {
  count(request);
  const ReplySchedule::Due& due = request.due;
  if (due.model != nullptr) timer_.answering(due, request.overrun);
  const bool sent = send(request);
  const TimePoint now = Clock::now();
  if (request.op == TierOp::open && (!sent || request.error != 0)) release(request.number);
  // Time by which the data were late is not given back.
  if (due.model != nullptr) timer_.answered(due, now - request.overrun);
  if (request.number == kProbeNumber && request.op == TierOp::read) {
    const std::lock_guard lock(probe_->mutex);
    probe_->times = {request.received, due.modelled, now};
    probe_->answered.notify_one();
  }
  forget(request);
}

void MountServer::ask_for_drop(fuse_req_t request) {
  {
    const std::lock_guard lock(files_mutex_);
    drop_requests_.push_back(request);
  }
  options_.wake();
}

void MountServer::drop() {
  std::vector<fuse_req_t> asked;
  std::vector<uint64_t> cached;
  {
    const std::lock_guard lock(files_mutex_);
    asked.swap(drop_requests_);
    for (auto file = open_files_.begin(); file != open_files_.end();) {
      if (file->second.cached) cached.push_back(file->first);
      file->second.cached = file->second.times > 0;
      file = file->second.times > 0 ? std::next(file) : open_files_.erase(file);
    }
  }
  for (const uint64_t number : cached) session_.drop_pages(number);
  statistics_.dropped(std::ssize(cached));
  const std::string count = std::to_string(cached.size());
  for (const fuse_req_t request : asked) reply_attribute(request, count);
}

std::string MountServer::begin_probe() {
  probe_->on = true;
  return options_.directory + "/" + probe_->name;
}

MountServer::ProbeTimes MountServer::probe_times() {
  std::unique_lock lock(probe_->mutex);
  probe_->answered.wait(lock, [this] { return probe_->times.has_value(); });
  return *std::exchange(probe_->times, std::nullopt);
}

void MountServer::end_probe() { probe_->on = false; }

}  // namespace stoker
