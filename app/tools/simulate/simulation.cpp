// How the parts meet:
//
// 1. Ranks go in step, as gradients are exchanged after every step: all trainers ask for their
//    batch at one time, and a step ends for all when the slowest has computed. So ranks need no
//    events of their own; what happens between two askings is the loaders' and the checkpoints'.
// 2. A trainer's step is that of an emulated device (io/device/emulated.cpp): it is submitted when
//    the batch is there and no more than queue_depth steps are outstanding, starts when the device
//    is free and the batch has been copied, and with many ranks is submitted when all have got
//    there.
// 3. Where cores are modelled, what threads compute is an event when it ends: of the loaders'
//    workers, of a step that cores compute (from when its rank has got the batch), and of the
//    trainers between two steps.
// 4. Idle time is attributed as by IdleAttribution (io/metrics/idle.h).

#include "app/tools/simulate/simulation.h"

#include <time.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/tools/simulate/checkpoints.h"
#include "app/tools/simulate/loaders.h"
#include "app/tools/simulate/machine.h"
#include "io/core/random.h"
#include "io/device/step_time.h"

namespace stoker {
namespace {

// Seconds that a core has worked for this thread.
double core_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Simulation {
 public:
  explicit Simulation(const SimulationInputs& inputs)
      : workload_(inputs.options.workload),
        machine_(inputs.options.machine),
        ranks_(machine_.ranks()),
        sizes_(workload_.data, inputs.sample_bytes),
        tiers_(machine_, workload_.seed, events_),
        cores_(machine_, events_),
        loaders_(inputs, sizes_, tiers_, cores_, events_),
        checkpoints_(inputs, tiers_, events_, loaders_.workers()),
        steps_(std::min(workload_.epochs * loaders_.batches(),
                        workload_.max_steps.value_or(INT64_MAX))),
        got_(static_cast<size_t>(ranks_)),
        copy_free_(static_cast<size_t>(ranks_)),
        computed_(static_cast<size_t>(ranks_)),
        ends_(static_cast<size_t>(workload_.costs.queue_depth) + 1) {}

  SimulationResult run() {
    const double begin = core_seconds();
    const SimTime start = sim_time(workload_.costs.start_ms / 1e3);
    events_until(start);
    loaders_.start(start);
    SimTime now = start, epoch_begin = 0;
    for (int64_t step = 0; step < steps_; ++step) {
      get_batches(step, now);
      now = finish_step(step, now);
      const bool epoch_ended = (step + 1) % loaders_.batches() == 0;
      const int64_t epochs = (step + 1) / loaders_.batches();
      now = offer({step + 1, epoch_ended, epochs, step + 1 == steps_}, now);
      if (epoch_ended)
        result_.epochs_s.push_back(sim_seconds(now - std::exchange(epoch_begin, now)));
    }
    finish(std::max(now, last_end()));
    result_.simulated_in_s = core_seconds() - begin;
    return result_;
  }

 private:
  SimTime& end_of(int64_t step) { return ends_[static_cast<size_t>(step) % ends_.size()]; }
  SimTime last_end() const { return last_end_; }

  void happen() {
    const SimEvent event = events_.take();
    switch (event.kind) {
      case SimEventKind::request:
        if (const auto done = tiers_.go_on(event.who)) passed(done->owner, done->end);
        return;
      case SimEventKind::checkpoint:
        return checkpoints_.go_on(event.who, event.time);
      case SimEventKind::item:
        if (const auto rank = loaders_.go_on(event.who, event.time)) got(*rank, event.time);
        return;
      case SimEventKind::core:
        if (const auto owner = cores_.go_on(event.who, event.time)) computed(*owner, event.time);
    }
  }
  void passed(size_t owner, SimTime end) {
    owner < loaders_.workers() ? loaders_.read(owner, end) : checkpoints_.passed(owner, end);
  }
  void events_until(SimTime time) {
    while (!events_.empty() && events_.next_time() <= time) happen();
  }

  // All trainers ask at `asked`.
  void get_batches(int64_t step, SimTime asked) {
    events_until(asked);
    asked_for_ = step;
    waiting_ = ranks_;
    std::ranges::fill(got_, -1);
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const std::optional<SimTime> ready = loaders_.ask(rank, step, asked);
      if (ready) take(rank, std::max(*ready, asked));
    }
    while (waiting_ > 0) happen();
    asked_for_ = -1;
  }
  // A batch of a rank has been completed.
  void got(int64_t rank, SimTime now) {
    if (asked_for_ < 0 || got_[static_cast<size_t>(rank)] >= 0) return;
    if (loaders_.ready(rank, asked_for_)) take(rank, now);
  }
  void take(int64_t rank, SimTime now) {
    got_[static_cast<size_t>(rank)] = now;
    --waiting_;
    loaders_.taken(rank, asked_for_, now);
    if (steps_on_cores()) begin_on_cores(rank, duration(rank, asked_for_), step_threads_, now);
  }

