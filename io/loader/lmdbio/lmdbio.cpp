#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/bounded_queue.h"
#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/dataset/read_sample.h"
#include "io/loader/batch_job.h"
#include "io/loader/lmdbio/group.h"
#include "io/loader/lmdbio/group_order.h"
#include "io/loader/lmdbio/lmdbio_options.h"
#include "io/loader/lmdbio/record_pages.h"
#include "io/loader/lmdbio/record_reader.h"
#include "io/loader/sample_loader.h"
#include "io/loader/sampler.h"
#include "io/loader/slot_pool.h"
#include "io/metrics/loader_meter.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

// A data set some of whose samples have been read already: those it takes from where they lie, all
// others from the data set below. One thread. Failures: as Dataset.
class WindowDataset final : public Dataset {
 public:
  // The records of one split. Both data sets must outlive it.
  WindowDataset(const Dataset& below, const StoredRecords& records, Split split)
      : Dataset(below.on_error()), below_(below), records_(records), split_(split) {}

  // From now on these records have been read: `values`, which must stay until the next call.
  void show(const Records& which, std::span<const Bytes> values) {
    which_ = which;
    values_ = values;
  }

  const std::vector<std::string>& classes() const override { return below_.classes(); }
  int64_t size(Split split) const override { return below_.size(split); }
  SampleInfo info(Split split, int64_t index) const override { return below_.info(split, index); }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override;

 private:
  const Dataset& below_;
  const StoredRecords& records_;
  const Split split_;
  Records which_;
  std::span<const Bytes> values_;
};

EncodedSample WindowDataset::read(Split split, int64_t index, Buffer& scratch) const {
  if (split != split_ || index < which_.first || index >= which_.last) {
    return below_.read(split, index, scratch);
  }
  const Bytes value = values_[static_cast<size_t>(index - which_.first)];
  std::ranges::copy(value, scratch.resize(value.size()));
  return records_.unpack(split, index, scratch);
}

const StoredRecords& records_of(const Dataset& dataset) {
  const auto* const records = dynamic_cast<const StoredRecords*>(&dataset);
  if (records != nullptr) return *records;
  throw Error(ExitCode::config,
              "loader: lmdbio reads LMDB databases: set dataset.type=lmdb, or use another loader");
}

// The one database of the split; empty: it has no samples.
std::string object_of(const Dataset& dataset, Split split) {
  const std::vector<std::string> objects = objects_of(dataset, split);
  if (objects.size() <= 1) return objects.empty() ? "" : objects.front();
  throw Error(ExitCode::config,
              fmt::format("loader: lmdbio reads one database, and dataset.{} fits {}, such as {} "
                          "and {}: set it to one of them",
                          split == Split::train ? "train" : "test", objects.size(), objects[0],
                          objects[1]));
}

// All readers but one find a sample by the number of its entry.
void check_entries(const Dataset& dataset, const std::string& object, LmdbReader reader) {
  if (reader == LmdbReader::indexed) return;
  const auto others = std::ranges::count_if(dataset.ignored(), [&](const std::string& passed_over) {
    return passed_over.starts_with(object + ": ");
  });
  if (others == 0) return;
  throw Error(ExitCode::config,
              fmt::format("loader: reader {} reads all entries of a database, and {} of {} {} no "
                          "sample: set loader.reader=indexed, or use another loader",
                          name_of(reader), others, object, others == 1 ? "is" : "are"));
}

// The same as a file that may be read past its tier; empty: it may not.
std::string path_of(const StoredRecords& records, const std::string& object) {
  if (object.empty() || !map_object(records.tier(), object)) return "";
  return files_of(records.tier())->full(object);
}

GroupOrder order_of(const LmdbioOptions& options, const Loader::Inputs& inputs,
                    const StoredRecords& records, int64_t batches) {
  const int64_t samples = inputs.dataset.size(inputs.split);
  const int64_t world = inputs.shard.world;
  const int64_t node_size = options.node_size == 0 ? world : std::min(options.node_size, world);
  const auto order = [&](int64_t coalesce) {
    return GroupOrder(samples, options.batch_size, batches, world, node_size, coalesce);
  };
  const bool coalesces = options.reader == LmdbReader::coal || options.reader == LmdbReader::stag;
  if (options.coalesce.count > 0) return order(options.coalesce.count);
  if (!coalesces || samples == 0) return order(1);
  // As the authors: by the first record, in whole pages.
  const uint64_t record =
      rounded_up(std::max<uint64_t>(records.place(inputs.split, 0).length, 1), page_bytes());
  const uint64_t bytes =
      record * static_cast<uint64_t>(std::max<int64_t>(order(1).most_of_node(), 1));
  constexpr int64_t kMost = 1024;
  return order(std::min(coalesced_batches(bytes, batches), kMost));
}

