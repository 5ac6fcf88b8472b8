#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/core/system/file.h"
#include "tests/support/crash_model.h"

// Every state in which a crash may leave the disk, on a real disk: after ALICE (Pillai et al., "All
// file systems are not created equal", OSDI 2014).

namespace stoker {

struct CrashState {
  std::string directory;              // holds the state; may be changed; gone after the check
  size_t calls;                       // of the log that had returned
  std::vector<std::string> promised;  // the marks among them
  std::string lost;                   // what the crash undid, for messages
};

struct CrashOptions {
  // Where a point of the log has more combinations than this, they are: nothing and all lost, each
  // operation alone lost, alone kept and alone torn, everything from each operation on lost, and so
  // many at random.
  size_t combinations = 64;
  uint64_t seed = 1;
  size_t first = 0;  // calls of the log that had returned before any crash; their marks count
};

struct CrashCount {
  size_t checked = 0;   // states, each once between two marks
  size_t distinct = 0;  // contents among them
};

// Which outcome each operation has, one combination after the other.
inline std::vector<std::vector<size_t>> crash_combinations(const std::vector<size_t>& outcomes,
                                                           const CrashOptions& options,
                                                           std::mt19937_64& random) {
  std::vector<std::vector<size_t>> all;
  size_t product = 1;
  for (size_t count : outcomes) product = std::min(product * count, options.combinations + 1);
  const size_t n = outcomes.size();
  if (product <= options.combinations) {
    std::vector<size_t> each(n, 0);
    for (size_t i = 0; i < product; ++i) {
      all.push_back(each);
      for (size_t digit = 0; digit < n && ++each[digit] == outcomes[digit]; ++digit) {
        each[digit] = 0;
      }
    }
    return all;
  }
  const std::vector<size_t> lost(n, 0), whole(n, 1);
  all = {lost, whole};
  for (size_t i = 0; i < n; ++i) {
    for (size_t outcome = 0; outcome < outcomes[i]; ++outcome) {
      if (outcome == 1) continue;
      all.push_back(whole);
      all.back()[i] = outcome;
    }
    all.push_back(lost);
    all.back()[i] = 1;
    all.push_back(whole);
    std::fill(all.back().begin() + static_cast<std::ptrdiff_t>(i), all.back().end(), 0);
  }
  for (size_t i = 0; i < options.combinations; ++i) {
    all.push_back(lost);
    // Half of them as likely kept as lost: else a rare combination of whole files is never drawn.
    for (size_t k = 0; k < n; ++k) {
      all.back()[k] = random() % 2 == 0 ? random() % outcomes[k] : random() % 4 > 0;
    }
  }
  return all;
}

namespace crash_detail {

inline uint64_t digest(const DiskState& state) {
  uint64_t sum = 0;
  const auto add = [&](uint64_t value) {
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  };
  for (const auto& [path, contents] : state) {
    add(std::hash<std::string>()(path));
    add(contents ? contents->digest() : 1);
  }
  return sum;
}

inline void write_state(const std::string& directory, const DiskState& state) {
  const auto require = [](bool done, const std::string& path) {
    if (!done) throw std::runtime_error("cannot write the crash state's " + path);
  };
  require(::mkdir(directory.c_str(), 0777) == 0, "directory");
  const FileDescriptor root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const auto& [path, contents] : state) {
    if (!contents) {
      require(::mkdirat(root.get(), path.c_str(), 0777) == 0, path);
      continue;
    }
    const FileDescriptor file(
        ::openat(root.get(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const std::string& bytes = contents->bytes();
    require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            path);
  }
}

// In memory where there is a file system for it.
class Scratch {
 public:
  Scratch() {
    const std::string shm = "/dev/shm";
    path_ =
        (::access(shm.c_str(), W_OK) == 0 ? shm : std::filesystem::temp_directory_path().string()) +
        "/stoker-crash-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace crash_detail

// Calls `check` for the states after each call of `log`, which began with an empty disk. A state is
// not shown twice, but for a mark: what was promised there makes it another question.
inline CrashCount for_each_crash_state(const std::vector<RecordedCall>& log,
                                       const std::function<void(const CrashState&)>& check,
                                       const CrashOptions& options = {}) {
  const crash_detail::Scratch scratch;
  std::mt19937_64 random(options.seed);
  std::unordered_set<uint64_t> distinct, seen;
  CrashModel model;
  CrashState state{.directory = scratch.path() + "/disk", .calls = 0, .promised = {}, .lost = {}};
  CrashCount count;
  for (;; ++state.calls) {
    const bool may_crash = state.calls >= options.first;
    for (const std::vector<size_t>& outcome :
         may_crash ? crash_combinations(model.outcomes(), options, random)
                   : std::vector<std::vector<size_t>>()) {
      const DiskState disk = model.state(outcome);
      const uint64_t digest = crash_detail::digest(disk);
      if (!seen.insert(digest).second) continue;
      distinct.insert(digest);
      ++count.checked;
      crash_detail::write_state(state.directory, disk);
      state.lost = model.describe(outcome);
      check(state);
      std::filesystem::remove_all(state.directory);
    }
    if (state.calls == log.size()) break;
    const RecordedCall& call = log[state.calls];
    model.apply(call);
    if (!call.op) {
      state.promised.push_back(call.path);
      seen.clear();
    }
  }
  count.distinct = distinct.size();
  return count;
}

}  // namespace stoker