  // Cores compute the steps, and there are not enough for all.
  bool steps_on_cores() const { return cores_.limited() && step_threads_ > 0; }
  // Threads of a trainer compute for as long as this each, were they alone.
  void begin_on_cores(int64_t rank, SimTime took, int64_t threads, SimTime now) {
    const auto work = static_cast<SimTime>(workload_.costs.core_share * static_cast<double>(took));
    for (int64_t thread = 0; thread < threads; ++thread) {
      cores_.begin(now, rank / machine_.ranks_per_node, work,
                   static_cast<uint32_t>(loaders_.workers() + static_cast<size_t>(rank)));
    }
    computing_ += threads;
  }
  void computed(size_t owner, SimTime now) {
    if (owner < loaders_.workers()) return loaders_.computed(owner, now);
    computed_[owner - loaders_.workers()] = now;
    --computing_;
  }
  // When the last thread of all trainers has computed.
  SimTime all_computed(SimTime now) {
    while (computing_ > 0) happen();
    return std::max(now, std::ranges::max(computed_));
  }
  // What a trainer waits for without a core, of a time.
  SimTime waited(SimTime took) const {
    return static_cast<SimTime>((1 - workload_.costs.core_share) * static_cast<double>(took));
  }

  // Returns when the trainers ask again.
  SimTime finish_step(int64_t step, SimTime asked) {
    const SimulatedCosts& costs = workload_.costs;
    const SimTime copy = sim_time(costs.copy_ms / 1e3);
    const SimTime gate =
        costs.queue_depth > 0 && step >= costs.queue_depth ? end_of(step - costs.queue_depth) : 0;
    SimTime released = 0, slowest = 0, longest = 0;
    if (steps_on_cores()) all_computed(asked);
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<size_t>(rank);
      const SimTime submitted = std::max(got_[r], gate);
      SimTime copied = got_[r];
      if (loaders_.copies_ahead()) {
        copied = loaders_.copied(rank, step);
      } else if (copy > 0) {
        copied = copy_free_[r] = std::max(got_[r], copy_free_[r]) + copy;
      }
      const SimTime start = std::max({submitted, last_end_, copied});
      SimTime took = duration(rank, step);
      core_ += static_cast<double>(took) * static_cast<double>(step_threads_);
      if (steps_on_cores()) took = std::max(start, computed_[r] + waited(took)) - start;
      computed_[r] = start + took;
      released = std::max(released, submitted);
      slowest = std::max(slowest, computed_[r]);
      longest = std::max(longest, took);
      data_wait_ += got_[r] - asked;
      busy_ += took;
      if (start > last_end_) attribute(asked, got_[r], std::max(submitted, last_end_), start);
    }
    for (const SimTime computed : computed_) idle(IdleCause::peers) += slowest - computed;
    const SimTime exchange = exchange_time(longest);
    exchange_ += exchange;
    last_end_ = end_of(step) = slowest + exchange;
    stall_begin_ = stall_end_ = 0;
    return host(costs.queue_depth == 0 ? last_end_ : released);
  }

  // What trainers do between two steps.
  SimTime host(SimTime now) {
    const SimTime took = sim_time(workload_.costs.host_ms / 1e3);
    core_ += static_cast<double>(took * ranks_);
    if (!cores_.limited() || took == 0) return now + took;
    events_until(now);
    std::ranges::fill(computed_, now);
    for (int64_t rank = 0; rank < ranks_; ++rank) begin_on_cores(rank, took, 1, now);
    return all_computed(now) + waited(took);
  }

  // The gap of a device from the step before until this one starts.
  void attribute(SimTime asked, SimTime got, SimTime submitted, SimTime start) {
    const auto within = [&](SimTime from, SimTime to) {
      return std::max<SimTime>(0, std::min(to, submitted) - std::max(from, last_end_));
    };
    const SimTime data = within(asked, got), saving = within(stall_begin_, stall_end_);
    idle(IdleCause::data) += data;
    idle(IdleCause::checkpoint) += saving;
    idle(IdleCause::h2d) += start - submitted;
    idle(IdleCause::host) += submitted - last_end_ - data - saving;
  }

  SimTime duration(int64_t rank, int64_t step) const {
    const SimulatedCosts& costs = workload_.costs;
    SimTime mean = step_time_;
    if (image_time_ > 0) mean += image_time_ * loaders_.part(rank, step);
    if (costs.step_stdev == 0) return mean;
    const StepTime drawn{StepTime::Type::lognormal, costs.step_stdev};
    const uint64_t seed = mix(workload_.seed, static_cast<uint64_t>(rank));
    return sim_time(drawn.sample(sim_seconds(mean), seed, step));
  }