// A batch's place in the run.
struct Position {
  int64_t epoch = 0;
  int64_t batch = 0;
  bool operator==(const Position&) const = default;
};

// Batches of a database that the ranks of a machine read together: a thread of each rank reads and
// decodes one after the other, ahead of the trainer.
class Lmdbio final : public Loader {
 public:
  using Options = LmdbioOptions;
  Lmdbio(const Options& options, const Inputs& inputs)
      : options_(options),
        inputs_(inputs),
        records_(records_of(inputs.dataset)),
        object_(object_of(inputs.dataset, inputs.split)),
        path_(path_of(records_, object_)),
        sampler_(options, inputs.shard, inputs.dataset, inputs.split, inputs.seed),
        spec_(inputs.decoder.spec()),
        order_(order_of(options_, inputs_, records_, sampler_.batches())),
        read_(inputs.dataset, records_, inputs.split),
        samples_(with_dataset(inputs, read_)),
        slots_(inputs.allocate, static_cast<size_t>(sampler_.part(0).size) * spec_.bytes(),
               options.prefetch_batches + 1, inputs.may_hold),
        ready_(inputs.meter.add_queue("ready", options.prefetch_batches)) {
    check_entries(inputs.dataset, object_, options.reader);
  }
  ~Lmdbio() override { stop(); }

  int64_t batches() const override { return sampler_.batches(); }

  void start(int64_t epoch, int64_t first_batch) override {
    check_place(epoch, first_batch);
    const Position position{epoch, first_batch};
    if (asked_.batch >= batches()) asked_ = {asked_.epoch + 1, 0};
    if (asked_ == position && run_) return;
    stop();
    asked_ = position;
    if (batches() == 0) return;
    run_ = std::make_unique<Run>(static_cast<size_t>(options_.prefetch_batches));
    run_->thread =
        std::jthread([this, &run = *run_, position, number = runs_++](const std::stop_token& stop) {
          read(stop, run, position, fmt::format("{}/lmdbio/{}", inputs_.channel, number));
        });
  }

  std::optional<Batch> next() override {
    if (asked_.batch >= batches()) {
      asked_ = {asked_.epoch + 1, 0};
      return std::nullopt;
    }
    slots_.check_held();
    if (!run_) start(asked_.epoch, asked_.batch);
    try {
      std::optional<Batch> batch = run_->queue.pop();
      ready_->get();
      ++asked_.batch;
      return batch;
    } catch (const Interrupted&) {  // by whoever waits here: the thread goes on
      throw;
    } catch (...) {
      stop();
      throw;
    }
  }

 private:
  // What belongs to the batches from one start() to the next.
  struct Run {
    explicit Run(size_t ahead) : queue(ahead) {}
    BoundedQueue<Batch> queue;
    std::jthread thread;
  };

  static Inputs with_dataset(const Inputs& inputs, const Dataset& dataset) {
    return {dataset,     inputs.decoder, inputs.allocate, inputs.split,
            inputs.seed, inputs.notify,  inputs.meter,    inputs.shard};
  }

  void stop() {
    if (!run_) return;
    run_->thread.request_stop();
    run_->queue.close();
    run_->thread.join();
    try {
      while (run_->queue.pop()) ready_->get();
    } catch (const std::exception&) {  // it ended by an error that nobody asked for
    }
    run_.reset();
  }

  // The thread. What it throws, the consumer gets; and the other ranks, who would wait for it.
  void read(const std::stop_token& stop, Run& run, Position from, const std::string& channel) {
    pthread_setname_np(pthread_self(), "lmdbio");
    const Interruptible scope(stop);
    try {
      Group group(inputs_.shard, order_.node_size(), inputs_.group, channel);
      const std::string own = fmt::format("rank {}", inputs_.shard.rank);
      const std::stop_callback ended(stop, [&] { group.leave(); });
      try {
        read_batches(group, run, from);
      } catch (const Interrupted&) {
        group.leave();  // the callback may be about to
        throw;
      } catch (const std::exception& error) {
        group.end(own + ": " + error.what());
        throw;
      }
    } catch (const IoError& error) {
      run.queue.close(std::make_exception_ptr(tier_failure(object_, error)));
    } catch (...) {
      run.queue.close(std::current_exception());
    }
  }

