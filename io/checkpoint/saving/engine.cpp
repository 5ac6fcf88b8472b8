#include "io/checkpoint/saving/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/storage/uring_queue.h"

namespace stoker {
namespace {

// A save is begun before a deadline only where it would be done in time if it took this much longer
// than the slowest so far.
constexpr double kSafety = 1.2;

}  // namespace

Engine::Engine(const CheckpointOptions& options, const Inputs& inputs, WriteTo write_to)
    : options_(options),
      stop_requested_(inputs.stop_requested),
      info_(inputs.info),
      warn_(inputs.warn),
      meter_(inputs.meter),
      group_(inputs.group),
      collective_(group_, "load", [] { return true; }),
      directory_(options_.directory.empty() ? inputs.directory : options_.directory),
      write_to_(write_to),
      rhythm_(options_) {
  if (options_.fast && options_.fast->name != options_.slow->name)
    add_store(options_.fast->name, inputs, false);
  add_store(options_.slow->name, inputs, true);
  const int64_t shards =
      options_.layout == FileLayout::safetensors ? options_.shards * group_.size() : 1;
  if (group_.size() == 1) last_begin_ = Clock::now();
  const SetLayout layout = make_layout(options_.layout, inputs.tensors, shards);
  status_.set_bytes = layout.bytes();
  own_bytes_ = layout.bytes(files_of(layout, group_.rank(), group_.size()));
  const auto deadline = [this] { return this->deadline(); };
  if (write_to_ == WriteTo::fast) {
    drain_ = std::make_unique<Drain>(
        first(), last(), options_,
        Drain::Hooks{[this](int64_t step, TimePoint begin, const std::string& remark) {
                       drained(step, begin, remark);
                     },
                     [this](int64_t step, const std::string& error, bool again) {
                       drain_failed(step, error, again);
                     },
                     [this] { last_appeared(); },
                     deadline,
                     {inputs.input, inputs.meter, [this] { return next_save(); }}},
        group_);
  }
  saver_ = std::make_unique<Saver>(
      first(), layout, options_, inputs.allocate,
      Saver::Hooks{[this] { return make_room(); }, [this](const SaveResult& r) { saved(r); },
                   deadline, inputs.meter},
      group_);
  std::string why;
  if (options_.write == WriteMode::uring && !Uring::open(why)) {
    news(true, "checkpoint.write: " + why + "; writing without it");
  }
}

Engine::~Engine() = default;

// On the last tier all ranks write into one set; on the fast one, which each may have for itself,
// into a set of their own.
void Engine::add_store(const std::string& tier, const Inputs& inputs, bool shared) {
  Storage& storage = inputs.tiers.at(tier);
  const bool many = group_.size() > 1;
  if (many && !shared && files_of(storage) == nullptr) {
    throw Error(ExitCode::config,
                "checkpoint.fast: tier '" + tier +
                    "' keeps no files, so many ranks cannot save there, each its own part of a "
                    "set: name a tier of type posix, or use checkpoint.type=direct");
  }
  const StoreUse use = !many || !shared      ? StoreUse::own
                       : collective_.first() ? StoreUse::first
                                             : StoreUse::guest;
  stores_.push_back(sets_on(
      tier, storage, many && !shared ? rank_directory(directory_, group_.rank()) : directory_,
      inputs.directory, options_.durability, use));
}

bool Engine::due(const CheckpointOffer& offer) {
  if (offer.step == last_step_) {
    // What became of it, all processes know when it has ended.
    if (offer.last && group_.size() > 1) saver_->finish_write();
    const std::lock_guard lock(mutex_);
    return offer.last && offer.step == lost_step_;
  }
  return options_.due(offer, seconds(offer.now - *last_begin_));
}

std::optional<TimePoint> Engine::deadline() const {
  if (!group_.gone().empty()) return Clock::now();  // nobody waits for what cannot be finished
  const std::optional<TimePoint> requested = stop_requested_ ? stop_requested_() : std::nullopt;
  if (!requested) return std::nullopt;
  return *requested + from_seconds(options_.grace_seconds);
}

bool Engine::in_time(const CheckpointOffer& offer) {
  const std::optional<TimePoint> end = deadline();
  const std::lock_guard lock(mutex_);
  if (!end || status_.save_s.empty()) return true;
  const double needed = kSafety * *std::max_element(status_.save_s.begin(), status_.save_s.end());
  const double left = seconds(*end - Clock::now());
  if (needed <= left) return true;
  news_.emplace_back(
      true, fmt::format("no checkpoint of step {}: it would take {:.1f} s, and {:.1f} s are left",
                        offer.step, needed, left));
  return false;
}

void Engine::note_rhythm(int64_t step, bool begun) {
  rhythm_.offered(step, Clock::now(), begun);
  const std::optional<TimePoint> next = rhythm_.next();
  next_save_ = next ? next->time_since_epoch().count() : 0;
}

std::optional<TimePoint> Engine::next_save() const {
  const Clock::rep next = next_save_;
  return next != 0 ? std::optional(TimePoint(Clock::duration(next))) : std::nullopt;
}

bool Engine::save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) {
  report_news();
  // The offers' clock may be another process's.
  if (!last_begin_) last_begin_ = offer.now;
  const bool is_due = due(offer);
  note_rhythm(offer.step, is_due);
  if (!is_due) return false;
  if (!in_time(offer)) {
    saver_->skip(offer.step);
    return false;
  }
  const Saver::Begun begun =
      saver_->begin(state, offer.last ? Backlog::block : options_.on_backlog);
  if (begun == Saver::Begun::skipped || begun == Saver::Begun::hung) {
    saver_->skip(offer.step);
    const bool hung = begun == Saver::Begun::hung;
    const std::lock_guard lock(mutex_);
    ++(hung ? status_.failed : status_.skipped);
    if (hung) write_failed_ = true;
    news_.emplace_back(true, fmt::format("checkpoint of step {} skipped: {}", offer.step,
                                         hung ? "tier '" + first().tier() + "' does not answer"
                                              : "all snapshot buffers are taken"));
    return false;
  }
  last_step_ = offer.step;
  last_begin_ = offer.now;
  if (begun == Saver::Begun::replaced_another) {
    const std::lock_guard lock(mutex_);
    ++status_.replaced;
  }
  if (options_.snapshot == SnapshotMode::sync) {
    saver_->finish_copy();
    if (!saver_->finish_write()) {
      const bool ending = deadline() && Clock::now() >= *deadline();
      news(true, fmt::format("checkpoint of step {}: tier '{}' {}", offer.step, first().tier(),
                             ending ? "was too slow for grace_seconds; the set is given up"
                                    : "does not answer; training goes on"));
    }
    report_news();
  }
  return true;
}

