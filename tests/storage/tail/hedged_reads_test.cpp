#include "io/storage/tail/hedged_reads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/metrics/tracer.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;

void fill(Buffer& out, const std::string& text) {
  std::copy(text.begin(), text.end(), out.resize(text.size()));
}

std::string text_of(const Buffer& buffer) { return {buffer.bytes().begin(), buffer.bytes().end()}; }

[[noreturn]] void hang() {
  for (;;) sleep_interruptibly(Clock::now() + 1s);
}

// A tier whose reads do what a test says: that of the caller's thread what the first of attempts_
// says, the further ones what the next say. Those of the key "quick" are done at once.
class HedgedReadsOf : public testing::Test {
 protected:
  using Attempt = std::function<void(Buffer& out)>;

  // As many reads as allow for 30 further ones.
  void earn() {
    Buffer out;
    for (int i = 0; i < 1000; ++i) hedged_.read("quick", out, {});
  }
  std::string read() {
    Buffer out;
    return read(out);
  }
  std::string read(Buffer& out) {
    before_ = *meter_.state().hedges;
    caller_ = std::this_thread::get_id();
    hedged_.read("a", out, {2, 5});
    return text_of(out);
  }
  void await_attempt(int number) const {
    while (begun_ < number) std::this_thread::yield();
  }
  // Until every attempt has come back.
  void await_end() const {
    while (ended_ < begun_) std::this_thread::yield();
  }
  // Since the last read() began. On a busy machine a quick read may be late, too.
  TierMeter::Hedges counted() const {
    const TierMeter::Hedges now = *meter_.state().hedges;
    return {now.sent - before_.sent, now.won - before_.won, now.bytes - before_.bytes};
  }

  std::vector<Attempt> attempts_;
  std::atomic<std::thread::id> caller_;
  std::atomic<size_t> further_ = 0;
  TierMeter::Hedges before_;
  std::atomic<int> begun_ = 0, ended_ = 0, interrupted_ = 0;
  Tracer tracer_;
  TierMeter meter_{"tier", "fake", false, tracer_};
  HedgedReads hedged_{{0, 5ms}, &meter_, [this](const std::string& key, Buffer& out, Range range) {
                        if (key == "quick") return fill(out, "q");
                        EXPECT_EQ(range, (Range{2, 5}));
                        const bool own = std::this_thread::get_id() == caller_.load();
                        const size_t number = own ? 0 : ++further_;
                        ++begun_;
                        const std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)> end(
                            &ended_, [](std::atomic<int>* count) { ++*count; });
                        try {
                          attempts_.at(number)(out);
                        } catch (const Interrupted&) {
                          ++interrupted_;
                          throw;
                        }
                      }};
};

TEST_F(HedgedReadsOf, a_read_in_time_is_read_once) {
  attempts_ = {[](Buffer& out) { fill(out, "one"); }};
  EXPECT_EQ(read(), "one");
  EXPECT_EQ(counted().sent, 0);
}

TEST_F(HedgedReadsOf, the_second_may_be_through_first) {
  earn();
  attempts_ = {[](Buffer&) { hang(); }, [](Buffer& out) { fill(out, "two"); }};
  EXPECT_EQ(read(), "two");
  EXPECT_EQ(interrupted_, 1) << "the caller's own read is over when the caller goes on";
  EXPECT_GE(counted().sent, 1);
  EXPECT_EQ(counted().won, 1);
  EXPECT_EQ(counted().bytes, 3);
}

TEST_F(HedgedReadsOf, the_loser_writes_to_no_buffer_of_the_callers) {
  earn();
  std::atomic<bool> taken = false;
  Buffer mine;
  const uint8_t* theirs = nullptr;
  attempts_ = {[this](Buffer& out) {
                 await_attempt(2);
                 fill(out, "one");
               },
               [&](Buffer& out) {
                 theirs = out.resize(3);
                 taken.wait(false);  // as a system call, which no token ends
                 fill(out, "two");
               }};
  EXPECT_EQ(read(mine), "one");
  taken = true;
  taken.notify_all();
  await_end();
  EXPECT_EQ(text_of(mine), "one");
  EXPECT_NE(theirs, mine.data());
  EXPECT_EQ(counted().won, 0);
}

TEST_F(HedgedReadsOf, the_second_is_given_up_when_the_first_is_through) {
  earn();
  attempts_ = {[this](Buffer& out) {
                 await_attempt(2);
                 fill(out, "one");
               },
               [](Buffer&) { hang(); }};
  EXPECT_EQ(read(), "one");
  await_end();
  EXPECT_EQ(interrupted_, 1);
  EXPECT_EQ(counted().bytes, 0);
}

