#include <aio.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "tests/profiler/wrap/attached.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using testing::ElementsAre;

class AioCalls : public testing::Test {
 protected:
  AioCalls() {
    directory_.write("a", "0123456789");
    file_ = open((directory_ / "a").c_str(), O_RDWR);
  }
  ~AioCalls() override { close(file_); }
  // The name of the operation is the call's: only lio_listio looks at `operation`.
  aiocb request(size_t bytes, off_t offset, int operation = LIO_NOP) {
    aiocb request{};
    request.aio_fildes = file_;
    request.aio_buf = data_.data();
    request.aio_nbytes = bytes;
    request.aio_offset = offset;
    request.aio_lio_opcode = operation;
    return request;
  }
  static ssize_t result_of(aiocb& request) {
    const aiocb* const list[] = {&request};
    while (aio_error(&request) == EINPROGRESS) aio_suspend(list, 1, nullptr);
    return aio_return(&request);
  }
  const TemporaryDirectory directory_;
  int file_ = -1;
  std::array<char, 64> data_{};
};

TEST_F(AioCalls, are_told_by_their_offsets_when_their_result_is_asked_for) {
  const auto lines = told_of([&] {
    aiocb read = request(4, 2), write = request(3, 20);
    aio_read(&read);
    EXPECT_EQ(result_of(read), 4);
    aio_write(&write);
    EXPECT_EQ(result_of(write), 3);
    EXPECT_EQ(aio_return(&write), 3);  // once more: nothing was done
  });
  EXPECT_THAT(lines, ElementsAre("read 4 at 2", "wrote 3 at 20"));
}

TEST_F(AioCalls, have_names_of_64_bits) {
  const auto lines = told_of([&] {
    aiocb64 request{};
    request.aio_fildes = file_;
    request.aio_buf = data_.data();
    request.aio_nbytes = 64;
    request.aio_offset = 4;
    aio_read64(&request);
    while (aio_error64(&request) == EINPROGRESS) std::this_thread::yield();
    EXPECT_EQ(aio_return64(&request), 6);
    request.aio_nbytes = 2;
    aio_write64(&request);
    while (aio_error64(&request) == EINPROGRESS) std::this_thread::yield();
    EXPECT_EQ(aio_return64(&request), 2);
    aiocb64* const list[] = {&request};
    request.aio_lio_opcode = LIO_READ;
    lio_listio64(LIO_WAIT, list, 1, nullptr);
    EXPECT_EQ(aio_return64(&request), 2);
  });
  EXPECT_THAT(lines, ElementsAre("read 6 at 4", "wrote 2 at 4", "read 2 at 4"));
}

TEST_F(AioCalls, of_a_list_are_told_one_by_one) {
  const auto lines = told_of([&] {
    aiocb first = request(1, 0, LIO_READ), nothing = request(1, 1, LIO_NOP),
          second = request(2, 5, LIO_WRITE);
    aiocb* const list[] = {&first, nullptr, &nothing, &second};
    EXPECT_EQ(lio_listio(LIO_WAIT, list, 4, nullptr), 0);
    EXPECT_EQ(aio_return(&second), 2);
    EXPECT_EQ(aio_return(&first), 1);
  });
  EXPECT_THAT(lines, ElementsAre("wrote 2 at 5", "read 1 at 0"));
}

TEST_F(AioCalls, that_fail_are_not_told) {
  const auto lines = told_of([&] {
    aiocb failing = request(1, 0);
    failing.aio_fildes = -1;
    if (aio_read(&failing) == 0) {
      EXPECT_EQ(result_of(failing), -1);
    }
  });
  EXPECT_THAT(lines, ElementsAre());
}

TEST_F(AioCalls, of_before_counting_began_are_not_told) {
  aiocb early = request(4, 0), again = request(2, 0);
  aio_read(&early);
  {
    const Attached attached;
    aio_read(&again);
  }
  const auto lines = told_of([&] {
    EXPECT_EQ(result_of(early), 4);
    EXPECT_EQ(result_of(again), 2);
    aio_read(&again);
    EXPECT_EQ(result_of(again), 2);
  });
  EXPECT_THAT(lines, ElementsAre("read 2 at 0"));
}

TEST_F(AioCalls, of_many_threads_are_told_once) {
  constexpr int kThreads = 4, kRounds = 200, kAtOnce = 32;
  const auto lines = told_of([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        std::array<aiocb, kAtOnce> requests{};
        std::array<char, kAtOnce> bytes{};
        for (int round = 0; round < kRounds / kAtOnce + 1; ++round) {
          for (size_t i = 0; i < requests.size(); ++i) {
            requests[i].aio_fildes = file_;
            requests[i].aio_buf = &bytes[i];
            requests[i].aio_nbytes = 1;
            aio_read(&requests[i]);
          }
          for (aiocb& each : requests) EXPECT_EQ(result_of(each), 1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(lines.size(), static_cast<size_t>(kThreads * (kRounds / kAtOnce + 1) * kAtOnce));
}

}  // namespace
}  // namespace stoker
