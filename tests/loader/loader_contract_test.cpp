#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "io/core/threads.h"
#include "io/loader/batch_job.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// What every registered loader must do, whatever its threads.

namespace stoker {
namespace {

// device_resident keeps its pixels over all epochs, and is given a decoder that does not augment.
struct LoaderSetup {
  explicit LoaderSetup(const std::string& type, FakeDataset data = FakeDataset(50))
      : dataset(std::move(data)), decoder(type != "device_resident", {3, 5, 8}) {}
  static Component<Loader> component(const std::string& type, const std::string& options) {
    return parse_component<Loader>(
        parse_yaml("{type: " + type + ", batch_size: 8, digest: true, " + options + "}", "t.yaml"));
  }
  std::unique_ptr<Loader> make(const std::string& type, const std::string& options,
                               Split split = Split::train, Shard shard = {}) {
    return component(type, options)
        .create({dataset, decoder, device.allocator(), split, 7, [](const std::string&) {}, meter,
                 shard, &device});
  }
  FakeDataset dataset;
  FakeDecoder decoder;
  FakeDevice device;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
};

struct Seen {
  std::vector<std::string> digests;
  std::vector<int64_t> samples;
  std::vector<int64_t> wholes;
  std::vector<std::string> skipped;
  std::vector<std::string> tolerated;
};

const uint8_t* pixels(const Batch& batch) {
  return batch.on_device ? batch.on_device->host.pixels.get() : batch.pixels.get();
}

void collect(const Batch& batch, Seen& seen) {
  seen.digests.push_back(batch.digests);
  seen.wholes.push_back(batch.whole);
  if (batch.filler) return;
  for (int64_t i = 0; i < batch.size; ++i) {
    int64_t index = 0;
    std::memcpy(&index, pixels(batch) + i * 16, sizeof index);
    EXPECT_EQ((*batch.labels)[static_cast<size_t>(i)], index % 3);
    seen.samples.push_back(index);
  }
  for (const SkippedSample& sample : batch.skipped) {
    seen.skipped.push_back(std::to_string(sample.batch) + " " + sample.key + " " +
                           to_string(sample.reason) + " -> " + sample.replaced_by);
  }
  for (const ToleratedSample& sample : batch.tolerated) {
    seen.tolerated.push_back(std::to_string(batch.index) + " " + sample.key + ": " +
                             sample.message);
  }
}

Seen epochs(Loader& loader, int64_t first, int64_t count) {
  Seen seen;
  for (int64_t epoch = first; epoch < first + count; ++epoch) {
    loader.start(epoch, 0);
    int64_t index = 0;
    while (const auto batch = loader.next()) {
      EXPECT_EQ(batch->epoch, epoch);
      EXPECT_EQ(batch->index, index++);
      collect(*batch, seen);
    }
    EXPECT_EQ(index, loader.batches());
  }
  return seen;
}

using Case = std::tuple<std::string, int>;

class LoaderContract : public ::testing::TestWithParam<Case> {
 protected:
  std::string type() const { return std::get<0>(GetParam()); }
  std::string options(const std::string& more = "") const {
    return "workers: " + std::to_string(std::get<1>(GetParam())) + (more.empty() ? "" : ", ") +
           more;
  }
};

TEST_P(LoaderContract, gives_the_bytes_of_sync_in_its_order) {
  LoaderSetup setup(type()), reference(type());
  const Seen expected = epochs(*reference.make("sync", "workers: 1"), 0, 3);
  const Seen seen = epochs(*setup.make(type(), options()), 0, 3);
  EXPECT_EQ(seen.digests, expected.digests);
  EXPECT_EQ(std::set<std::string>(seen.digests.begin(), seen.digests.end()).size(), 18u);
}

// 50 samples in files of 1, 2, 3 and so on.
FakeDataset in_files() {
  std::vector<int64_t> files;
  for (int64_t file = 0; std::ssize(files) < 50; ++file) {
    files.insert(files.end(), static_cast<size_t>(file + 1), file);
  }
  files.resize(50);
  return {50, {}, {}, files};
}

TEST_P(LoaderContract, gives_the_bytes_of_sync_in_every_order_from_anywhere_on_every_rank) {
  for (const auto& [order, value] : enum_names(SampleOrder())) {
    for (const Shard shard : {Shard{0, 1}, Shard{2, 3}}) {
      SCOPED_TRACE(std::string(order) + " " + std::to_string(shard.rank));
      const std::string given =
          options(std::string("drop_last: false, window: 10, order: ") + order);
      LoaderSetup setup(type(), in_files()), reference(type(), in_files());
      const Seen expected = epochs(*reference.make("sync", given, Split::train, shard), 0, 2);
      const auto loader = setup.make(type(), given, Split::train, shard);
      EXPECT_EQ(epochs(*loader, 0, 2).digests, expected.digests);
      loader->start(1, 3);  // of 7
      Seen tail;
      while (const auto batch = loader->next()) collect(*batch, tail);
      EXPECT_EQ(tail.digests,
                std::vector<std::string>(expected.digests.begin() + 10, expected.digests.end()));
    }
  }
}

TEST_P(LoaderContract, an_epoch_is_a_permutation_and_epochs_differ) {
  LoaderSetup setup(type());
  const auto loader = setup.make(type(), options("drop_last: false"));
  const Seen first = epochs(*loader, 0, 1), second = epochs(*loader, 1, 1);
  EXPECT_NE(first.samples, second.samples);
  for (Seen seen : {first, second}) {
    std::sort(seen.samples.begin(), seen.samples.end());
    ASSERT_EQ(seen.samples.size(), 50u);
    for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(seen.samples[static_cast<size_t>(i)], i);
  }
}

TEST_P(LoaderContract, starts_anywhere) {
  LoaderSetup setup(type());
  const auto loader = setup.make(type(), options());
  const Seen all = epochs(*loader, 2, 1);
  loader->start(2, 4);
  Seen tail;
  while (const auto batch = loader->next()) collect(*batch, tail);
  EXPECT_EQ(tail.digests, std::vector<std::string>(all.digests.begin() + 4, all.digests.end()));
}

TEST_P(LoaderContract, next_goes_on_with_the_following_epoch_without_a_new_start) {
  LoaderSetup setup(type()), reference(type());
  const Seen expected = epochs(*reference.make("sync", "workers: 1"), 0, 2);
  const auto loader = setup.make(type(), options());
  const Seen first = epochs(*loader, 0, 1);
  loader->start(1, 0);
  Seen second;
  while (const auto batch = loader->next()) collect(*batch, second);
  EXPECT_EQ(second.digests,
            std::vector<std::string>(expected.digests.begin() + 6, expected.digests.end()));
}

TEST_P(LoaderContract, can_be_destroyed_in_the_middle_of_an_epoch) {
  LoaderSetup setup(type());
  std::optional<Batch> held;
  {
    const auto loader = setup.make(type(), options());
    loader->start(0, 0);
    held = loader->next();
  }
  // A batch may outlive its loader.
  Seen seen;
  collect(*held, seen);
  EXPECT_EQ(seen.samples.size(), 8u);
}

TEST_P(LoaderContract, a_bad_sample_ends_the_epoch_after_the_batches_before_it) {
  LoaderSetup probe(type());
  const int64_t victim = epochs(*probe.make("sync", "workers: 1"), 0, 1).samples[3 * 8 + 2];
  LoaderSetup setup(type(), FakeDataset(50, {victim}));
  const auto loader = setup.make(type(), options());
  for (int round = 0; round < 2; ++round) {
    loader->start(0, 0);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader->next());
    EXPECT_EQ(error_of([&] { loader->next(); }),
              "dataset: sample/" + std::to_string(victim) +
                  ": corrupt: broken on purpose (repair or remove the file, or set "
                  "dataset.on_error={policy: skip})");
  }
}

// Of a tier that fails, no sample is to blame.
TEST_P(LoaderContract, a_tier_that_fails_ends_the_epoch_whatever_is_done_about_bad_samples) {
  LoaderSetup probe(type());
  const int64_t victim = epochs(*probe.make("sync", "workers: 1"), 0, 1).samples[3 * 8 + 2];
  for (const ErrorPolicy policy : {ErrorPolicy::fail, ErrorPolicy::skip}) {
    for (const int error : {EACCES, EIO, ETIMEDOUT, ESTALE, 0}) {
      FakeDataset data(50, {}, OnError{policy, {}});
      data.fail(victim, error);
      LoaderSetup setup(type(), data);
      const auto loader = setup.make(type(), options());
      loader->start(0, 0);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader->next());
      try {
        loader->next();
        ADD_FAILURE() << error;
      } catch (const IoError&) {
        ADD_FAILURE() << error;
      } catch (const Error& failure) {
        EXPECT_EQ(failure.code(), ExitCode::storage);
        EXPECT_EQ(std::string(failure.what()),
                  "dataset: sample sample/" + std::to_string(victim) +
                      " cannot be read, because tier 'data' fails: failed on purpose: see that the "
                      "tier answers and may be read, and start it again");
      }
      EXPECT_TRUE(setup.meter.state().errors.empty());
    }
  }
}

