#pragma once

#include <cstddef>
#include <vector>

#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// The course of a program in a bounded number of windows: when there are too many, neighbours are
// merged and new ones are twice as long. One thread at a time.
class SampleCourse {
 public:
  // most: of windows, at least 2. first_s: how long the first ones are.
  SampleCourse(size_t most, double first_s) : most_(most), length_s_(first_s) {}
  // What a thread did since the look before.
  void add(size_t thread, const DoingSeconds& did);
  // The end of a look, at which the machine was as `machine` says (its threads are not used).
  void close(double now_s, const SampleWindow& machine);
  // All windows, the open one included. Call it last.
  std::vector<SampleWindow> finish();

 private:
  void keep();

  size_t most_;
  double length_s_;
  double begin_s_ = 0;  // of the open window
  SampleWindow open_;
  std::vector<SampleWindow> windows_;
};

}  // namespace stoker
