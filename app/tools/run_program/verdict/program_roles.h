#pragma once

#include <cstddef>
#include <vector>

#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// Who is who among the processes of a program. A value; numbers are places in ProgramSamples.
struct ProgramRoles {
  // One rank: the thread whose time is to be explained, and everybody who works for it.
  struct Rank {
    size_t process = 0;
    size_t thread = 0;            // the main one of that process
    std::vector<size_t> threads;  // the other threads of that process
    std::vector<size_t> workers;  // the threads of processes that it has started
    size_t worker_processes = 0;
    double begin_s = 0;  // when it had loaded its libraries, and its workers had begun
    double end_s = 0;
  };
  // Of one program that lasted longest. Several ones run the same command at the same time. Empty:
  // nothing was seen.
  std::vector<Rank> ranks;
};

// A shell, torchrun, mpirun, time, ...: by the words of its command.
bool launches_by_name(const std::vector<std::string>& command);

// Finds them. A launcher is never a rank: what it starts is. Nor is a forked worker, whatever is
// above its parent. A pure function.
ProgramRoles roles_of(const ProgramSamples& samples);

}  // namespace stoker
