#include "io/checkpoint/saving/tiered_saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/storage/uring_queue.h"

// The life of a checkpoint, and which thread does what.
//
// 1. The trainer offers every step (save). SaveSchedule says whether a checkpoint is due, and
//    whether there is time for it before the process has to end.
// 2. Saver (saver.cpp): the state is copied into snapshot memory, on a thread beside the trainer,
//    while the next step computes. finish_copy() ends that before the tensors change. With
//    snapshot: sync the trainer waits in save() until 3 has ended.
// 3. SetCommitter (set_committer.cpp), on the writing thread: the snapshot is written to the first
//    tier and committed there together with the other processes. Then saved() is called, on that
//    thread: it counts the set, lets Retention remove older ones, points `latest` at it, and queues
//    it for the drain.
// 4. Drain (drain/drain.cpp), on its own thread: the set is copied to the last tier, committed
//    there and read back. Then drained() is called, on that thread.
//
// A set is acknowledged when 3 has ended. It is durable when it is on the last tier: after 3
// without a drain, else after 4. No set is removed before (Retention).
//
// Failures stay inside: training goes on, and the log, status() and the exit code tell them. A save
// that failed is taken again at the last step, if it was that step's. A drain that failed is tried
// again, also by the next process. A tier that hangs holds one thread only, and whoever waits for
// that thread gives up after hang_seconds, or at the deadline.

namespace stoker {
namespace {

SetLayout layout_of(const CheckpointOptions& options, const Checkpointer::Inputs& inputs) {
  const int64_t processes = inputs.group.size();
  const bool safetensors = options.layout == FileLayout::safetensors;
  if (!safetensors && !inputs.shares.empty()) {
    throw Error(ExitCode::config,
                "checkpoint.layout: tf_saver writes one file, and here each process has tensors of "
                "its own: set checkpoint.layout=safetensors");
  }
  return make_layout(options.layout, inputs.tensors, safetensors ? options.shards * processes : 1,
                     inputs.shares, processes);
}

}  // namespace

TieredSaves::TieredSaves(const CheckpointOptions& options, const Inputs& inputs, WriteTo write_to)
    : options_(options),
      meter_(inputs.meter),
      group_(inputs.group),
      log_(inputs.info, inputs.warn),
      tiers_(options_, inputs, write_to, [this](const std::string& line) { log_.warn(line); }),
      retention_(options_, tiers_, log_),
      schedule_(options_, inputs.stop_requested, group_),
      goes_on_from_(inputs.goes_on_from),
      restorer_(
          options_, tiers_, group_, [this] { return saver_->room(); }, retention_, log_) {
  const SetLayout layout = layout_of(options_, inputs);
  status_.set_bytes = layout.bytes();
  own_bytes_ = layout.bytes(files_of(layout, group_.rank(), group_.size()));
  if (tiers_.drains()) {
    drain_ = std::make_unique<Drain>(tiers_.first(), tiers_.last(), options_, drain_hooks(inputs),
                                     group_);
  }
  saver_ =
      std::make_unique<Saver>(tiers_.first(), layout, options_, inputs.allocate,
                              Saver::Hooks{[this] { return retention_.make_room(); },
                                           [this](const SaveResult& result) { saved(result); },
                                           [this] { return schedule_.deadline(); }, inputs.meter},
                              group_);
  std::string why;
  if (options_.write == WriteMode::uring && !Uring::open(why)) {
    log_.warn("checkpoint.write: " + why + "; writing without it");
  }
}

TieredSaves::~TieredSaves() = default;

Drain::Hooks TieredSaves::drain_hooks(const Inputs& inputs) {
  return {[this](int64_t step, TimePoint begin, const std::string& remark) {
            drained(step, begin, remark);
          },
          [this](int64_t step, const std::string& error, bool again) {
            drain_failed(step, error, again);
          },
          [this] { restorer_.last_appeared(); },
          [this] { return schedule_.deadline(); },
          {inputs.input, inputs.meter, [this] { return schedule_.next_save(); }}};
}

std::optional<LoadedState> TieredSaves::load() {
  Restored found = restorer_.load(goes_on_from_);
  {
    const std::lock_guard lock(mutex_);
    if (!found.absent.empty()) {
      drain_failed_ = tiers_.drains();
      status_.last_error = found.absent;
    }
    if (found.state) status_.saved_step = found.state->step();
  }
  if (found.state && found.saved) schedule_.set_last_step(found.state->step());
  for (const int64_t step : found.to_drain) drain_->add(step);
  log_.write();
  return std::move(found.state);
}

bool TieredSaves::due(const CheckpointOffer& offer) {
  const bool by_rule = schedule_.due(offer);
  if (offer.again || offer.step != schedule_.last_step()) return by_rule;
  // What became of it, all processes know when it has ended.
  if (offer.last && group_.size() > 1) saver_->finish_write();
  const std::lock_guard lock(mutex_);
  return offer.last && offer.step == lost_step_;
}

bool TieredSaves::in_time(int64_t step) {
  const std::string why = schedule_.too_late(step);
  if (why.empty()) return true;
  log_.warn(why);
  const std::lock_guard lock(mutex_);
  status_.last_error = why;
  return false;
}

bool TieredSaves::save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) {
  log_.write();
  const bool is_due = due(offer);
  schedule_.offered(offer.step, is_due);
  if (!is_due) return false;
  if (!in_time(offer.step)) {
    skip(offer);
    return false;
  }
  const TimePoint begin = Clock::now();
  Saver::Begun begun{};
  try {
    begun = saver_->begin(state, offer.last ? Backlog::block : options_.on_backlog, offer.again);
  } catch (...) {
    skip(offer);  // the others wait for this process, also at the saves after this one
    throw;
  }
  if (begun == Saver::Begun::skipped || begun == Saver::Begun::hung) {
    left_out(offer, begun);
    return false;
  }
  schedule_.began(offer);
  if (begun == Saver::Begun::replaced_another) {
    const std::lock_guard lock(mutex_);
    ++status_.replaced;
  }
  if (options_.snapshot == SnapshotMode::sync) wait_for_commit(offer.step, begin);
  return true;
}

