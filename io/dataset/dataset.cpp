#include "io/dataset/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "io/core/error.h"

namespace stoker {

template <>
Registry<Dataset>& Registry<Dataset>::global() {
  static Registry registry;
  return registry;
}

EnumNames<ErrorPolicy> enum_names(ErrorPolicy) {
  return {{"fail", ErrorPolicy::fail}, {"skip", ErrorPolicy::skip}};
}

int64_t Budget::of(int64_t samples) const {
  if (!percent) return static_cast<int64_t>(value);
  // 0.1 % of 3,000 is 3, not 2, although 0.1 has no exact binary form.
  return static_cast<int64_t>(std::floor(value * static_cast<double>(samples) / 100 + 1e-9));
}

bool Scalar<Budget>::parse(const std::string& text, Budget& out) {
  const bool percent = text.ends_with('%');
  const std::string_view number = std::string_view(text).substr(0, text.size() - percent);
  double value = 0;
  if (number.find_first_not_of("0123456789.") != number.npos || !parse_number(number, value)) {
    return false;
  }
  if (percent ? value > 100 : (value != std::floor(value) || value > 1e15)) return false;
  out = {value, percent};
  return true;
}

std::string Scalar<Budget>::format(const Budget& value) {
  return fmt::format("{}{}", value.value, value.percent ? "%" : "");
}

void Dataset::hold(SampleArrays arrays) {
  if (arrays.arrays.empty()) return;
  const auto known = [&](const SampleArrays& other) { return other.arrays == arrays.arrays; };
  if (std::ranges::none_of(arrays_, known)) arrays_.push_back(std::move(arrays));
}

void check_arrays(const Dataset& dataset, const std::string& decoder, const ArrayVerdict& verdict) {
  if (!verdict) return;
  for (const SampleArrays& samples : dataset.arrays()) {
    const std::string refusal = verdict(samples.arrays);
    if (refusal.empty()) continue;
    throw Error(ExitCode::config,
                fmt::format("dataset: a sample of {} is {}, and decoder {} {}", samples.object,
                            text_of(samples.arrays), decoder, refusal));
  }
}

std::vector<std::string> objects_of(const Dataset& dataset, Split split) {
  std::vector<int64_t> all(static_cast<size_t>(dataset.size(split)));
  std::iota(all.begin(), all.end(), 0);
  return objects_of(dataset, split, all);
}

std::vector<std::string> objects_of(const Dataset& dataset, Split split,
                                    std::span<const int64_t> indices) {
  std::vector<std::string> objects;
  std::unordered_set<std::string> known;
  for (const int64_t index : indices) {
    SampleInfo info = dataset.info(split, index);
    std::string& object = info.object.empty() ? info.key : info.object;
    if (known.insert(object).second) objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace stoker
