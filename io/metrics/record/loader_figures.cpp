#include <algorithm>
#include <functional>

#include "io/core/error.h"
#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;
using Loader = LoaderMeter::State;
using Queue = QueueMeter::State;

constexpr const char* kQueue = "Counted by the queue, which reads the clock at each batch.";
constexpr const char* kThreads =
    "The monotonic clock is read before and after each item; the times of all the loader's threads "
    "are added.";
constexpr size_t kBadReasons = static_cast<size_t>(BadReason::unsupported) + 1;
constexpr const char* kLooked = "mincore() for a random sample of the files.";

bool used(const Loader& loader) { return loader.workers > 0 || loader.of(Stage::read).count > 0; }

// Labelled by split. `value` takes a value from a loader and the record.
template <class F>
Read by_split(F value) {
  return several([value](R record, const auto& add) {
    for (const Loader& loader : record.loaders) {
      if (used(loader)) add({loader.split}, value(loader, record));
    }
  });
}

// Labelled by split and stage. `value` takes a value from a loader, the stage and the record.
template <class F>
Read by_stage(F value) {
  return several([value](R record, const auto& add) {
    for (const Loader& loader : record.loaders) {
      for (size_t i = 0; i < kStages && used(loader); ++i) {
        const auto stage = static_cast<Stage>(i);
        add({loader.split, stage_name(stage)}, value(loader, stage, record));
      }
    }
  });
}

Read by_reason(std::map<std::string, int64_t> Loader::*counts) {
  return several([counts](R record, const auto& add) {
    for (const Loader& loader : record.loaders) {
      for (size_t i = 0; i < kBadReasons && used(loader); ++i) {
        const char* reason = to_string(static_cast<BadReason>(i));
        const auto found = (loader.*counts).find(reason);
        add({loader.split, reason}, found == (loader.*counts).end() ? 0 : found->second);
      }
    }
  });
}

// Labelled by split and queue. `value` takes a value from a queue.
template <class F>
Read by_queue(F value) {
  return several([value](R record, const auto& add) {
    for (const Loader& loader : record.loaders) {
      for (const Queue& queue : loader.queues) {
        add({loader.split, queue.name}, std::invoke(value, queue));
      }
    }
  });
}

Value hidden_share(const Loader& loader, R record) {
  const double work = loader.of(Stage::read).seconds() + loader.of(Stage::decode).seconds();
  if (loader.split != "train" || work <= 0 || loader.workers <= 0) return std::nullopt;
  const double felt = record.run.totals.segments[static_cast<size_t>(Segment::data_wait)];
  return std::max(0.0, 1 - felt * static_cast<double>(loader.workers) / work);
}

std::vector<Figure> stages() {
  return {
      {"loaders.{split}.stages.{stage}.duration_s", histogram, Unit::seconds,
       "Time of one item in a stage. read and decode (with augmentation): one sample. digest and "
       "copy (to the device, ahead): one batch. wait: a worker has nothing left to fill.",
       kThreads, by_stage([](const Loader& loader, Stage stage, R) {
         return histogram_of(loader.of(stage));
       })},
      {"loaders.{split}.stages.{stage}.busy_workers", quotient, Unit::none,
       "How many workers the stage kept busy on average: sum of duration_s / wall_s.",
       "Computed from the two figures.", by_stage([](const Loader& loader, Stage stage, R record) {
         return ratio(loader.of(stage).seconds(), record.run.totals.wall_s);
       })},
      {"loaders.{split}.stages.{stage}.capacity_per_s", quotient, Unit::per_s,
       "Items per second that the stage would reach if all workers did nothing else.",
       "workers / mean of duration_s.", by_stage([](const Loader& loader, Stage stage, R) -> Value {
         const Tally::Totals& totals = loader.of(stage);
         if (stage != Stage::read && stage != Stage::decode) return std::nullopt;
         return ratio(static_cast<double>(totals.count * loader.workers), totals.seconds());
       })},
  };
}

