#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;

constexpr const char* kTrainer = "Counted by the trainer's thread.";
constexpr const char* kLedger =
    "The monotonic clock is read at the begin and the end of each interval of the trainer's "
    "thread.";
constexpr const char* kEvaluation =
    "The rank of each label among the logits. Equal logits count against it.";

const RunTotals& of(R record) { return record.run.totals; }

double data_wait_s(R record) {
  return of(record).segments[static_cast<size_t>(Segment::data_wait)];
}

// Without that in which the process stood still, which says nothing of its pace.
double running_s(R record) {
  return of(record).wall_s - of(record).segments[static_cast<size_t>(Segment::paused)];
}

Value seconds_left(R record) {
  const double done = static_cast<double>(of(record).steps - record.run.info.first_step);
  const int64_t left = record.run.info.steps_planned - of(record).steps;
  if (done <= 0 || left < 0) return std::nullopt;  // nobody said how many there are
  return running_s(record) / done * static_cast<double>(left);
}

const Evaluation* newest(R record) {
  return record.run.evaluation ? &*record.run.evaluation : nullptr;
}

Value measure(const Evaluation* of, const char* name) {
  if (of == nullptr) return std::nullopt;
  const auto found = of->measures.find(name);
  return found == of->measures.end() ? Value() : found->second;
}

Read newest_measure(const char* name) {
  return one([name](R record) { return measure(newest(record), name); });
}

Read newest_evaluation(int64_t Evaluation::*member) {
  return one([member](R record) {
    const Evaluation* last = newest(record);
    return last != nullptr ? Value(last->*member) : std::nullopt;
  });
}

std::vector<Figure> progress() {
  return {
      {"steps", gauge, Unit::none,
       "Training steps that are finished, those before a resume included.", kTrainer,
       one([](R r) { return of(r).steps; })},
      {"steps_planned", gauge, Unit::none,
       "Steps that this run intends to do, those before a resume included.", "Configuration.",
       one([](R r) { return r.run.info.steps_planned; })},
      {"epoch", gauge, Unit::none, "The epoch of the last step. The first epoch is 0.", kTrainer,
       one([](R r) { return of(r).epoch; })},
      {"epochs", gauge, Unit::none, "Epochs that are finished, those before a resume included.",
       kTrainer, one([](R r) { return of(r).epochs; })},
      {"images", counter, Unit::none, "Images that this process trained on.", kTrainer,
       one([](R r) { return of(r).images; })},
      {"wall_s", counter, Unit::seconds, "Wall time of the training loop, evaluations included.",
       "The monotonic clock, by two readings that no other figure uses.",
       one([](R r) { return of(r).wall_s; })},
      {"images_per_s", quotient, Unit::per_s,
       "Images per second of the whole run: images / (wall_s - segments_s.paused).",
       "Computed from the three figures.",
       one([](R r) { return ratio(static_cast<double>(of(r).images), running_s(r)); })},
      {"images_per_s_windows.{stat}", quotient, Unit::per_s,
       "Images per second in windows of one second. It is known when the loop has ended.",
       "A window ends with the first step that ends one second or more after its begin.",
       by_stat([](R r) { return r.run.window_rates; })},
      {"elapsed_s", counter, Unit::seconds,
       "Time from the begin of the loop until checkpoints and drains have ended.",
       "Monotonic clock.", one([](R r) { return r.elapsed_s; })},
      {"now_unix_s", gauge, Unit::unix_time, "The time at which the figures were read.",
       "System clock.", one([](R r) { return r.unix_s; })},
      {"eta_s", gauge, Unit::seconds, "The time that the remaining steps take at the pace so far.",
       "(wall_s - segments_s.paused) / steps.", one(seconds_left)},
      {"started_unix_s", gauge, Unit::unix_time, "The time at which the run began.",
       "System clock.", one([](R r) { return r.run.info.started_unix_s; })},
      {"last_step_unix_s", gauge, Unit::unix_time,
       "The time at which the last step finished, as a heartbeat.", "System clock.",
       one([](R r) { return r.run.last_step_unix_s; })},
      {"since_progress_s", gauge, Unit::seconds,
       "Time since a step, a batch of the evaluation or a phase of the run ended, without that in "
       "which the trainer waited for a checkpoint or for other ranks, which have time limits of "
       "their own.",
       "Monotonic clock.", one([](R r) { return r.run.stalled_s; })},
      {"sinks_failed", counter, Unit::none,
       "Sinks that could not write and were left out; the run ends with exit code 3.",
       "Counted where a sink throws.", one([](R r) { return r.run.sinks_failed; })},
      {"first_batch_s", gauge, Unit::seconds,
       "Time from the begin of the loop until the trainer has the first batch.", kLedger,
       one([](R r) { return r.run.first_batch_s; })},
  };
}

// What the trainer waited for data while the device had no work; without a device, all of it.
double exposed_io_s(R record) {
  const DeviceTime& device = of(record).device;
  return device.observed > 0 ? device.idle[static_cast<size_t>(IdleCause::data)]
                             : data_wait_s(record);
}

Value first_epoch(R record, double value) {
  return record.run.first_epoch_steps > 0 ? Value(value) : std::nullopt;
}

