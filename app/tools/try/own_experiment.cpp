#include "app/tools/try/own_experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "io/core/config/config.h"

namespace stoker {
namespace {

constexpr int64_t kMeasured = 4000;  // samples, of which all are loaded some times

int64_t training_samples(const DatasetReport& report) {
  int64_t samples = 0;
  for (const ClassCount& row : report.classes) samples += row.train;
  return samples;
}

}  // namespace

void fit_to_data(const DatasetReport& report, Node& experiment) {
  const int64_t samples = training_samples(report);
  const Node* loader = experiment.find("loader");
  const Node* given = loader == nullptr ? nullptr : loader->find("batch_size");
  double batch = 0;
  if (given != nullptr && parse_number(given->scalar, batch) &&
      batch > static_cast<double>(samples)) {
    apply_override(experiment, fmt::format("loader.batch_size={}", std::max<int64_t>(1, samples)));
  }
  const auto bad = std::ssize(report.unreadable);
  if (bad == 0 && report.looked_at == report.samples) return;
  // Twice what was seen of those that were looked at, and one in a hundred more.
  const double seen =
      static_cast<double>(bad) / static_cast<double>(std::max<int64_t>(1, report.looked_at));
  apply_override(experiment, fmt::format("dataset.on_error={{policy: skip, budget: {:.0f}%}}",
                                         std::clamp(std::ceil(200 * seen), 1.0, 99.0)));
}

SmallerData smaller_data(const DatasetReport& report, const Node& experiment) {
  const int64_t samples = training_samples(report);
  const Node* dataset = experiment.find("dataset");
  const Node* type = dataset == nullptr ? nullptr : dataset->find("type");
  if (samples <= kMeasured || type == nullptr || type->scalar != "image_folder") return {};
  const int64_t each = std::max<int64_t>(1, kMeasured / std::ssize(report.classes));
  std::vector<std::string> small;
  for (const ClassCount& row : report.classes) {
    if (row.train + row.test < each) small.push_back("\"" + row.name + "\"");
  }
  const int64_t classes = std::ssize(report.classes) - std::ssize(small);
  if (classes == 0) return {};
  SmallerData smaller;
  // What tests lies beside that, in a folder or in none.
  const bool apart = dataset->find("test_folder") != nullptr;
  if (apart) smaller.overrides.emplace_back("dataset.test_folder=");
  smaller.overrides.push_back(
      fmt::format("dataset.split={{train_per_class: {}, test_per_class: 0}}", each));
  if (!small.empty()) {
    smaller.overrides.push_back(fmt::format("dataset.exclude=[{}]", fmt::join(small, ", ")));
  }
  smaller.text = fmt::format("measured with {} of the {} images: {} of each class", each * classes,
                             samples, each);
  return smaller;
}

}  // namespace stoker