std::vector<Figure> queues() {
  return {
      {"loaders.{split}.queues.{queue}.items", gauge, Unit::none,
       "Batches that are in the queue now.", kQueue, by_queue(&Queue::items)},
      {"loaders.{split}.queues.{queue}.capacity", gauge, Unit::none,
       "Batches that the queue can hold.", "Configuration.", by_queue(&Queue::capacity)},
      {"loaders.{split}.queues.{queue}.observed_s", counter, Unit::seconds,
       "Time since the queue was made.", kQueue, by_queue(&Queue::observed_s)},
      {"loaders.{split}.queues.{queue}.empty_s", counter, Unit::seconds,
       "Time during which the queue was empty.", kQueue, by_queue(&Queue::empty_s)},
      {"loaders.{split}.queues.{queue}.full_s", counter, Unit::seconds,
       "Time during which the queue was full.", kQueue, by_queue(&Queue::full_s)},
      {"loaders.{split}.queues.{queue}.fill_share", quotient, Unit::share,
       "The mean of items / capacity over observed_s.", kQueue, by_queue([](const Queue& queue) {
         return ratio(queue.item_seconds, queue.observed_s * static_cast<double>(queue.capacity));
       })},
      {"loaders.{split}.queues.{queue}.empty_share", quotient, Unit::share,
       "The share of the time in which the queue was empty: empty_s / observed_s.",
       "Computed from the two figures.",
       by_queue([](const Queue& queue) { return ratio(queue.empty_s, queue.observed_s); })},
      {"loaders.{split}.queues.{queue}.full_share", quotient, Unit::share,
       "The share of the time in which the queue was full: full_s / observed_s.",
       "Computed from the two figures.",
       by_queue([](const Queue& queue) { return ratio(queue.full_s, queue.observed_s); })},
  };
}

std::vector<Figure> loaders() {
  return {
      {"loaders.{split}.workers", gauge, Unit::none,
       "Threads that read and decode. With the loader sync it is the trainer's own.",
       "Counted by the loader.", by_split([](const Loader& loader, R) { return loader.workers; })},
      {"loaders.{split}.workers_busy", gauge, Unit::none,
       "Those of the workers that are reading or decoding now.", "Counted by the loader.",
       by_split([](const Loader& loader, R) { return loader.busy; })},
      {"loaders.{split}.read_bytes", counter, Unit::bytes,
       "Encoded bytes that the loader asked its tier for.", "Counted by the loader.",
       by_split([](const Loader& loader, R) { return loader.of(Stage::read).bytes; })},
      {"loaders.{split}.storage_bytes", counter, Unit::bytes,
       "Bytes that block devices delivered to the reading threads, read-ahead included. The rest "
       "came from the page cache.",
       "/proc/self/task/*/io.",
       by_split([](const Loader& loader, R) { return loader.storage_bytes; })},
      {"loaders.{split}.hidden_share", quotient, Unit::share,
       "The share of the loader's work that the trainer did not wait for.",
       "1 - segments_s.data_wait / ((read + decode) / workers).", by_split(hidden_share)},
      {"loaders.{split}.errors.{reason}", counter, Unit::none,
       "Samples that could not be used. Every attempt counts.", "Counted by the loader.",
       by_reason(&Loader::errors)},
      {"loaders.{split}.skipped.{reason}", counter, Unit::none,
       "Places in batches that another sample had to fill.", "Counted by the loader.",
       by_reason(&Loader::skipped)},
      {"loaders.{split}.tolerated", counter, Unit::none,
       "Damaged images that were used as libjpeg-turbo makes them (decoder.tolerance).",
       "Counted by the loader.",
       by_split([](const Loader& loader, R) { return loader.tolerated; })},
      {"page_cache.resident_before", gauge, Unit::share,
       "The share of the data set's bytes that were in the page cache before the first epoch.",
       kLooked, one([](R r) { return r.run.cache.resident_before; })},
      {"page_cache.resident", gauge, Unit::share,
       "The share of the data set's bytes that were in the page cache after the last epoch that "
       "ended.",
       kLooked, one([](R r) { return r.run.cache.resident; })},
      {"page_cache.files_looked_at", gauge, Unit::none,
       "How many files the two figures above looked at.", kLooked,
       one([](R r) { return r.run.cache.files_looked_at; })},
  };
}

}  // namespace

std::vector<Figure> loader_figures() { return joined({loaders(), stages(), queues()}); }

}  // namespace stoker