std::vector<Figure> ledger() {
  return {
      {"exposed_io_share", quotient, Unit::share,
       "What waiting for data cost: the share of the device's time in which it had no work because "
       "the trainer waited for data, exposed_io_s / device.observed_s.",
       "Computed from the two figures. Without a device that is observed it is io_share.",
       one([](R r) {
         const double observed = of(r).device.observed;
         return ratio(exposed_io_s(r), observed > 0 ? observed : running_s(r));
       })},
      {"exposed_io_s", counter, Unit::seconds,
       "The device's time that waiting for data cost. What the trainer waited beyond it was hidden "
       "behind queued steps.",
       "device.idle_s.data. Without a device that is observed it is segments_s.data_wait.",
       one(exposed_io_s)},
      {"io_share", quotient, Unit::share,
       "The share of the run that the trainer waited for data: segments_s.data_wait / (wall_s - "
       "segments_s.paused).",
       "From before the call that may block until the trainer has the batch. A wait costs nothing "
       "while the device (cpu, gpu or emulated) still has work: see device.idle_share_by_cause.",
       one([](R r) { return ratio(data_wait_s(r), running_s(r)); }), true, "stoker_io_share_ratio"},
      {"segments_s.{segment}", counter, Unit::seconds,
       "Time of the trainer's thread by what it does, in exclusive segments that add up to wall_s. "
       "compute is submitting work and waiting for the loss; it is not device time. paused is when "
       "the whole process stood still (SIGSTOP, docker pause), which the verdict leaves out.",
       kLedger, each(segment_name, [](R r) { return of(r).segments; })},
      {"segments_share.{segment}", quotient, Unit::share,
       "The share of the run in each segment: segments_s / wall_s.",
       "Computed from the two figures.",
       each(segment_name, [](R r) { return shares(of(r).segments, of(r).wall_s); })},
      {"closure_error", gauge, Unit::share,
       "How well the ledger adds up: the difference between the sum of segments_s and wall_s, / "
       "wall_s.",
       "Computed from the two figures.", one([](R r) { return of(r).closure_error; })},
      {"step_duration_s", histogram, Unit::seconds,
       "Wall time from the end of one step to the end of the next.", kLedger,
       several([](R r, const auto& add) { add({}, histogram_of(r.run.step_times)); })},
      {"data_wait_s", histogram, Unit::seconds,
       "Time for which the trainer waited for the batch of a step.", kLedger,
       several([](R r, const auto& add) { add({}, histogram_of(r.run.data_waits)); })},
      {"first_epoch.steps", gauge, Unit::none, "Steps of the first epoch of this process.",
       kTrainer,
       one([](R r) { return first_epoch(r, static_cast<double>(r.run.first_epoch_steps)); })},
      {"first_epoch.data_wait_s", gauge, Unit::seconds,
       "Time for which the trainer waited for data in that epoch.", kLedger,
       one([](R r) { return first_epoch(r, r.run.first_epoch_wait_s); })},
      {"queue_fill", gauge, Unit::share,
       "How full the queue before the trainer is now: its batches / its capacity.",
       "Counted by the queue.", one([](R r) { return r.queue_fill; })},
  };
}

std::vector<Figure> learning() {
  return {
      {"loss", gauge, Unit::none, "Training loss of the last step for which it was read.",
       "It is read every metrics.every_steps steps, because reading it waits for the device.",
       one([](R r) { return r.run.loss; })},
      {"learning_rate", gauge, Unit::none, "Learning rate of that step.", "From the schedule.",
       one([](R r) { return r.run.learning_rate; })},
      {"nonfinite_losses", counter, Unit::none, "Losses that were NaN or infinite.",
       "Only losses that were read count.", one([](R r) { return r.run.nonfinite_losses; })},
      {"evaluation.accuracy.{measure}", gauge, Unit::share,
       "The newest evaluation of the test split: top-1, top-5 and the mean of top-1 over the "
       "classes. For comparison: 1 / classes, and always guessing the largest class.",
       kEvaluation, several([](R r, const auto& add) {
         for (const char* name : kAccuracyMeasures) add({name}, measure(newest(r), name));
       })},
      {"evaluation.auc", gauge, Unit::share,
       "Area under the receiver operating characteristic for class 1 of two classes "
       "(evaluation.metric: auc).",
       "Samples are counted by the probability of class 1, in bins between thresholds. The "
       "trapezoids are summed as TensorFlow does.",
       newest_measure("auc")},
      {"evaluation.iou", gauge, Unit::share,
       "Intersection over union, as the mean over the classes (evaluation.metric: iou).",
       "The confusion matrix of all pixels.", newest_measure("iou")},
      {"evaluation.step", gauge, Unit::none, "The step after which the newest evaluation was made.",
       kTrainer, newest_evaluation(&Evaluation::step)},
      {"evaluation.samples", gauge, Unit::none, "How many samples the newest evaluation looked at.",
       kTrainer, newest_evaluation(&Evaluation::samples)},
      {"evaluation.batches", counter, Unit::none, "Batches of all evaluations of this process.",
       kTrainer, one([](R r) { return r.run.eval_batches; })},
      {"evaluation.images", counter, Unit::none, "Images of all evaluations of this process.",
       kTrainer, one([](R r) { return r.run.eval_images; })},
  };
}

}  // namespace

std::vector<Figure> training_figures() { return joined({progress(), ledger(), learning()}); }

}  // namespace stoker
