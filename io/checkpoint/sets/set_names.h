#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/storage/storage.h"

// What lies in a directory of sets, by its names. Values and pure functions; any thread.

namespace stoker {

// "step-0000000020": a set among files.
std::string set_name(int64_t step);
// The step of a set's name; -1: not the name of a committed set.
int64_t step_of(const std::string& name);
// Where process `rank` of a group keeps its files on a tier of its own: "<directory>/rank-1". And
// the rank of such a name; -1: no such.
std::string rank_directory(const std::string& directory, int64_t rank);
int64_t rank_of(const std::string& name);
// The name of something that a killed process left among files: a set before its commit or after
// its removal; and of a new one, "<directory>/.tmp-<what>-<random>".
bool is_garbage(const std::string& name);
std::string garbage_name(const std::string& directory, const std::string& what);

// "step-0000000020-<random>": a set among objects. Nobody writes under the same name again, for
// objects cannot be renamed, and a process that was believed dead may still be writing.
std::string object_set_name(int64_t step);
// The step of such a name; -1: no such.
int64_t object_step_of(const std::string& name);
// The object whose being there sets a set aside: it has one reason, as "damaged", in its name.
std::string aside_name(const std::string& why);

// What a directory of sets holds under one name.
struct SetEntry {
  std::string name;
  int64_t step = -1;   // of a committed set, and of no other
  std::string state;   // committed, unfinished, or why it was set aside: damaged, superseded
  uint64_t bytes = 0;  // where they are objects
};

// The sets among the objects of a listing, by name: their keys begin with "<directory>/".
std::vector<SetEntry> sets_among(const std::vector<ObjectInfo>& objects,
                                 const std::string& directory);

}  // namespace stoker
