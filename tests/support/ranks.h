#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/threads.h"
#include "tests/support/temporary_directory.h"

namespace stoker {

// Ranks that meet by files of a folder, whether they are processes or threads. gone() says what is
// in the folder's file of that name.
class FolderGroup final : public RankGroup {
 public:
  FolderGroup(std::string folder, int64_t rank, int64_t size)
      : RankGroup(rank, size), folder_(std::move(folder)) {}
  std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                const std::function<bool()>&) override {
    std::string name = channel;
    std::ranges::replace(name, '/', '-');
    const std::string meeting =
        folder_ + "/" + name + "." + std::to_string(meetings_[channel]++) + ".";
    const std::string mine = meeting + std::to_string(rank());
    std::ofstream(mine + ".new", std::ios::binary) << own;
    std::filesystem::rename(mine + ".new", mine);
    std::vector<std::string> said;
    for (int64_t other = 0; other < size(); ++other) {
      for (int tries = 0; !std::filesystem::exists(meeting + std::to_string(other)); ++tries) {
        if (tries == 60'000) throw RankLost("a rank does not come to " + channel);
        sleep_interruptibly(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
      }
      said.push_back(read(meeting + std::to_string(other)));
    }
    return said;
  }
  std::string gone() const override { return read(folder_ + "/gone"); }

 private:
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  const std::string folder_;
  std::map<std::string, int> meetings_;
};
inline std::shared_ptr<RankGroup> group_in(const std::string& folder, int64_t rank, int64_t size) {
  return std::make_shared<FolderGroup>(folder, rank, size);
}

// What each of these processes gave, or "error: " and its message; "" of one that was killed.
inline std::vector<std::string> in_processes(int64_t world,
                                             const std::function<std::string(int64_t)>& f) {
  const TemporaryDirectory folder;
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < world; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
      std::string result;
      try {
        result = f(rank);
      } catch (const std::exception& error) {
        result = std::string("error: ") + error.what();
      }
      std::ofstream(folder / std::to_string(rank), std::ios::binary) << result;
      ::_exit(0);
    }
    children.push_back(child);
  }
  std::vector<std::string> results;
  for (size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    ::waitpid(children[rank], &status, 0);
    std::ifstream file(folder / std::to_string(rank), std::ios::binary);
    results.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return results;
}

// The same in threads of this process.
inline std::vector<std::string> in_threads(int64_t world,
                                           const std::function<std::string(int64_t)>& f) {
  std::vector<std::string> results(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      std::string& result = results[static_cast<size_t>(rank)];
      try {
        result = f(rank);
      } catch (const std::exception& error) {
        result = std::string("error: ") + error.what();
      }
    });
  }
  threads.clear();
  return results;
}

}  // namespace stoker