  SimTime exchange_time(SimTime computing) const {
    const SimulatedNetwork& network = machine_.network;
    if (!network.gb_per_s || ranks_ == 1) return 0;
    const double took =
        ring_allreduce_s(ranks_, static_cast<double>(workload_.costs.gradients.bytes),
                         *network.gb_per_s, network.latency_us);
    return sim_time(std::max(0.0, took - network.overlap * sim_seconds(computing)));
  }

  // What becomes of a checkpoint that is offered; returns when the trainers go on.
  SimTime offer(const CheckpointOffer& offer, SimTime now) {
    if (!checkpoints_.due(offer, now)) return now;
    stall_begin_ = std::max(now, last_end_);  // an emulated device's clock has to get there first
    events_until(stall_begin_);
    checkpoints_.save(offer, stall_begin_);
    while (!checkpoints_.resumes()) happen();
    stall_end_ = *checkpoints_.resumes();
    stall_ += stall_end_ - stall_begin_;
    return stall_end_;
  }

  SimTime& idle(IdleCause cause) { return idle_[static_cast<size_t>(cause)]; }

  void finish(SimTime end) {
    SimTime flushed = end;
    while (!checkpoints_.at_rest()) {
      flushed = std::max(flushed, events_.next_time());
      happen();
    }
    const auto mean = [&](double sum) { return sum / static_cast<double>(ranks_); };
    result_.ranks = ranks_;
    result_.nodes = machine_.nodes;
    result_.steps = steps_;
    for (int64_t step = 0; step < steps_; ++step) {
      result_.images += images_of(step % loaders_.batches());
    }
    result_.wall_s = sim_seconds(end);
    result_.data_wait_s = mean(sim_seconds(data_wait_));
    result_.exchange_s = sim_seconds(exchange_);
    result_.busy_s = mean(sim_seconds(busy_)) + result_.exchange_s;
    for (size_t i = 0; i < kIdleCauses; ++i) result_.idle_s[i] = mean(sim_seconds(idle_[i]));
    result_.read_s = mean(loaders_.read_s());
    result_.read_union_s = loaders_.read_union_s();
    result_.decode_s = mean(loaders_.decode_s());
    result_.core_s = loaders_.core_s() + workload_.costs.core_share * 1e-9 * core_;
    result_.checkpoint_stall_s = sim_seconds(stall_);
    result_.saved = checkpoints_.saved();
    result_.skipped = checkpoints_.skipped();
    result_.drained = checkpoints_.drained();
    const auto each = [](double sum, int64_t count) {
      return count > 0 ? sum / static_cast<double>(count) : 0;
    };
    result_.save_s = each(checkpoints_.save_s(), result_.saved);
    result_.drain_s = each(checkpoints_.drain_s(), result_.drained);
    result_.flush_s = sim_seconds(flushed - end);
    result_.read_bytes = tiers_.bytes_read();
    result_.cached_bytes = loaders_.cached_bytes();
    result_.events = events_.taken();
  }
  int64_t images_of(int64_t batch) const { return loaders_.whole(batch); }

  const SimulatedWorkload& workload_;
  const SimulatedMachine& machine_;
  const int64_t ranks_;
  const SimTime step_time_ = sim_time(workload_.costs.step_ms / 1e3);
  const SimTime image_time_ = sim_time(workload_.costs.image_ms / 1e3);
  const int64_t step_threads_ = workload_.costs.step_cores;
  EventQueue events_;
  SizesOnly sizes_;
  SimulatedTiers tiers_;
  SimulatedCores cores_;
  SimulatedLoaders loaders_;
  SimulatedCheckpoints checkpoints_;
  const int64_t steps_;
  std::vector<SimTime> got_, copy_free_, computed_;  // one for each rank
  std::vector<SimTime> ends_;                        // when the last steps end
  SimTime last_end_ = 0;
  int64_t asked_for_ = -1;
  int64_t waiting_ = 0;
  int64_t computing_ = 0;  // threads of trainers
  double core_ = 0;        // ns of trainers' threads
  SimTime stall_begin_ = 0, stall_end_ = 0;
  SimTime data_wait_ = 0, busy_ = 0, exchange_ = 0, stall_ = 0;
  std::array<SimTime, kIdleCauses> idle_{};
  SimulationResult result_;
};

}  // namespace

double SimulationResult::idle() const { return std::accumulate(idle_s.begin(), idle_s.end(), 0.0); }

SimulationResult simulate_run(const SimulationInputs& inputs) { return Simulation(inputs).run(); }

}  // namespace stoker