TEST_F(HedgedReadsOf, where_the_second_fails_the_first_counts) {
  earn();
  attempts_ = {[this](Buffer& out) {
                 while (ended_ < 1) std::this_thread::yield();
                 fill(out, "one");
               },
               [](Buffer&) { throw IoError("second", EIO); },
               [](Buffer&) { throw IoError("third", EIO); }};
  EXPECT_EQ(read(), "one");
}

TEST_F(HedgedReadsOf, where_the_first_fails_the_second_counts) {
  earn();
  std::atomic<bool> failed = false;
  attempts_ = {[&](Buffer&) {
                 await_attempt(2);
                 failed = true;
                 throw IoError("first", EIO);
               },
               [&](Buffer& out) {
                 while (!failed) std::this_thread::yield();
                 fill(out, "two");
               }};
  EXPECT_EQ(read(), "two");
  EXPECT_EQ(counted().won, 1);
}

TEST_F(HedgedReadsOf, where_all_fail_the_error_is_that_of_the_first) {
  earn();
  const auto second = [](Buffer&) { throw IoError("second", EIO); };
  attempts_ = {[this](Buffer&) {
                 await_attempt(2);
                 throw IoError("first", ENOENT);
               },
               second, second};
  EXPECT_EQ(error_of([this] { read(); }), "first");
}

TEST_F(HedgedReadsOf, a_failure_in_time_is_no_reason_for_a_second) {
  earn();
  attempts_ = {[](Buffer&) { throw IoError("first", ENOENT); }};
  EXPECT_EQ(error_of([this] { read(); }), "first");
}

TEST_F(HedgedReadsOf, a_second_that_is_late_is_followed_by_a_third_and_no_fourth) {
  earn();
  const auto late = [](Buffer&) { hang(); };
  attempts_ = {late, late, [this](Buffer& out) {
                 std::this_thread::sleep_for(40ms);
                 EXPECT_EQ(begun_, 3);
                 fill(out, "three");
               }};
  EXPECT_EQ(read(), "three");
  await_end();
  EXPECT_EQ(interrupted_, 2);
  EXPECT_EQ(counted().sent, 2);
}

TEST_F(HedgedReadsOf, at_most_three_of_a_hundred_are_read_again) {
  for (int i = 0; i < 100; ++i) {
    attempts_.emplace_back([](Buffer& out) {
      std::this_thread::sleep_for(7ms);
      fill(out, "late");
    });
  }
  for (int i = 0; i < 33; ++i) EXPECT_EQ(read(), "late");
  EXPECT_EQ(meter_.state().hedges->sent, 0);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(read(), "late");
  EXPECT_LE(meter_.state().hedges->sent, 1);
}

TEST_F(HedgedReadsOf, a_caller_that_is_told_to_give_up_does) {
  earn();
  attempts_.assign(3, [](Buffer&) { hang(); });
  std::jthread reader([this](const std::stop_token& stop) {
    const Interruptible scope(stop);
    EXPECT_THROW(read(), Interrupted);
  });
  await_attempt(2);
  reader.request_stop();
  reader.join();
  await_end();
  EXPECT_EQ(interrupted_, begun_);
}

TEST(HedgedReadsOfManyThreads, each_gets_its_own_bytes) {
  std::atomic<int> number = 0;
  HedgedReads hedged({0, 5ms}, nullptr, [&](const std::string& key, Buffer& out, Range range) {
    const int own = ++number;
    fill(out, "???");
    if (own % 50 == 0) sleep_interruptibly(Clock::now() + 200ms);
    if (own % 77 == 0) throw IoError("now and then", EIO);
    fill(out, key + std::to_string(range.offset));
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&hedged, i] {
      Buffer out;
      for (uint64_t offset = 0; offset < 300; ++offset) {
        const std::string key = std::to_string(i) + "/";
        try {
          hedged.read(key, out, {offset, 9});
          EXPECT_EQ(text_of(out), key + std::to_string(offset));
        } catch (const IoError& error) {
          EXPECT_STREQ(error.what(), "now and then");
        }
      }
    });
  }
}

TEST(HedgedReadsOfManyThreads, what_is_under_way_ends_with_them) {
  std::atomic<int> begun = 0;
  {
    HedgedReads hedged({0, 5ms}, nullptr, [&](const std::string& key, Buffer& out, Range) {
      if (key == "quick") return fill(out, "q");
      if (++begun > 1) {
        std::this_thread::sleep_for(5ms);
        hang();
      }
      while (begun < 2) std::this_thread::yield();
    });
    Buffer out;
    for (int i = 0; i < 200; ++i) hedged.read("quick", out, {});
    hedged.read("a", out, {});
  }
  EXPECT_GE(begun, 2);
}

}  // namespace
}  // namespace stoker
