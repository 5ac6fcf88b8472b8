#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <iostream>
#include <limits>

#include "tests/support/bucket_run.h"
#include "tests/support/short_tests.h"

// A process that writes to a bucket dies after every one of its operations there, and the next one
// is started on what is left. Objects are there as a whole or not at all, and durable when they
// are, so that these are all states in which a crash can leave a bucket.

namespace stoker {
namespace {

const std::string kFew = ", keep_last: 2, shards: 2, threads: 1, slots: 1";
const std::string kCrashDirect = "type: direct, slow: slow, every_steps: 1" + kFew;
const std::string kCrashBurst =
    "type: burst_buffer, fast: fast, slow: slow, every_steps: 1, retry_seconds: 0.001" + kFew;
constexpr size_t kNever = std::numeric_limits<size_t>::max();

// When the process is no more, neither tier does anything for it.
class Death final : public FileLayer {
 public:
  explicit Death(size_t after) : after_(after) {}
  int64_t call(const FileCall& call, const Next& next) override {
    return count_ > after_ ? -EIO : next(call);
  }
  void operation(const std::string& op, const std::string& key) {
    if (count_ > after_ || ++count_ > after_) throw IoError(op + " " + key + ": killed", EIO);
  }
  size_t count() const { return count_; }

 private:
  const size_t after_;
  std::atomic<size_t> count_ = 0;
};

// What the processes of a run have acknowledged.
struct Acknowledged {
  int64_t saved = 0;
  int64_t durable = 0;  // on the bucket
  void note(const CheckpointStatus& status) {
    saved = std::max(saved, status.saved_step.value_or(0));
    durable = std::max(durable, status.durable_step.value_or(0));
  }
};

// A process that dies after so many operations on the bucket; how many it made.
size_t live(BucketRun& run, const std::string& options, int64_t saves, size_t operations,
            Acknowledged& acknowledged) {
  const auto death = std::make_shared<Death>(operations);
  run.fast = {death};
  run.seen = [death](const std::string& op, const std::string& key) { death->operation(op, key); };
  try {
    const std::optional<LoadedState> loaded = run.make(options + kLatest).load();
    const int64_t begin = loaded ? loaded->step() : 0;
    for (int64_t step = begin + 1; step <= begin + saves; ++step) {
      run.save(step);
      acknowledged.note(run->status());
      run->flush();
      acknowledged.note(run->status());
      if (death->count() > operations) break;
    }
  } catch (const Error& error) {
    EXPECT_GT(death->count(), operations) << error.what();
  }
  run.stop();
  return death->count();
}

void check_bucket(BucketRun& run, const Acknowledged& acknowledged) {
  const Steps steps = run.bucket_steps();
  for (const int64_t step : steps) EXPECT_TRUE(run.bucket_intact(step)) << step;
  EXPECT_GE(steps.empty() ? 0 : steps.back(), acknowledged.durable) << "the bucket is not enough";
}

// The next process, which lives: it goes on from what was acknowledged, and leaves nothing over.
void check_next(BucketRun& run, const std::string& options, const Acknowledged& acknowledged) {
  run.fast = {};
  run.seen = {};
  check_bucket(run, acknowledged);
  const int64_t step = run.resume(options + kLatest);
  EXPECT_GE(std::max<int64_t>(step, 0), std::max(acknowledged.saved, acknowledged.durable));
  run.save(std::max<int64_t>(step, 0) + 1);
  EXPECT_TRUE(run->flush());
  EXPECT_THAT(run.leftovers(), testing::IsEmpty());
  EXPECT_EQ(run->status().durable_step, std::max<int64_t>(step, 0) + 1);
  EXPECT_EQ(run.warnings(), "");
  run.stop();
  check_bucket(run, acknowledged);
}

size_t operations_of(const std::string& options) {
  BucketRun run;
  Acknowledged acknowledged;
  const size_t count = live(run, options, 4, kNever, acknowledged);
  EXPECT_EQ(acknowledged.durable, 4) << run.warnings();
  return count;
}

TEST(ObjectCrashes, no_kill_after_any_operation_takes_what_was_acknowledged) {
  for (const std::string& options : {kCrashDirect, kCrashBurst}) {
    const size_t all = operations_of(options);
    EXPECT_GT(all, 60u);
    for (size_t last = 0; last <= all && !testing::Test::HasFailure(); last += stride(5)) {
      SCOPED_TRACE("killed after operation " + std::to_string(last));
      BucketRun run;
      Acknowledged acknowledged;
      live(run, options, 4, last, acknowledged);
      check_next(run, options, acknowledged);
    }
    std::cout << all + 1 << " states\n";
  }
}

TEST(ObjectCrashes, a_kill_while_the_next_process_starts_takes_nothing_either) {
  for (const std::string& options : {kCrashDirect, kCrashBurst}) {
    const size_t all = operations_of(options);
    size_t states = 0;
    for (size_t first = 3; first <= all; first += stride(67)) {
      for (size_t second = 0; second <= 40 && !testing::Test::HasFailure(); second += 4) {
        SCOPED_TRACE("killed after " + std::to_string(first) + ", then " + std::to_string(second));
        BucketRun run;
        Acknowledged acknowledged;
        live(run, options, 4, first, acknowledged);
        live(run, options, 1, second, acknowledged);
        check_next(run, options, acknowledged);
        ++states;
      }
    }
    std::cout << states << " states\n";
  }
}

// An operation fails once, whether or not it was done: the process goes on, and so does the next.
TEST(ObjectCrashes, no_failure_of_one_operation_takes_what_was_acknowledged) {
  for (const bool done : {false, true}) {
    for (const std::string& options : {kCrashDirect, kCrashBurst}) {
      const size_t all = operations_of(options);
      for (size_t failing = 1; failing <= all && !testing::Test::HasFailure();
           failing += stride(41)) {
        SCOPED_TRACE((done ? "done, but failed: " : "failed: ") + std::to_string(failing));
        BucketRun run;
        std::atomic<size_t> count = 0;
        (done ? run.done : run.seen) = [&](const std::string& op, const std::string& key) {
          if (++count == failing) throw IoError(op + " " + key + ": no answer", ETIMEDOUT);
        };
        Acknowledged acknowledged;
        try {
          run.start(options + kLatest);
          for (int64_t step = 1; step <= 4; ++step) {
            run.save(step);
            run->flush();
            acknowledged.note(run->status());
          }
          EXPECT_EQ(acknowledged.saved, 4) << run.warnings();
        } catch (const IoError&) {  // at the start
        }
        run.stop();
        run.seen = run.done = {};
        check_next(run, options, acknowledged);
      }
    }
  }
}

}  // namespace
}  // namespace stoker
