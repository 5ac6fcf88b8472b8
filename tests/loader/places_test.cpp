#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "io/core/threads.h"
#include "io/loader/batch_job.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"

// Places in a run that have no batch: those of an empty split, and numbers below 0.

namespace stoker {
namespace {

// 50 samples, all of which train.
class Untested final : public Dataset {
 public:
  Untested() : Dataset(OnError()) {}
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return split == Split::train ? 50 : 0; }
  SampleInfo info(Split split, int64_t) const override {
    if (split == Split::test) throw std::out_of_range("there is no such sample");
    return {};
  }
  EncodedSample read(Split, int64_t, Buffer&) const override {
    throw std::out_of_range("there is nothing to read");
  }

 private:
  const std::vector<std::string> classes_{"a"};
};

class NoBatchThere : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Loader> make(Split split, const std::string& more = "") {
    const std::string text = std::string("{type: ") + GetParam() + ", batch_size: 8" + more + "}";
    return parse_component<Loader>(parse_yaml(text, "t.yaml"))
        .create({dataset_,
                 decoder_,
                 device_.allocator(),
                 split,
                 7,
                 [](const std::string&) {},
                 meter_,
                 {},
                 &device_});
  }

 private:
  Untested dataset_;
  FakeDecoder decoder_{std::string(GetParam()) != "device_resident", {}};
  FakeDevice device_;
  Tracer tracer_;
  LoaderMeter meter_{"train", tracer_};
};

TEST_P(NoBatchThere, an_empty_split_has_no_batch_in_any_epoch) {
  for (const char* more : {"", ", order: shards", ", order: window", ", drop_last: false"}) {
    const auto loader = make(Split::test, more);
    EXPECT_EQ(loader->batches(), 0);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader->start(epoch, 0);
      EXPECT_FALSE(loader->next());
    }
  }
}

TEST_P(NoBatchThere, epochs_and_batches_are_counted_from_0) {
  for (const auto& [epoch, batch] : {std::pair{-1, 0}, std::pair{0, -1}, std::pair{0, -20}}) {
    const std::string text =
        error_of([&, e = epoch, b = batch] { make(Split::train)->start(e, b); });
    EXPECT_NE(text.find("are counted from 0"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NoBatchThere,
                         ::testing::Values("sync", "threaded", "prefetched", "device_prefetched",
                                           "device_resident"));

}  // namespace
}  // namespace stoker
