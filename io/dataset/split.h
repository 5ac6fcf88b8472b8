#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/core/config/config.h"

namespace stoker {

// How a data set is divided into training and test images; no field: all images train.
//   train_per_class  the protocol in which results on Caltech-101 are published (Fei-Fei, Fergus,
//                    Perona, "Learning generative visual models from few training examples", CVPR
//                    workshop 2004): n random images of each class train, up to test_per_class of
//                    the others test.
//   test_fraction    the same share of each class tests.
struct SplitOptions {
  std::optional<int64_t> train_per_class;
  // Absent: all that do not train. Only with train_per_class.
  std::optional<int64_t> test_per_class;
  std::optional<double> test_fraction;
  template <class V>
  void visit(V& v) {
    v("train_per_class", train_per_class,
      "How many images of each class, drawn at random, are trained on.", Limits{1, 1e9});
    v("test_per_class", test_per_class, "The most of each class's other images that are tested on.",
      Limits{0, 1e9});
    v("test_fraction", test_fraction,
      "The share of each class that is tested on. All other images train.", Limits{0, 0.9});
  }
  // Error(ExitCode::config) for fields that exclude or need each other.
  void check(const Section& section) const;
};

// Positions of one class's images, ascending and disjoint. A value.
// Places in the order in which the class was listed.
struct ClassSplit {
  std::vector<size_t> train;
  std::vector<size_t> test;
};

// Divides the `images` images of a class; there is at least one. A pure function of its arguments:
// another class, or one more class, does not change it. Any thread. Throws Error(ExitCode::config),
// which names the class, where it is too small.
ClassSplit split_class(const SplitOptions& options, size_t images, const std::string& class_name,
                       uint64_t seed);

}  // namespace stoker