std::optional<StatePlaces> Engine::finish_copy() { return saver_->finish_copy(); }

bool Engine::flush() {
  const bool written = saver_->finish_write();
  const bool drained = !drain_ || drain_->flush();
  report_news();
  return written && drained;
}

CheckpointStatus Engine::status() {
  report_news();
  const int64_t left = drain_ ? drain_->left() : 0;
  const bool hung = saver_->hung() || (drain_ && drain_->hung());
  const std::lock_guard lock(mutex_);
  CheckpointStatus status = status_;
  status.drains_left = left;
  status.hung = hung;
  status.degraded = write_failed_ || drain_failed_ || hung;
  return status;
}

void Engine::measured(CheckpointPart part, TimePoint begin, int64_t step) {
  if (meter_ != nullptr) meter_->finished(part, begin, Clock::now(), step, own_bytes_);
}

void Engine::saved(const SaveResult& result) {
  if (result.skipped) {
    const std::lock_guard lock(mutex_);
    ++status_.skipped;
    news_.emplace_back(true,
                       fmt::format("checkpoint of step {} skipped: {}", result.step, result.error));
    return;
  }
  if (!result.error.empty()) {
    {
      const std::lock_guard lock(mutex_);
      ++status_.failed;
      write_failed_ = true;
      lost_step_ = result.step;
      status_.last_error = result.error;
    }
    news(true, fmt::format("checkpoint of step {} failed on tier '{}': {}", result.step,
                           first().tier(), result.error));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ++status_.saved;
    write_failed_ = false;
    status_.saved_step = result.step;
    if (!drain_) status_.durable_step = result.step, on_last_.insert(result.step);
    status_.save_s.push_back(result.seconds);
    scores_[result.step] = result.score;
  }
  measured(CheckpointPart::save, result.offered, result.step);
  news(false,
       fmt::format("checkpoint of step {}: {:.1f} MB on tier '{}' after {:.3f} s{}", result.step,
                   1e-6 * static_cast<double>(status_.set_bytes), first().tier(), result.seconds,
                   options_.durability == Durability::fsync || first().files().tree() == nullptr
                       ? ""
                       : " (not synced)"));
  try {
    apply_retention(first());
    first().point_latest();
  } catch (const std::exception& error) {
    news(true, std::string("after the checkpoint: ") + error.what());
  }
  if (drain_) drain_->add(result.step);
}