TEST_P(LoaderContract, a_sample_that_is_not_there_is_a_bad_one) {
  for (const int error : {ENOENT, ENOTDIR, EISDIR, ELOOP}) {
    FakeDataset data(50, {}, OnError{ErrorPolicy::skip, {}});
    data.fail(7, error);
    LoaderSetup setup(type(), data);
    const Seen seen = epochs(*setup.make(type(), options("drop_last: false")), 0, 1);
    ASSERT_EQ(seen.skipped.size(), 1u) << error;
    EXPECT_NE(seen.skipped[0].find("sample/7 missing"), std::string::npos) << seen.skipped[0];
  }
}

// A thread that waits in next() is told to give up once a worker waits, too.
void interrupt_next(Loader& loader, const FakeDataset& data) {
  std::jthread trainer([&](const std::stop_token& stop) {
    const Interruptible scope(stop);
    EXPECT_THROW(while (loader.next()){}, Interrupted);
  });
  data.wait_for_reader();
  trainer.request_stop();
}

TEST_P(LoaderContract, next_is_given_up_where_the_thread_is_told_to) {
  LoaderSetup probe(type());
  const Seen expected = epochs(*probe.make("sync", "workers: 1"), 0, 1);
  FakeDataset data(50);
  data.hang(expected.samples[3 * 8 + 2]);
  LoaderSetup setup(type(), data);
  const auto loader = setup.make(type(), options());
  loader->start(0, 0);
  interrupt_next(*loader, setup.dataset);
  // It can be started again, there and anywhere else, while the sample still hangs ...
  loader->start(0, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader->next());
  interrupt_next(*loader, setup.dataset);
  // ... and goes on where it was once it does not.
  setup.dataset.hang(-1);
  loader->start(0, 3);
  Seen tail;
  while (const auto batch = loader->next()) collect(*batch, tail);
  EXPECT_EQ(tail.digests,
            std::vector<std::string>(expected.digests.begin() + 3, expected.digests.end()));
}

