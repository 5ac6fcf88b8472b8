#pragma once

#include <array>
#include <cstddef>

#include "app/tools/run_program/verdict/program_roles.h"
#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// What can hold a program up.
enum class Bound {
  storage,       // files: read, written, opened, or faults of mapped pages
  workers,       // processor time of its workers or other threads: decoding, for most
  main_process,  // processor time of the main thread
  cores,         // nobody waits but for a core
  gpu,
  peers,    // other ranks
  network,  // a server at the other end of a socket
  unknown   // something that cannot be seen
};
inline constexpr std::array<const char*, 8> kBoundNames{
    "storage", "workers", "main_process", "cores", "gpu", "peers", "network", "unknown"};
inline constexpr size_t kBounds = kBoundNames.size();

// The time of one rank by what it is due to, in seconds. A value.
struct TimeSplit {
  std::array<double, kBounds> seconds{};

  double& operator[](Bound bound) { return seconds[static_cast<size_t>(bound)]; }
  double operator[](Bound bound) const { return seconds[static_cast<size_t>(bound)]; }
  double sum() const;
  double share(Bound bound) const;
  Bound largest() const;
};

// Divides a rank's time from its begin to its end. Time in which its main thread waits for its
// workers is divided as these spend theirs meanwhile; where they do nothing, it waits for other
// ranks, if there are any. alone: there are none. A pure function.
TimeSplit split_time(const ProgramSamples& samples, const ProgramRoles::Rank& rank, bool alone);

}  // namespace stoker
