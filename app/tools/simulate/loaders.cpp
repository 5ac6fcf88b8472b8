#include "app/tools/simulate/loaders.h"

#include <algorithm>

#include "io/core/random.h"

namespace stoker {
namespace {

// Without a copy engine nothing is copied ahead.
int64_t device_ahead(const SimulatedWorkload& workload) {
  return workload.costs.copy_ms > 0 ? workload.loader.info().device_batches_ahead : 0;
}

}  // namespace

SimulatedLoaders::SimulatedLoaders(const SimulationInputs& inputs, const SizesOnly& sizes,
                                   SimulatedTiers& tiers, SimulatedCores& cores, EventQueue& events)
    : data_(inputs.options.workload.data),
      read_time_(sim_time(inputs.options.workload.costs.read_ms / 1e3)),
      decode_time_(sim_time(inputs.options.workload.costs.decode_ms / 1e3)),
      copy_time_(sim_time(inputs.options.workload.costs.copy_ms / 1e3)),
      core_share_(inputs.options.workload.costs.core_share),
      cache_bytes_per_ns_(inputs.options.machine.page_cache_mb_per_s * 1e-3),
      per_rank_(std::max<int64_t>(1, inputs.options.workload.loader.info().workers)),
      ranks_per_node_(inputs.options.machine.ranks_per_node),
      host_ahead_(inputs.options.workload.loader.info().host_batches_ahead),
      device_ahead_(device_ahead(inputs.options.workload)),
      ring_(host_ahead_ + device_ahead_ + 2),
      tier_(data_.tier ? std::optional(tiers.find(data_.tier->name)) : std::nullopt),
      sizes_(sizes),
      tiers_(tiers),
      cores_(cores),
      events_(events),
      orders_(simulated_loader(inputs.options.workload), inputs.options.machine.ranks(), sizes,
              inputs.options.workload.seed),
      largest_first_(sizes, Split::train),
      caches_(inputs.options.machine.nodes, inputs.options.machine.page_cache.bytes),
      ranks_(static_cast<size_t>(inputs.options.machine.ranks())),
      slots_(ranks_.size() * static_cast<size_t>(ring_)),
      workers_(ranks_.size() * static_cast<size_t>(per_rank_)),
      free_(workers_.size()) {
  if (!meets()) return;
  for (size_t worker = workers_.size(); worker-- > 0;) {
    ranks_[static_cast<size_t>(rank_of(worker))].idle.push_back(static_cast<uint32_t>(worker));
  }
}

void SimulatedLoaders::start(SimTime now) {
  for (int64_t rank = 0; rank < std::ssize(ranks_); ++rank) {
    for (int64_t i = 0; i < host_ahead_; ++i) submit(rank, now);
    if (copies_ahead()) copy_ahead(rank, now);
  }
}

std::optional<SimTime> SimulatedLoaders::ask(int64_t rank, int64_t batch, SimTime now) {
  if (host_ahead_ == 0) submit(rank, now);
  return ready(rank, batch);
}

std::optional<SimTime> SimulatedLoaders::ready(int64_t rank, int64_t batch) const {
  const SimTime at = slot(rank, batch).ready;
  return at < 0 ? std::nullopt : std::optional(at);
}

void SimulatedLoaders::taken(int64_t rank, int64_t, SimTime now) {
  ++ranks_[static_cast<size_t>(rank)].taken;
  if (copies_ahead()) {
    copy_ahead(rank, now);
  } else if (host_ahead_ > 0) {
    submit(rank, now);
  }
}

// The thread that copies takes a batch when there is room for it; then another one is begun.
void SimulatedLoaders::copy_ahead(int64_t rank, SimTime now) {
  Rank& own = ranks_[static_cast<size_t>(rank)];
  while (own.copied < own.taken + device_ahead_) {
    Slot& next = slot(rank, own.copied);
    if (own.copied >= own.submitted || next.complete < 0) return;
    next.ready = std::max(now, next.complete);
    next.copied = own.copy_free = std::max(next.ready, own.copy_free) + copy_time_;
    ++own.copied;
    submit(rank, next.ready);
  }
}

void SimulatedLoaders::submit(int64_t rank, SimTime now) {
  Rank& own = ranks_[static_cast<size_t>(rank)];
  const int64_t batch = own.submitted++;
  Slot& begun = slot(rank, batch);
  const int64_t samples = orders_.size(rank, batch);
  begun.left = static_cast<int32_t>(samples);
  begun.complete = begun.ready = -1;
  if (!meets()) {
    begun.complete = fill(rank, samples, now);
    if (!copies_ahead()) begun.ready = begun.complete;
    return;
  }
  begun.claims.clear();
  if (!sizes_.equal() && !data_.whole_files) {
    const std::span<const int64_t> all = orders_.samples(rank, batch);
    if (orders_.scattered(batch)) begun.claims = largest_first_.places(all);
  }
  while (!own.idle.empty() && own.claim_batch < own.submitted) {
    const uint32_t worker = own.idle.back();
    own.idle.pop_back();
    claim(worker, now);
  }
}

// The next sample is the worker's who is free first. All take equally long: while no worker is more
// than one sample ahead, each gets one in turn.
SimTime SimulatedLoaders::fill(int64_t rank, int64_t samples, SimTime now) {
  const SimTime each = read_time_ + decode_time_;
  read_ += samples * read_time_;
  decode_ += samples * decode_time_;
  decoded_ += samples;
  const auto free = std::span(free_).subspan(static_cast<size_t>(rank * per_rank_),
                                             static_cast<size_t>(per_rank_));
  SimTime first = INT64_MAX, last = 0;
  for (SimTime& time : free) {
    time = std::max(time, now);
    first = std::min(first, time);
    last = std::max(last, time);
  }
  if (const int64_t rounds = samples / per_rank_ - 1; rounds > 0 && last - first <= each) {
    for (SimTime& time : free) time += rounds * each;
    samples -= rounds * per_rank_;
  }
  SimTime end = now;
  for (; samples > 0; --samples) {
    SimTime& next = *std::ranges::min_element(free);
    next += each;
    end = std::max(end, next);
  }
  return end;
}

void SimulatedLoaders::claim(size_t worker, SimTime now) {
  const int64_t rank = rank_of(worker);
  Rank& own = ranks_[static_cast<size_t>(rank)];
  if (own.claim_batch == own.submitted) {
    own.idle.push_back(static_cast<uint32_t>(worker));
    return;
  }
  const int64_t batch = own.claim_batch;
  const Slot& of = slot(rank, batch);
  const std::span<const int64_t> samples = orders_.samples(rank, batch);
  const auto place = static_cast<size_t>(own.claim_place);
  const int64_t sample = samples[of.claims.empty() ? place : static_cast<size_t>(of.claims[place])];
  int32_t count = 1;
  if (data_.whole_files) {
    const auto same = [&](size_t at) { return sizes_.file(samples[at]) == sizes_.file(sample); };
    while (place + static_cast<size_t>(count) < samples.size() &&
           same(place + static_cast<size_t>(count)))
      ++count;
  }
  own.claim_place += count;
  if (own.claim_place == std::ssize(samples)) {
    ++own.claim_batch;
    own.claim_place = 0;
  }
  workers_[worker].batch = batch;
  workers_[worker].samples = count;
  if (under_way_++ == 0) union_begun_ = now;
  begin_item(worker, sample, now);
}

void SimulatedLoaders::begin_item(size_t worker, int64_t sample, SimTime now) {
  const int64_t rank = rank_of(worker);
  Rank& own = ranks_[static_cast<size_t>(rank)];
  Worker& item = workers_[worker];
  const int64_t file = sizes_.file(sample);
  const int64_t object = data_.whole_files ? file : sample;
  const uint64_t bytes = data_.whole_files ? sizes_.file_bytes(file) : sizes_.bytes(sample);
  item.begun = now;
  if (!tier_ || (data_.whole_files && own.file == file)) return end_item(item, worker, now);
  own.file = file;
  if (caches_.use(rank / ranks_per_node_, object, bytes)) {
    cached_bytes_ += bytes;
    const double took = static_cast<double>(bytes) / cache_bytes_per_ns_;
    return end_item(item, worker, now + static_cast<SimTime>(took));
  }
  item.metadata_left = static_cast<int32_t>(data_.metadata);
  item.requests_left = static_cast<int32_t>(data_.requests);
  item.object = static_cast<uint64_t>(file) + 1;
  item.offset =
      data_.whole_files ? 0 : bytes * static_cast<uint64_t>(sample % data_.samples_per_file);
  item.bytes_left = bytes;
  next_request(worker, now);
}

void SimulatedLoaders::next_request(size_t worker, SimTime now) {
  Worker& item = workers_[worker];
  TierOperation operation{TierOperation::Kind::metadata, 0, item.object, item.offset};
  if (item.metadata_left > 0) {
    --item.metadata_left;
  } else {
    operation.kind = TierOperation::Kind::read;
    operation.bytes = item.bytes_left / static_cast<uint64_t>(item.requests_left);
    item.offset += operation.bytes;
    item.bytes_left -= operation.bytes;
    --item.requests_left;
  }
  const int64_t node = rank_of(worker) / ranks_per_node_;
  const auto finished = tiers_.begin(now, *tier_, node, operation, static_cast<uint32_t>(worker));
  if (finished) read(worker, finished->end);
}

void SimulatedLoaders::read(size_t worker, SimTime end) {
  Worker& item = workers_[worker];
  if (item.metadata_left + item.requests_left == 0) return end_item(item, worker, end);
  events_.add(end, SimEventKind::item, worker);
}

// What a tier has no part in.
void SimulatedLoaders::end_item(Worker& item, size_t number, SimTime end) {
  const SimTime work = item.samples * (read_time_ + decode_time_);
  read_ += end - item.begun;
  decoded_ += item.samples;
  item.read = end;
  const bool shared = cores_.limited() && work > 0;
  item.phase = shared ? Worker::Phase::computing : Worker::Phase::computed;
  events_.add(shared ? end : end + work, SimEventKind::item, number);
}

void SimulatedLoaders::compute(Worker& item, size_t number, SimTime now) {
  const auto work = static_cast<double>(item.samples * (read_time_ + decode_time_));
  cores_.begin(now, rank_of(number) / ranks_per_node_, static_cast<SimTime>(core_share_ * work),
               static_cast<uint32_t>(number));
}

void SimulatedLoaders::computed(size_t worker, SimTime now) {
  Worker& item = workers_[worker];
  const auto work = static_cast<double>(item.samples * (read_time_ + decode_time_));
  item.phase = Worker::Phase::computed;
  events_.add(now + static_cast<SimTime>((1 - core_share_) * work), SimEventKind::item, worker);
}

double SimulatedLoaders::core_s() const {
  return core_share_ * sim_seconds(decoded_ * (read_time_ + decode_time_));
}

std::optional<int64_t> SimulatedLoaders::go_on(size_t worker, SimTime now) {
  Worker& item = workers_[worker];
  if (item.metadata_left + item.requests_left > 0) {
    next_request(worker, now);
    return std::nullopt;
  }
  if (item.phase == Worker::Phase::computing) {
    compute(item, worker, now);
    return std::nullopt;
  }
  item.phase = Worker::Phase::reading;
  const SimTime reading = item.samples * read_time_;
  read_ += reading;
  decode_ += now - item.read - reading;
  const int64_t rank = rank_of(worker);
  if (--under_way_ == 0) union_ += now - union_begun_;
  Slot& of = slot(rank, item.batch);
  of.left -= item.samples;
  const bool complete = of.left == 0;
  if (complete) {
    of.complete = now;
    if (copies_ahead()) {
      copy_ahead(rank, now);
    } else {
      of.ready = now;
    }
  }
  claim(worker, now);
  return complete ? std::optional(rank) : std::nullopt;
}

}  // namespace stoker
