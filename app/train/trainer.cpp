// A run from its beginning to its end. What lies between is the loop (trainer_loop.cpp).

#include "app/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "app/run/environment.h"
#include "app/time_log/time_log.h"
#include "app/train/ranks/across_ranks.h"
#include "app/train/report.h"
#include "io/core/system/standard_streams.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/metrics/hub.h"
#include "io/metrics/record/run_record.h"

namespace stoker {
namespace {

// On an emulated tier: its figures would be those of both.
void warn_of_other_runs(const Hub& hub, int64_t own, RunLog& log) {
  for (const TierMeter::State& tier : hub.tiers()) {
    if (tier.processes <= own) continue;
    log.warn(fmt::format(
        "the emulated tier '{}' is used by {} beside this run: its rate is divided "
        "between them, so that the figures of either say little; storage.{}.shared=false gives "
        "each a device of its own",
        tier.name, plural(tier.processes - own, "process"), tier.name));
  }
}

std::string beginning(Experiment& experiment, int64_t steps) {
  const Dataset& data = experiment.dataset();
  return fmt::format("{} on {}: {} and {} of {}, {}", experiment.options().model.type(),
                     experiment.device().info().name,
                     plural(data.size(Split::train), "training sample"),
                     plural(data.size(Split::test), "test sample"),
                     plural(data.classes().size(), "class"), plural(steps, "step"));
}

// Makes that many threads at once and ends them. std::system_error if one cannot be made.
void try_threads(int64_t count) {
  std::vector<std::jthread> threads;
  const auto wait_for_the_end = [](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
  };
  for (int64_t i = 0; i < count; ++i) threads.emplace_back(wait_for_the_end);
}

// LibTorch's generator, threads and determinism, as the experiment says. Once, before anything of
// the run is computed; the trainer's thread. std::system_error where its threads cannot be had.
void set_up_torch(const ExperimentOptions& options, const DeviceInfo& device, const Notify& warn) {
  const int64_t threads = thread_count(options.training.threads);
  at::manual_seed(options.run.seed);
  // LibTorch makes its two pools of threads below. If a thread of them cannot be made, one pool
  // waits for it for ever, and OpenMP's ends the process. Trying it before gives an error instead.
  try_threads(2 * (threads - 1));
  at::set_num_threads(static_cast<int>(threads));
  at::parallel_for(0, threads, 1, [](int64_t, int64_t) {});
  // On a GPU some kernels of AlexNet have no deterministic form: LibTorch warns and goes on.
  at::globalContext().setDeterministicAlgorithms(options.training.deterministic,
                                                 device.torch_device.is_cuda());
  const bool on_cpu = device.torch_device.is_cpu() && !device.emulated;
  if (on_cpu && options.training.precision == Precision::bf16 && !cpu_has_bf16_kernels()) {
    warn(kNoBf16Kernels);
  }
}

}  // namespace

Trainer::Trainer(Experiment& experiment, RunDirectory& directory, RunLog& log, StopSignal& stop,
                 Peers& peers, std::unique_ptr<Loader> loader)
    : experiment_(experiment),
      computes_(!experiment.device().info().emulated && experiment.options().training.compute),
      directory_(directory),
      log_(log),
      stop_(stop),
      peers_(peers),
      vote_(peers, stop),
      ledger_(experiment.hub().run().segments()),
      exchange_time_(experiment.device().info(), ledger_),
      budget_(experiment.dataset().on_error().budget.of(experiment.dataset().size(Split::train))),
      loader_(std::move(loader)),
      io_totals_(experiment.hub().io_sessions()),
      digests_(directory.path(), [&log](const std::string& text) { log.warn(text); }) {
  directory_.write(
      "environment.json",
      json_text(describe_environment(experiment.device().info(), directory.path(),
                                     thread_count(experiment.options().training.threads)),
                2) +
          "\n");
  if (loader_ || !peers.ranks().first()) return;
  lifetime_ = std::make_unique<Lifetime>(experiment.options(), experiment.hub(),
                                         [&log](const std::string& text) { log.warn(text); });
}

Trainer::~Trainer() = default;

RunRecord Trainer::run(std::function<void()> started) {
  started_ = std::move(started);
  try {
    train();
    share(peers_, "");  // another rank may still wait for its checkpoints, for as long as it takes
    tell_times(peers_, experiment_.hub());
    code_ = stop_.exit_code();
    const std::string lost = checkpoints_->lost(code_);
    if (!lost.empty()) fail(ExitCode::storage, lost);
  } catch (const Interrupted&) {
    code_ = stop_.exit_code();
  } catch (const RankLost& error) {
    // Whoever was asked to stop may go before the loop, for nobody has anything to lose there.
    if (stop_.requested() && !progress_) {
      code_ = stop_.exit_code();
    } else {
      fail(error.code(), error.what());
    }
  } catch (const Error& error) {
    fail(error.code(), error.what());
  } catch (const std::exception& error) {
    const std::optional<Error> known = shortage(error);
    if (!known) throw;
    fail(known->code(), known->what());
  }
  if (io_profile_) write_file([&] { io_profile_->finish(position_.step); });
  write_samples();
  end();
  const ExitCode before = code_;
  write_file([&] { write_summary(); });
  if (sinks_) sinks_->flush();
  add_time_log();
  look_for_directory();
  for (const std::string& lost :
       {moved_, sinks_ ? sinks_->lost() : "", digests_.error(), log_.error()}) {
    if (!lost.empty() && code_ == ExitCode::ok) fail(ExitCode::environment, lost);
  }
  if (code_ != before) end();
  if (code_ != before || !time_log_.is_null()) write_file([&] { write_summary(); });
  return experiment_.hub().record();
}

void Trainer::write_samples() {
  const auto write = [this](const char* name, const std::string& text) {
    if (!text.empty()) write_file([&] { directory_.write(name, text); });
  };
  write("skipped.csv", skipped_csv(budget_.skipped()));
  write("tolerated.csv", tolerated_csv(budget_.tolerated()));
}

void Trainer::fail(ExitCode code, const std::string& error) {
  code_ = code;
  error_ = error;
}

void Trainer::end() {
  const bool whole = progress_ && position_.step >= steps_planned_ && !unevaluated_;
  const bool stopped = stop_.requested() && !whole;
  const RunPhase good = stopped ? RunPhase::stopped : RunPhase::completed;
  experiment_.hub().run().end(error_.empty() ? good : RunPhase::failed, static_cast<int>(code_),
                              error_);
  if (lifetime_) lifetime_->end();
}

template <class F>
void Trainer::write_file(F&& f) {
  try {
    f();
  } catch (const IoError& error) {
    look_for_directory();
    if (!moved_.empty()) return;  // whatever is written there fails
    log_.warn(error.what());
    if (code_ == ExitCode::ok) fail(ExitCode::environment, error.what());
  }
}

void Trainer::look_for_directory() {
  if (!moved_.empty()) return;
  const std::string moved = directory_.moved();
  if (moved.empty()) return;
  moved_ = "the run directory " + moved;
  log_.warn(moved_ + " while the run was under way: the training goes on");
}

void Trainer::prepare() {
  const ExperimentOptions& options = experiment_.options();
  const DeviceInfo& device = experiment_.device().info();
  set_up_torch(options, device, [this](const std::string& text) { log_.warn(text); });
  if (!loader_) loader_ = experiment_.make_loader(Split::train);
  per_epoch_ = loader_->batches();
  plan_steps(0);
  if (computes_ || options.checkpoint.info().saves || peers_.ranks().many()) {
    step_ = std::make_unique<TrainStep>(experiment_, steps_planned_, per_epoch_);
  }
  if (computes_ && options.evaluation.enabled) metric_ = experiment_.make_metric();
  checkpoints_ = std::make_unique<RunCheckpoints>(experiment_, step_.get(), ledger_, log_, stop_);
}

void Trainer::plan_steps(int64_t ahead) {
  const TrainingOptions& options = experiment_.options().training;
  steps_planned_ =
      std::min(options.epochs * per_epoch_ - ahead, options.max_steps.value_or(INT64_MAX));
}

void Trainer::resume(RunInfo& info) {
  const std::optional<RunHistory> found = checkpoints_->load(info);
  if (lifetime_) {
    lifetime_->goes_on(found.has_value(), found ? found->goodput : std::nullopt,
                       found ? found->position.step : 0);
  }
  if (!found) return;
  before_ = own_history(peers_.ranks(), *found);
  position_ = resumed_position(*found, experiment_.options(), peers_.ranks().world, per_epoch_);
  // Steps are counted on. The schedule and the length of the run follow the place in the data.
  const int64_t ahead = position_.epoch * per_epoch_ + position_.batch - position_.step;
  plan_steps(ahead);
  if (step_) step_->shift_schedule(ahead);
  for (const Evaluation& evaluation : before_.evaluations) {
    experiment_.hub().run().add_evaluation(evaluation);
  }
  budget_.resume(before_.failures);
  digests_.resume(before_.digest_chain);
}

void Trainer::train() {
  const ExperimentOptions& options = experiment_.options();
  RunMeter& run = experiment_.hub().run();
  RunInfo info = run_info(experiment_, directory_.path());
  info.address = address_among(peers_);
  run.describe(info);
  sinks_ = std::make_unique<RunSinks>(experiment_, directory_.path(), log_, stop_);
  tell_targets(peers_, directory_.path());
  // Ranks may share a page cache, so all of them look at it before one of them reads. A rank that
  // was asked to stop does not wait for those that open their data.
  set_up_page_cache(experiment_, log_.notify());
  {
    const Interruptible scope(stop_.token());
    require_same_data(peers_, experiment_);
    cache_ = std::make_unique<CacheWatch>(experiment_);
    share(peers_, "");
  }
  const std::string missed = missed_page_cache(run.state().cache);
  if (!missed.empty()) log_.warn(missed);
  prepare();
  resume(info);
  if (peers_.ranks().many()) join_ranks(peers_, *step_, experiment_, ledger_, exchange_time_);
  info.steps_planned = steps_planned_;
  info.first_step = position_.step;
  run.describe(info);
  warn_of_other_runs(experiment_.hub(), info.local_ranks, log_);
  log_.info(beginning(experiment_, steps_planned_));
  profile_ = std::make_unique<ProfileWindow>(options.metrics.profile, experiment_.device().info(),
                                             directory_.path(), run, log_.notify());
  io_profile_ = std::make_unique<IoWindow>(options.metrics.io_profile, directory_.path(),
                                           tier_folders(options), position_.step, experiment_.hub(),
                                           log_.notify());
  directory_.keep();
  if (lifetime_) lifetime_->keep();
  run.set_phase(RunPhase::train);
  ledger_.begin();
  // Whoever sees that the whole process stood still, from now on.
  run.segments().beat();
  const Ticker beats("pause-watch", LiveSegments::kBeat, [&run] { run.segments().beat(); });
  progress_ = std::make_unique<Progress>(experiment_.device(), ledger_, experiment_.hub(), *sinks_,
                                         position_.step, position_.epoch, peers_.ranks().many());
  std::exception_ptr error;
  {
    const WaitWatch watch([this] { return wait_of(experiment_.hub()); },
                          [this](const std::string& text) { log_.warn(text); });
    try {
      loop();
    } catch (...) {
      error = std::current_exception();
    }
  }
  ledger_.end();
  progress_->finish();
  cache_.reset();
  if (error) std::rethrow_exception(error);
  run.set_phase(RunPhase::flush);
  if (!checkpoints_->flush()) abandoned_ = true;
}

RunHistory Trainer::history() {
  RunHistory history = before_;
  history.position = position_;
  history.ranks = peers_.ranks().world;
  history.batch_size = experiment_.options().loader.info().batch_size;
  history.batches = per_epoch_;
  history.images += progress_->images();
  history.wall_s += ledger_.wall();
  for (size_t i = 0; i < kSegments; ++i) {
    history.segments_s[segment_name(static_cast<Segment>(i))] += ledger_.totals()[i];
  }
  history.bytes_read += bytes_read_;
  history.evaluations = experiment_.hub().run().evaluations();
  history.failures = budget_.counts();
  history.digest_chain = digests_.chain();
  if (lifetime_) history.goodput = lifetime_->now();
  return history;
}

void Trainer::add_time_log() {
  if (code_ != ExitCode::ok) return;
  try {
    if (!has_time_log(directory_.path())) return;
    share(peers_, "");  // the others' files are whole
    if (!peers_.ranks().first()) return;
    time_log_ = time_log_figures(read_time_logs({directory_.path()}, 0), 0);
  } catch (const Error& error) {
    log_.warn(std::string("the summary has no figures of the TimeLogger: ") + error.what());
  }
}

void Trainer::write_summary() {
  summary_ = summary_json(experiment_, progress_ ? history() : before_);
  if (!time_log_.is_null()) summary_["timelogger"] = time_log_;
  if (nlohmann::json profiled = io_totals_.figures(); !profiled.is_null()) {
    summary_["io_profile"] = std::move(profiled);
  }
  directory_.write("summary.json", json_text(summary_, 2) + "\n");
}

}  // namespace stoker
