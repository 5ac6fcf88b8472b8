#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/sets/set_store.h"

namespace stoker {

// Which process of a group reads which file of a set, and from which of its stores. A value; equal
// on all of them.
struct LocatedSet {
  struct Source {
    int64_t rank = 0;
    size_t store = 0;
  };
  Manifest manifest;
  std::vector<Source> files;  // of manifest.files
  // The files that a process reads, from all its stores or from one.
  std::vector<size_t> files_of(int64_t rank, std::optional<size_t> store = {}) const;
};

// Looks for the set of a step on the stores of all processes, which are as many and in the same
// order everywhere. A file that several see is read from the first store that has it, and where
// several see that, by one after the other. Empty: there is no such set. NoRetry where there is
// only a part of it: what() names files that nobody sees. use: whether a store may be looked at;
// refused: it cannot be read. They are called on all processes, each for its own stores.
std::optional<LocatedSet> locate(
    Collective& collective, const std::vector<SetStore*>& stores, int64_t step,
    const std::function<bool(size_t store)>& use,
    const std::function<void(size_t store, const Error& error)>& refused);

}  // namespace stoker
