#include "io/dataset/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "io/core/error.h"
#include "io/dataset/read_sample.h"

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

EncodedSample read_sample(const SamplePlace& place, Buffer& scratch) {
  try {
    return place.dataset.read(place.split, place.index, scratch);
  } catch (const IoError& error) {
    if (is_absent(error)) throw BadSample(BadReason::missing, error.what());
    throw tier_failure("sample " + place.info().key, error);
  }
}

Error tier_failure(const std::string& what, const IoError& error) {
  if (is_shortage(error)) return {error.code(), error.what()};
  const std::string tier = error.tier().empty() ? "its tier" : "tier '" + error.tier() + "'";
  return {ExitCode::storage,
          fmt::format("dataset: {} cannot be read, because {} fails: {}: see that the tier "
                      "answers and may be read, and start it again",
                      what, tier, error.what())};
}

std::string decode_sample(const SamplePlace& place, const EncodedSample& sample,
                          DecoderSession& session, const DecodeMode& mode, uint8_t* out) {
  try {
    session.decode(sample.bytes, mode, out);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("dataset: {}: {}", place.info().key, error.what()));
  }
  return sample.tolerated.empty() ? session.tolerated() : sample.tolerated;
}

Error bad_sample_error(const std::string& key, const std::string& reason,
                       const std::string& message) {
  // These say by themselves what can be done about them.
  const bool advised =
      reason == to_string(BadReason::not_an_image) || reason == to_string(BadReason::unsupported);
  return {
      ExitCode::data,
      fmt::format("dataset: {}: {}: {} ({}set dataset.on_error={{policy: skip}})", key, reason,
                  message, advised ? "to go on without it, " : "repair or remove the file, or ")};
}

}  // namespace stoker
