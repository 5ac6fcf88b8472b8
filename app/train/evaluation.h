#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// Counts of an evaluation. A value; one thread at a time. All figures but samples() are shares, 0
// to 1, and mean nothing before the first add().
class Accuracy {
 public:
  // Labels are from 0 to classes - 1.
  explicit Accuracy(int64_t classes);
  // One sample: its label, and the rank of that label among the logits (0 = the largest).
  void add(int64_t label, int64_t rank);

  // All counts, as bytes: as many for as many classes.
  std::string counts() const;
  // Adds what counts() gave, of as many classes.
  void add(const std::string& counts);

  int64_t classes() const { return static_cast<int64_t>(seen_.size()); }
  int64_t samples() const { return samples_; }
  // Of all samples: those whose label was first, and among the first five.
  double top1() const;
  double top5() const;
  // Caltech's measure: the mean of each class's top-1, over the classes that had samples.
  double mean_per_class() const;
  // The share that guessing at random gets.
  double chance() const { return 1.0 / static_cast<double>(seen_.size()); }
  // The share that always guessing the commonest class gets.
  double largest_class() const;

 private:
  // Per class: all samples, and those whose label was first.
  std::vector<int64_t> seen_;
  std::vector<int64_t> right_;
  int64_t samples_ = 0;
  int64_t top1_ = 0;
  int64_t top5_ = 0;
};

}  // namespace stoker