TEST_P(LoaderContract, that_waits_for_a_tier_ends_at_once) {
  FakeDataset data(50);
  data.hang(-2);  // all
  LoaderSetup setup(type(), data);
  {
    const auto loader = setup.make(type(), options());
    loader->start(0, 0);
    interrupt_next(*loader, setup.dataset);
  }
  SUCCEED();
}

TEST_P(LoaderContract, skipped_samples_are_replaced_the_same_way_by_every_loader) {
  const FakeDataset data(50, {3, 4, 17}, OnError{ErrorPolicy::skip, {}});
  LoaderSetup setup(type(), data), reference(type(), data);
  const Seen expected = epochs(*reference.make("sync", "workers: 1"), 0, 2);
  const Seen seen = epochs(*setup.make(type(), options()), 0, 2);
  EXPECT_EQ(seen.digests, expected.digests);
  EXPECT_EQ(seen.skipped, expected.skipped);
  EXPECT_GE(seen.skipped.size(), 4u);
  for (const int64_t sample : seen.samples) EXPECT_TRUE(sample != 3 && sample != 4 && sample != 17);
}

TEST_P(LoaderContract, tolerated_samples_are_listed_the_same_way_by_every_loader) {
  LoaderSetup setup(type()), reference("sync");
  const Seen expected = epochs(*reference.make("sync", "workers: 1, drop_last: false"), 0, 1);
  const Seen seen = epochs(*setup.make(type(), options("drop_last: false")), 0, 1);
  EXPECT_EQ(seen.tolerated, expected.tolerated);
  EXPECT_EQ(seen.tolerated.size(), 3u);
  EXPECT_EQ(seen.tolerated[0].substr(seen.tolerated[0].find(':')), ": damaged on purpose");
  EXPECT_GE(setup.meter.state().tolerated, 3);  // more where the next epoch is read ahead
}

