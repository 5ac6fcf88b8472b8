#include <array>

#include "io/core/error.h"
#include "io/sinks/families.h"

namespace stoker {
namespace {

constexpr std::array kReasons{BadReason::missing,      BadReason::io,         BadReason::empty,
                              BadReason::not_an_image, BadReason::truncated,  BadReason::corrupt,
                              BadReason::too_large,    BadReason::unsupported};
constexpr std::array kWorkStages{Stage::read, Stage::decode, Stage::digest, Stage::copy};

const Tally::Totals& of(const LoaderMeter::State& loader, Stage stage) {
  return loader.stages[static_cast<size_t>(stage)];
}

void add_stages(Families& out, const std::vector<LoaderMeter::State>& loaders) {
  const auto each = [&](auto add) {
    for (const LoaderMeter::State& loader : loaders) {
      for (const Stage stage : kWorkStages) {
        add(of(loader, stage), {{"split", loader.split}, {"stage", stage_name(stage)}});
      }
    }
  };
  out.counter("loader_stage_seconds_total",
              "Busy time by stage, summed over the loader's threads. read and decode (with "
              "augmentation) per sample; digest and copy (to the device, ahead) per batch.");
  each([&](const auto& t, const Families::Labels& labels) { out.add(t.seconds(), labels); });
  out.counter("loader_stage_items_total", "Samples, or batches, that left the stage.");
  each([&](const auto& t, const Families::Labels& labels) {
    out.add(static_cast<double>(t.count), labels);
  });
  out.histogram("loader_stage_duration_seconds", "Time per item and stage.");
  each([&](const auto& t, const Families::Labels& labels) { out.add(t, labels); });
}

void add_errors(Families& out, const std::vector<LoaderMeter::State>& loaders) {
  const auto each = [&out, &loaders](const auto& counts_of) {
    for (const LoaderMeter::State& loader : loaders) {
      const std::map<std::string, int64_t>& counts = counts_of(loader);
      for (const BadReason reason : kReasons) {
        const auto found = counts.find(to_string(reason));
        out.add(found == counts.end() ? 0 : static_cast<double>(found->second),
                {{"split", loader.split}, {"reason", to_string(reason)}});
      }
    }
  };
  out.counter("loader_errors_total", "Samples that could not be used, at every attempt.");
  each([](const LoaderMeter::State& s) -> const auto& { return s.errors; });
  out.counter("loader_skipped_samples_total", "Places in batches that another sample had to fill.");
  each([](const LoaderMeter::State& s) -> const auto& { return s.skipped; });
}

void add_queues(Families& out, const LoaderMeter::State& loader, const RunMeter::State& run) {
  const auto each = [&](auto value) {
    for (const QueueMeter::State& queue : loader.queues) {
      out.add(value(queue), {{"split", loader.split}, {"queue", queue.name}});
    }
  };
  using State = QueueMeter::State;
  out.gauge("queue_items", "Batches in the queue now: ready (in host memory) or on the device.");
  each([](const State& q) { return static_cast<double>(q.items); });
  out.gauge("queue_capacity_items", "Most batches the queue holds.");
  each([](const State& q) { return static_cast<double>(q.capacity); });
  out.counter("queue_empty_seconds_total", "Time in which the queue was empty.");
  each([](const State& q) { return q.empty_s; });
  out.counter("queue_full_seconds_total", "Time in which the queue was full.");
  each([](const State& q) { return q.full_s; });
  out.counter("queue_observed_seconds_total", "Time since the queue was made.");
  each([](const State& q) { return q.observed_s; });
  out.counter("queue_blocked_seconds_total",
              "Thread time blocked at the queue before the trainer: put is workers with nothing "
              "left to fill, get is the trainer's data_wait.");
  if (loader.queues.empty()) return;
  const std::string& name = loader.queues.front().name;
  out.add(of(loader, Stage::wait).seconds(),
          {{"split", loader.split}, {"queue", name}, {"side", "put"}});
  out.add(run.totals.segments[static_cast<size_t>(Segment::data_wait)],
          {{"split", loader.split}, {"queue", name}, {"side", "get"}});
}

}  // namespace

void add_loaders(Families& out, const std::vector<LoaderMeter::State>& loaders,
                 const RunMeter::State& run) {
  add_stages(out, loaders);
  add_errors(out, loaders);
  out.counter("loader_read_bytes_total", "Encoded bytes that the loader asked its tier for.");
  for (const LoaderMeter::State& s : loaders) {
    out.add(static_cast<double>(of(s, Stage::read).bytes), {{"split", s.split}});
  }
  out.counter("loader_storage_bytes_total",
              "Bytes that block devices delivered to the loader's reading threads "
              "(/proc/self/task/*/io), read-ahead included; the rest came from the page cache.");
  for (const LoaderMeter::State& s : loaders) {
    if (s.storage_bytes) out.add(static_cast<double>(*s.storage_bytes), {{"split", s.split}});
  }
  out.gauge("loader_workers", "Threads that read and decode now (sync: the trainer's own).");
  for (const LoaderMeter::State& s : loaders) {
    out.add(static_cast<double>(s.workers), {{"split", s.split}});
  }
  out.gauge("loader_workers_current", "Those threads by what they do now.");
  for (const LoaderMeter::State& s : loaders) {
    const auto busy = static_cast<double>(s.busy);
    out.add(busy, {{"split", s.split}, {"state", "busy"}});
    out.add(static_cast<double>(s.workers) - busy, {{"split", s.split}, {"state", "waiting"}});
  }
  // Only what the trainer takes from: the evaluation's wait is not a segment of its own.
  add_queues(out, loaders.front(), run);
  out.gauge("loader_time_to_first_batch_seconds",
            "From the begin of the loop to the first batch in the trainer's hands.");
  if (run.first_batch_s) out.add(*run.first_batch_s);
  out.gauge("dataset_page_cache_ratio",
            "Share of the data set's bytes in the page cache, by a sample of its files: before the "
            "first epoch, and at the last look.");
  if (run.cache.resident_before) out.add(*run.cache.resident_before, {{"when", "before"}});
  if (run.cache.resident) out.add(*run.cache.resident, {{"when", "now"}});
}

}  // namespace stoker
