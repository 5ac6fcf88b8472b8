#include "io/loader/lmdbio/group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/ranks.h"

namespace stoker {
namespace {

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

using Texts = std::vector<std::string>;

// Whether this process has shared memory in its map or among its files.
bool has_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  if (text.find("memfd:stoker") != std::string::npos) return true;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(file.path(), error).string();
    if (target.find("memfd:stoker") != std::string::npos) return true;
  }
  return false;
}

// What each of `world` ranks gives, each a process with a group.
std::vector<std::string> grouped(int64_t world, int64_t node_size,
                                 const std::function<std::string(Group&)>& f) {
  const TemporaryDirectory folder;
  return in_processes(world, [&](int64_t rank) {
    std::string result;
    try {
      const auto ranks = group_in(folder.path(), rank, world);
      Group group({rank, world}, node_size, *ranks, "g");
      result = f(group);
    } catch (const Error& error) {
      result = fmt::format("{}: {}", static_cast<int>(error.code()), error.what());
    }
    return result + (has_shared_memory() ? " and shared memory is left" : "");
  });
}

TEST(Group, knows_nodes_and_their_readers) {
  EXPECT_EQ(grouped(5, 2,
                    [](Group& group) {
                      return fmt::format("{}/{} {}/{}{}", group.rank(), group.world(), group.node(),
                                         group.nodes(), group.reads() ? " reads" : "");
                    }),
            (Texts{"0/5 0/3 reads", "1/5 0/3", "2/5 1/3 reads", "3/5 1/3", "4/5 2/3 reads"}));
}

