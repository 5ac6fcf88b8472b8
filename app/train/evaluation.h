#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// Counts of an evaluation. A value. `top1`, `top5` and `largest_class` are shares of all samples, 0
// to 1. mean_per_class is Caltech's measure: the mean over the classes of each class's top-1.
class Accuracy {
 public:
  explicit Accuracy(int64_t classes);
  // One sample: its label, and the rank of that label among the logits (0 = the largest).
  void add(int64_t label, int64_t rank);

  int64_t samples() const { return samples_; }
  double top1() const;
  double top5() const;
  double mean_per_class() const;
  // The share that guessing at random gets.
  double chance() const { return 1.0 / static_cast<double>(seen_.size()); }
  double largest_class() const;  // of always guessing the commonest class

 private:
  std::vector<int64_t> seen_;   // per class
  std::vector<int64_t> right_;  // per class, top-1
  int64_t samples_ = 0;
  int64_t top1_ = 0;
  int64_t top5_ = 0;
};

}  // namespace stoker
