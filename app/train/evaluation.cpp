#include "app/train/evaluation.h"

#include <algorithm>
#include <cstring>

namespace stoker {
namespace {

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Accuracy::Accuracy(int64_t classes)
    : seen_(static_cast<size_t>(classes)), right_(static_cast<size_t>(classes)) {}

void Accuracy::add(int64_t label, int64_t rank) {
  ++samples_;
  ++seen_[static_cast<size_t>(label)];
  if (rank < 1) {
    ++top1_;
    ++right_[static_cast<size_t>(label)];
  }
  if (rank < 5) ++top5_;
}

std::string Accuracy::counts() const {
  std::vector<int64_t> all{samples_, top1_, top5_};
  all.insert(all.end(), seen_.begin(), seen_.end());
  all.insert(all.end(), right_.begin(), right_.end());
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(int64_t)};
}

void Accuracy::add(const std::string& counts) {
  std::vector<int64_t> all(counts.size() / sizeof(int64_t));
  std::memcpy(all.data(), counts.data(), counts.size());
  auto next = all.begin();
  for (int64_t* total : {&samples_, &top1_, &top5_}) *total += *next++;
  for (std::vector<int64_t>* list : {&seen_, &right_}) {
    for (int64_t& total : *list) total += *next++;
  }
}

double Accuracy::top1() const { return share(top1_, samples_); }
double Accuracy::top5() const { return share(top5_, samples_); }

double Accuracy::mean_per_class() const {
  double sum = 0;
  int64_t classes = 0;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] == 0) continue;
    sum += share(right_[i], seen_[i]);
    ++classes;
  }
  return sum / static_cast<double>(classes);
}

double Accuracy::largest_class() const {
  return share(*std::max_element(seen_.begin(), seen_.end()), samples_);
}

}  // namespace stoker