TEST(Group, what_ranks_say_reaches_all_whatever_its_length) {
  const auto said = [](int64_t rank, size_t round) {
    return std::string(static_cast<size_t>(rank) * round, static_cast<char>('a' + rank));
  };
  EXPECT_EQ(grouped(3, 2,
                    [&](Group& group) {
                      for (const size_t round : {0, 1, 100'000, 65'472, 3, 65'473}) {
                        const Texts all{said(0, round), said(1, round), said(2, round)};
                        if (group.meet(said(group.rank(), round)) != all)
                          return fmt::to_string(round);
                      }
                      return std::string("right");
                    }),
            Texts(3, "right"));
}

TEST(Group, memory_is_shared_within_a_node_and_seen_after_a_meeting) {
  const auto write_and_read = [](Group& group) {
    const std::span<uint8_t> memory = group.share_with_node(100'000);
    std::string seen;
    for (uint8_t round = 1; round <= 50; ++round) {
      group.meet_node();
      if (group.reads()) memory[99'999] = static_cast<uint8_t>(round + 100 * group.node());
      group.meet_node();
      const bool right = memory[99'999] == static_cast<uint8_t>(round + 100 * group.node());
      if (!right) return std::string("it is another's, or of another round");
    }
    return std::string("right");
  };
  EXPECT_EQ(grouped(4, 2, write_and_read), Texts(4, "right"));
  EXPECT_EQ(grouped(3, 3, write_and_read), Texts(3, "right"));
  EXPECT_EQ(grouped(3, 2, write_and_read), Texts(3, "right"));
  EXPECT_EQ(grouped(2, 1, write_and_read), Texts(2, "right"));
}

TEST(Group, messages_go_round_the_readers_in_their_order) {
  const Texts seen = grouped(6, 2, [](Group& group) {
    std::string all;
    for (int round = 0; round < 30 && group.reads(); ++round) {
      group.send((group.node() + 1) % 3, bytes_of(fmt::format("{} of {};", round, group.node())));
      all += text_of(group.receive((group.node() + 2) % 3));
      if (round % 10 == 0) group.meet_readers();
    }
    return all;
  });
  EXPECT_EQ(seen[0].substr(0, 18), "0 of 2;1 of 2;2 of");
  EXPECT_EQ(seen[2].substr(0, 18), "0 of 0;1 of 0;2 of");
  EXPECT_EQ(seen[1], "");
}

TEST(Group, of_one_rank_needs_nobody) {
  Group group({0, 1}, 1, alone(), "g");
  EXPECT_TRUE(group.reads());
  EXPECT_EQ(group.meet("x"), Texts{"x"});
  group.meet_node();
  group.meet_readers();
  group.send(0, bytes_of("to itself"));
  EXPECT_EQ(text_of(group.receive(0)), "to itself");
  EXPECT_EQ(group.share_with_node(10'000).size(), 10'000u);
  EXPECT_FALSE(has_shared_memory());
}

TEST(Group, ranks_that_cannot_talk_are_told_so) {
  EXPECT_EQ(error_of([] {
              Group({1, 2}, 1, alone(), "g");
            }),
            "loader: ranks that read by lmdbio have to talk to one another, and these can't: start "
            "them by `stoker launch`, or use another loader");
}

TEST(Group, ranks_of_other_machines_are_refused) {
  struct OtherMachine final : RankGroup {
    OtherMachine() : RankGroup(0, 2) {}
    Texts meet(const std::string&, const std::string& own, const std::function<bool()>&) override {
      return {own, "another-boot/pid:[1]/1"};
    }
  } ranks;
  EXPECT_EQ(code_of([&] { Group({0, 2}, 1, ranks, "g"); }), ExitCode::environment);
  EXPECT_EQ(error_of([&] {
              Group({0, 2}, 1, ranks, "g");
            }),
            "loader: rank 1 runs on another machine, or in another container, than rank 0, and "
            "ranks that read by lmdbio share memory: start them all on one (`stoker launch`), or "
            "use another loader");
}

TEST(Group, a_rank_that_dies_ends_those_who_wait_for_it_at_a_meeting) {
  const Texts seen = grouped(3, 3, [](Group& group) {
    group.share_with_node(1 << 20)[0] = 1;
    group.meet_node();
    if (group.rank() == 1) ::kill(::getpid(), SIGKILL);
    group.meet_node();
    return std::string("went on");
  });
  EXPECT_EQ(seen[1], "");
  for (const size_t rank : {0, 2}) {
    EXPECT_TRUE(seen[rank].starts_with("6: loader: rank 1 (process ")) << seen[rank];
    EXPECT_TRUE(seen[rank].ends_with("has died, or ended, while ranks read together"))
        << seen[rank];
  }
}

TEST(Group, a_rank_that_dies_ends_the_ring) {
  const Texts seen = grouped(4, 1, [](Group& group) {
    for (int round = 0; round < 5; ++round) {
      if (round == 3 && group.rank() == 2) ::kill(::getpid(), SIGKILL);
      if (group.node() > 0 || round > 0) group.receive((group.node() + 3) % 4);
      group.send((group.node() + 1) % 4, bytes_of("cursor"));
    }
    group.meet_readers();
    return std::string("went on");
  });
  for (const size_t rank : {0, 1, 3}) {
    EXPECT_TRUE(seen[rank].starts_with("6: loader: rank 2 (process ")) << seen[rank];
  }
}

TEST(Group, what_is_known_of_ranks_elsewhere_ends_a_wait) {
  const TemporaryDirectory folder;
  const Texts seen = in_threads(2, [&](int64_t rank) {
    const auto ranks = group_in(folder.path(), rank, 2);
    Group group({rank, 2}, 2, *ranks, "g");
    if (rank == 1) {
      folder.write("gone", "rank 7 is missing");
      return std::string();
    }
    return error_of([&] { group.meet_node(); });
  });
  EXPECT_EQ(seen[0], "loader: rank 7 is missing");
}

TEST(Group, a_rank_that_ends_it_says_why_and_takes_nothing_away) {
  const TemporaryDirectory folder;
  const Texts seen = in_threads(2, [&](int64_t rank) {
    const auto ranks = group_in(folder.path(), rank, 2);
    Group group({rank, 2}, 1, *ranks, "g");
    if (rank == 0) {
      group.send(1, bytes_of("the last word"));
      group.end("rank 0: the disk is full");
      group.end("rank 0 reads no further");
      group.meet("");
      return error_of([&] { group.receive(1); });
    }
    group.meet("");
    const std::string message = text_of(group.receive(0));
    return message + "; " + error_of([&] { group.receive(0); });
  });
  EXPECT_EQ(seen[0], "loader: rank 0: the disk is full");
  EXPECT_EQ(seen[1], "the last word; loader: rank 0: the disk is full");
}

TEST(Group, may_be_ended_by_another_thread) {
  const TemporaryDirectory folder;
  const Texts seen = in_threads(2, [&](int64_t rank) {
    const auto ranks = group_in(folder.path(), rank, 2);
    Group group({rank, 2}, 2, *ranks, "g");
    std::jthread other;
    if (rank == 0) other = std::jthread([&] { group.end("rank 0 reads no further"); });
    return error_of([&] { group.receive(1 - rank); });
  });
  EXPECT_EQ(seen, Texts(2, "loader: rank 0 reads no further"));
}

TEST(Group, a_rank_that_has_left_is_missed_by_those_alone_who_wait_for_it) {
  const Texts seen = grouped(3, 1, [](Group& group) {
    if (group.rank() == 0) return std::string("left");
    if (group.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      group.send(2, bytes_of("late"));
      return std::string("sent");
    }
    const std::string late = text_of(group.receive(1));
    return late + "; " + error_of([&] { group.receive(0); });
  });
  EXPECT_EQ(seen, (Texts{"left", "sent", "late; loader: rank 0 reads no further"}));
}

TEST(Group, who_cannot_go_on_without_a_rank_that_left_takes_nothing_from_others) {
  const Texts seen = grouped(4, 1, [](Group& group) {
    const auto receive = [&](int64_t from) { return text_of(group.receive(from)); };
    if (group.rank() == 0) return std::string("left");
    if (group.rank() == 1) {
      try {
        return receive(0);
      } catch (const Error& error) {
        group.end(error.what());  // as a loader does
        throw;
      }
    }
    if (group.rank() == 3) return receive(2);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    group.send(3, bytes_of("late"));
    return std::string("sent");
  });
  EXPECT_EQ(seen, (Texts{"left", "6: loader: rank 0 reads no further", "sent", "late"}));
}

TEST(Group, a_second_message_waits_for_the_first_to_be_taken) {
  const TemporaryDirectory folder;
  std::atomic<int> sent{0};
  const Texts seen = in_threads(2, [&](int64_t rank) {
    const auto ranks = group_in(folder.path(), rank, 2);
    Group group({rank, 2}, 1, *ranks, "g");
    std::string all;
    for (int i = 0; i < 100; ++i) {
      if (rank == 0) {
        group.send(1, bytes_of(std::to_string(i)));
        ++sent;
      } else {
        all += text_of(group.receive(0));
        EXPECT_LE(sent, i + 2);
      }
    }
    return all;
  });
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += std::to_string(i);
  EXPECT_EQ(seen[1], expected);
}

}  // namespace
}  // namespace stoker