// In a group the others have begun this checkpoint, and lose it. What is due after it, also where
// it comes again as the last one, has to be the same for all.
void TieredSaves::skip(const CheckpointOffer& offer) {
  saver_->skip(offer.step);
  if (group_.size() == 1) return;
  schedule_.began(offer);
  const std::lock_guard lock(mutex_);
  lost_step_ = offer.step;
}

void TieredSaves::left_out(const CheckpointOffer& offer, Saver::Begun why) {
  skip(offer);
  const bool hung = why == Saver::Begun::hung;
  {
    const std::lock_guard lock(mutex_);
    ++(hung ? status_.failed : status_.skipped);
    if (hung) write_failed_ = true;
  }
  log_.warn(fmt::format("checkpoint of step {} skipped: {}", offer.step,
                        hung ? "tier '" + tiers_.first().tier() + "' does not answer"
                             : "all snapshot buffers are taken"));
}

void TieredSaves::wait_for_commit(int64_t step, TimePoint begin) {
  saver_->finish_copy();
  if (!saver_->finish_write()) {
    const std::optional<TimePoint> deadline = schedule_.deadline();
    const bool ending = deadline && Clock::now() >= *deadline;
    const double left = ending ? seconds(*deadline - begin) : 0;
    log_.warn(fmt::format("checkpoint of step {}: tier '{}' {}", step, tiers_.first().tier(),
                          ending
                              ? fmt::format("did not take it within the {:.1f} s that were left of "
                                            "checkpoint.grace_seconds; the set is given up",
                                            std::clamp(left, 0.0, options_.grace_seconds))
                              : "does not answer; training goes on"));
  }
  log_.write();
}

std::optional<StatePlaces> TieredSaves::finish_copy() { return saver_->finish_copy(); }