void Engine::drained(int64_t step, TimePoint begin, const std::string& remark) {
  const double took = seconds(Clock::now() - begin);
  {
    const std::lock_guard lock(mutex_);
    ++status_.drained;
    drain_failed_ = false;
    status_.durable_step = std::max(step, status_.durable_step.value_or(-1));
    status_.drain_s.push_back(took);
    on_last_.insert(step);
  }
  measured(CheckpointPart::drain, begin, step);
  news(false, fmt::format("checkpoint of step {}: drained to tier '{}' in {:.3f} s{}", step,
                          last().tier(), took, remark));
  try {
    if (apply_retention(first())) first().point_latest();
    apply_retention(last());
    last().point_latest();
  } catch (const std::exception& error) {
    news(true, std::string("after the drain: ") + error.what());
  }
}

void Engine::drain_failed(int64_t step, const std::string& error, bool again) {
  {
    const std::lock_guard lock(mutex_);
    ++(again ? status_.drain_retries : status_.failed);
    drain_failed_ = true;
    status_.last_error = error;
  }
  news(true, fmt::format("checkpoint of step {}: drain failed{}: {}", step,
                         again ? ", will be tried again" : "", error));
}

// True: something was removed.
bool Engine::apply_retention(SetStore& store) {
  const std::vector<int64_t> steps = store.steps();
  std::map<int64_t, std::optional<double>> sets;
  std::optional<int64_t> safe;
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t step : steps) {
      const auto score = scores_.find(step);
      sets[step] = score == scores_.end() ? std::nullopt : score->second;
    }
    safe = status_.durable_step;
  }
  bool removed = false;
  for (const int64_t step : sets_to_remove(sets, safe, options_)) {
    if (!on_last(step)) continue;  // not drained yet
    store.remove(step);
    removed = true;
    if (&store != &last() || first().has(step)) continue;
    const std::lock_guard lock(mutex_);  // gone from everywhere
    on_last_.erase(step);
    scores_.erase(step);
  }
  return removed;
}

// The fast tier is full: sets that are on the slow one as well can go.
bool Engine::make_room() {
  bool made = false;
  if (!drain_) return made;
  try {
    for (const int64_t step : first().steps()) {
      if (!on_last(step)) continue;
      first().remove(step);
      news(false, fmt::format("tier '{}' is full: removed its copy of step {}, which is on '{}'",
                              first().tier(), step, last().tier()));
      made = true;
    }
  } catch (const std::exception& error) {
    news(true, std::string("making room: ") + error.what());
  }
  return made;
}

bool Engine::on_last(int64_t step) {
  const std::lock_guard lock(mutex_);
  return on_last_.contains(step);
}

void Engine::news(bool warning, const std::string& text) {
  const std::lock_guard lock(mutex_);
  news_.emplace_back(warning, text);
}

void Engine::report_news() {
  std::deque<std::pair<bool, std::string>> news;
  {
    const std::lock_guard lock(mutex_);
    news = std::exchange(news_, {});
  }
  for (const auto& [warning, text] : news) (warning ? warn_ : info_)(text);
}

}  // namespace stoker
