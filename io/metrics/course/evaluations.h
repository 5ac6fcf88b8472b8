#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

// What the model came to on the test split. A value.
struct Evaluation {
  // When it was made: the last epoch that had begun, and the finished steps.
  int64_t epoch = 0;
  int64_t step = 0;
  // How many samples were looked at.
  int64_t samples = 0;
  // What evaluation.metric measures, by name: shares of 0 to 1. No name is that of another member.
  std::map<std::string, double> measures;
  // Wall time that it took.
  double seconds = 0;
};
// The measures that are an accuracy. The label is the first, or among the first five, of the
// model's answers; the mean over the classes of each class's top-1, so that a large class counts no
// more; what guessing would come to: 1 / classes, and always the commonest class.
inline constexpr std::array<const char*, 5> kAccuracyMeasures{"top1", "top5", "mean_per_class",
                                                              "chance", "largest_class"};
// The others: "auc", "iou", or those of a plug-in's metric.
std::vector<std::pair<std::string, double>> other_measures(const Evaluation& evaluation);

// The evaluations of a run, however many there are, in a bounded number: all of them at first.
// Where there would be more, they are thinned to half as many, which lie evenly over the steps;
// those with the highest value of a measure, and the newest, stay. One thread at a time.
class Evaluations {
 public:
  // At most `most` (two or more) and, after thinning, half of them and the best ones.
  explicit Evaluations(size_t most = 512) : most_(most) {}

  // In their order.
  void add(Evaluation evaluation);
  // Oldest first. Valid until the next add().
  const std::vector<Evaluation>& kept() const { return kept_; }

 private:
  void thin();

  size_t most_;
  std::vector<Evaluation> kept_;
};

}  // namespace stoker