bool TieredSaves::flush() {
  const bool written = saver_->finish_write();
  const bool drained = !drain_ || drain_->flush();
  log_.write();
  return written && drained;
}

CheckpointStatus TieredSaves::status() {
  log_.write();
  const int64_t saves_left = saver_->left();
  const int64_t left = drain_ ? drain_->left() : 0;
  const bool hung = saver_->hung() || (drain_ && drain_->hung());
  const std::lock_guard lock(mutex_);
  CheckpointStatus status = status_;
  status.durable_step = retention_.durable_step();
  status.saves_left = saves_left;
  status.drains_left = left;
  status.hung = hung;
  status.degraded = write_failed_ || drain_failed_ || hung;
  return status;
}

void TieredSaves::measured(CheckpointPart part, TimePoint begin, int64_t step) {
  if (meter_ != nullptr) meter_->finished(part, begin, Clock::now(), step, own_bytes_);
}

void TieredSaves::not_saved(const SaveResult& result) {
  {
    const std::lock_guard lock(mutex_);
    lost_step_ = result.step;
    if (result.skipped) {
      ++status_.skipped;
    } else {
      ++status_.failed;
      write_failed_ = true;
      status_.last_error = result.error;
    }
  }
  log_.warn(result.skipped
                ? fmt::format("checkpoint of step {} skipped: {}", result.step, result.error)
                : fmt::format("checkpoint of step {} failed on tier '{}': {}", result.step,
                              tiers_.first().tier(), result.error));
}

void TieredSaves::saved(const SaveResult& result) {
  if (result.skipped || !result.error.empty()) return not_saved(result);
  SetStore& first = tiers_.first();
  retention_.committed(result.step, result.score);
  if (!drain_) retention_.reached_last(result.step);
  {
    const std::lock_guard lock(mutex_);
    ++status_.saved;
    write_failed_ = false;
    status_.saved_step = result.step;
    status_.save_s.push_back(result.seconds);
  }
  measured(CheckpointPart::save, result.offered, result.step);
  log_.info(fmt::format("checkpoint of step {}: {:.1f} MB on tier '{}' after {:.3f} s{}",
                        result.step, 1e-6 * static_cast<double>(status_.set_bytes), first.tier(),
                        result.seconds,
                        options_.durability == Durability::fsync || first.files().tree() == nullptr
                            ? ""
                            : " (not synced)"));
  tidy(first, true);
  if (drain_) drain_->add(result.step);
}

void TieredSaves::drained(int64_t step, TimePoint begin, const std::string& remark) {
  const double took = seconds(Clock::now() - begin);
  retention_.reached_last(step);
  {
    const std::lock_guard lock(mutex_);
    ++status_.drained;
    drain_failed_ = false;
    status_.drain_s.push_back(took);
  }
  measured(CheckpointPart::drain, begin, step);
  log_.info(fmt::format("checkpoint of step {}: drained to tier '{}' in {:.3f} s{}", step,
                        tiers_.last().tier(), took, remark));
  tidy(tiers_.first(), false);
  tidy(tiers_.last(), true);
}

void TieredSaves::tidy(SetStore& store, bool moved) {
  std::string why;
  try {
    if (retention_.apply(store) || moved) store.point_latest();
  } catch (const std::exception& error) {
    why = error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    if (why.empty()) {
      untidy_.erase(&store);
      return;
    }
    if (!untidy_.insert(&store).second) return;  // said already
  }
  log_.warn(fmt::format("tier '{}', after a checkpoint: {}", store.tier(), why));
}

void TieredSaves::drain_failed(int64_t step, const std::string& error, bool again) {
  {
    const std::lock_guard lock(mutex_);
    ++(again ? status_.drain_retries : status_.failed);
    drain_failed_ = true;
    status_.last_error = error;
  }
  log_.warn(fmt::format("checkpoint of step {}: drain failed{}: {}", step,
                        again ? ", will be tried again" : "", error));
}

}  // namespace stoker