// Batch for batch, what one process loads, and what the ranks load one behind the other.
void expect_same_batches(const std::string& type, const std::string& given, Split split,
                         int64_t world) {
  LoaderSetup one(type);
  const Seen whole = epochs(*one.make(type, given, split), 0, 2);
  std::vector<std::string> digests(whole.digests.size());
  size_t samples = 0;
  for (int64_t rank = 0; rank < world; ++rank) {
    LoaderSetup setup(type);
    const Seen part = epochs(*setup.make(type, given, split, {rank, world}), 0, 2);
    EXPECT_EQ(part.wholes, whole.wholes);
    for (size_t batch = 0; batch < digests.size(); ++batch) digests[batch] += part.digests[batch];
    samples += part.samples.size();
  }
  EXPECT_EQ(digests, whole.digests);
  EXPECT_EQ(samples, whole.samples.size());
}

TEST_P(LoaderContract, a_batch_is_the_same_whatever_the_number_of_ranks) {
  for (const int64_t world : {2, 3, 4, 8}) {  // the last batch has 2 of 8 samples
    SCOPED_TRACE(world);
    expect_same_batches(type(), options("drop_last: false"), Split::train, world);
    expect_same_batches(type(), options("order: window, window: 9"), Split::train, world);
    expect_same_batches(type(), options(""), Split::train, world);
    expect_same_batches(type(), options(""), Split::test, world);
  }
}

TEST_P(LoaderContract, a_batch_has_a_sample_for_each_rank) {
  LoaderSetup setup(type());
  EXPECT_EQ(error_of([&] {
              setup.make(type(), options(""), Split::train, {0, 9});
            }),
            "loader: batch_size 8 is not one sample for each of 9 ranks: it is that of all ranks "
            "together");
}

TEST_P(LoaderContract, evaluation_is_in_the_order_of_the_data_set) {
  LoaderSetup setup(type());
  const Seen seen = epochs(*setup.make(type(), options(""), Split::test), 0, 1);
  EXPECT_TRUE(std::is_sorted(seen.samples.begin(), seen.samples.end()));
  EXPECT_EQ(seen.samples.size(), 50u);
}

TEST_P(LoaderContract, uses_its_slots_again) {
  LoaderSetup setup(type());
  epochs(*setup.make(type(), options("prefetch_batches: 3, device_batches: 2")), 0, 5);
  // 3 ahead in host memory, 2 on the device, one in the copier's and one in the trainer's hands.
  EXPECT_LE(setup.device.slots(), 8);
}

TEST_P(LoaderContract, says_before_it_is_made_how_it_works) {
  LoaderSetup setup(type());
  const std::string given = options("prefetch_batches: 3, drop_last: false");
  const LoaderInfo info = LoaderSetup::component(type(), given).info();
  const auto loader = setup.make(type(), given);
  // Threads announce themselves; sync counts the trainer's own.
  const int64_t workers = std::max<int64_t>(info.workers, 1);
  while (setup.meter.state().workers < workers) std::this_thread::yield();
  EXPECT_EQ(setup.meter.state().workers, workers);
  loader->start(0, 0);
  const std::optional<Batch> first = loader->next();
  EXPECT_EQ(first->size, info.batch_size);
  if (info.works_ahead()) {
    while (setup.decoder.decoded() < (1 + info.host_batches_ahead) * info.batch_size) {
      std::this_thread::yield();
    }
  } else {
    EXPECT_EQ(setup.decoder.decoded(), info.batch_size);
  }
  epochs(*loader, 0, 2);
  const int64_t before = setup.decoder.decoded();
  epochs(*loader, 2, 1);
  EXPECT_EQ(setup.decoder.decoded() == before, info.resident);
  EXPECT_FALSE(info.drop_last);
  EXPECT_EQ(info.order, SampleOrder::permutation);
  EXPECT_EQ(LoaderSetup::component(type(), options("order: window")).info().order,
            SampleOrder::window);
  EXPECT_TRUE(LoaderSetup::component(type(), options()).info().drop_last);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const std::string& type : Registry<Loader>::global().names()) {
    // It reads databases alone, and never shuffles: tests/loader/lmdbio.
    if (type == "lmdbio") continue;
    for (int workers : {1, 4}) result.emplace_back(type, workers);
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, LoaderContract, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)) + "_workers";
});

}  // namespace
}  // namespace stoker
