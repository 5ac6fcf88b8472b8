#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "io/core/system/neighbours.h"

namespace stoker {
namespace {

TEST(Neighbour, is_seen_to_end_before_its_parent_has_asked_for_it) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  const Neighbour neighbour(place_of(child));
  EXPECT_FALSE(neighbour.ended());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(neighbour.ended());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(neighbour.ended());
  EXPECT_TRUE(Neighbour(place_of(child)).ended());  // whoever looks later knows it, too
}

TEST(Neighbour, elsewhere_is_never_held_to_have_ended) {
  const std::string own = place_of(getpid());
  EXPECT_FALSE(Neighbour(own).ended());
  for (const std::string& place : {std::string(), std::string("17"), "another-boot" + own,
                                   own.substr(0, own.rfind('/')), own + "x/2147483647"}) {
    EXPECT_FALSE(Neighbour(place).ended()) << place;
  }
}

}  // namespace
}  // namespace stoker