  void read_batches(Group& group, Run& run, Position at) {
    LoaderMeter::Worker worker(inputs_.meter);
    worker.set_busy(true);
    const std::unique_ptr<RecordReader> reader = open(group);
    for (;;) {
      worker.set_busy(false);
      const TimePoint begin = Clock::now();
      if (!run.queue.wait_for_room()) return;
      inputs_.meter.finished(Stage::wait, begin, Clock::now());
      worker.set_busy(true);
      Batch batch = read_batch(*reader, at);
      ready_->put();
      if (!run.queue.push(std::move(batch))) {
        ready_->get();
        return;
      }
      at = at.batch + 1 < batches() ? Position{at.epoch, at.batch + 1} : Position{at.epoch + 1, 0};
    }
  }

  std::unique_ptr<RecordReader> open(Group& group) const {
    RecordReadMeter& meter = inputs_.meter.record_reads();
    const TimePoint begin = Clock::now();
    const RecordReadMeter::Reading reading(meter);
    auto reader = make_record_reader({options_, order_, inputs_.dataset, records_, inputs_.split,
                                      object_, path_, group, meter, inputs_.notify});
    RecordReadCosts costs;
    costs.opening_s = std::chrono::duration<double>(Clock::now() - begin).count();
    meter.add(costs);
    return reader;
  }

  Batch read_batch(RecordReader& reader, const Position& at) {
    const BatchPart part = sampler_.part(at.batch);
    const Records own = order_.of_rank(at.batch, inputs_.shard.rank);
    Batch batch;
    batch.epoch = at.epoch;
    batch.index = at.batch;
    batch.size = part.size;
    batch.whole = part.whole;
    batch.filler = part.filler;
    const TimePoint begin = Clock::now();
    {
      const RecordReadMeter::Reading reading(inputs_.meter.record_reads());
      read_.show(own, reader.read(at.batch));
    }
    const TimePoint end = Clock::now();
    // Their bytes count where they become samples.
    inputs_.meter.finished(Stage::read, begin, end);
    batch.cost.read_ns = (end - begin) / std::chrono::nanoseconds(1);
    std::vector<int64_t> samples;
    for (int64_t record = own.first; record < own.last; ++record) samples.push_back(record);
    // One that all can read: it counts nowhere.
    if (part.filler) samples.push_back(at.batch * options_.batch_size);
    batch.pixels = slots_.acquire();
    batch.labels = std::make_shared<std::vector<int64_t>>(samples.size());
    BatchJob job(std::move(batch), std::move(samples), spec_, options_.digest);
    job.work(samples_);
    return job.take();
  }

  const Options options_;
  const Inputs inputs_;
  const StoredRecords& records_;
  const std::string object_;
  const std::string path_;
  const Sampler sampler_;
  const SampleSpec spec_;
  const GroupOrder order_;
  WindowDataset read_;
  SampleLoader samples_;
  SlotPool slots_;
  const std::shared_ptr<QueueMeter> ready_;
  int64_t runs_ = 0;
  Position asked_;  // of the next batch to hand out
  // Last: its thread is joined before anything it uses goes.
  std::unique_ptr<Run> run_;
};

STOKER_REGISTER(Loader, "lmdbio", Lmdbio);

}  // namespace

EnumNames<LmdbReader> enum_names(LmdbReader) {
  return {{"lmdb", LmdbReader::lmdb},     {"lmm", LmdbReader::lmm},
          {"lmm_dm", LmdbReader::lmm_dm}, {"lmm_dio", LmdbReader::lmm_dio},
          {"prov", LmdbReader::prov},     {"coal", LmdbReader::coal},
          {"stag", LmdbReader::stag},     {"indexed", LmdbReader::indexed}};
}

std::string name_of(LmdbReader reader) {
  const auto names = enum_names(reader);
  return std::ranges::find(names, reader, [](const auto& named) { return named.second; })->first;
}

void LmdbioOptions::check(const Section& section) const {
  if (shuffle) {
    section.fail("shuffle",
                 "must be false, for lmdbio reads records in the order of their keys: "
                 "set loader.shuffle=false, or use another loader");
  }
  LoaderOptions::check(section);
  check_in_order(section);
}

LoaderInfo LmdbioOptions::info() const {
  LoaderInfo info = LoaderOptions::info(prefetch_batches);
  info.workers = 1;
  const bool coalesces = reader == LmdbReader::coal || reader == LmdbReader::stag;
  info.batches_by_ranks = coalesce.count == 0 ? coalesces : coalesce.count > 1;
  if (reader == LmdbReader::lmdb || reader == LmdbReader::lmm || reader == LmdbReader::lmm_dm) {
    info.maps_files = "loader.reader: " + name_of(reader);
  }
  return info;
}

}  // namespace stoker
