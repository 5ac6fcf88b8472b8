#include "io/dataset/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "io/core/error.h"
#include "io/core/random.h"

namespace stoker {
namespace {

// FNV-1a: std::hash is not the same everywhere.
uint64_t hash(const std::string& text) {
  uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return value;
}

std::vector<size_t> shuffled(size_t count, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::vector<size_t> sorted(std::span<const size_t> part) {
  std::vector<size_t> result(part.begin(), part.end());
  std::sort(result.begin(), result.end());
  return result;
}

// How many of `images` train and test.
std::pair<size_t, size_t> sizes(const SplitOptions& options, size_t images,
                                const std::string& class_name) {
  if (!options.train_per_class) {
    const double wanted = options.test_fraction.value_or(0) * static_cast<double>(images);
    const size_t test = std::min(static_cast<size_t>(std::llround(wanted)), images - 1);
    return {images - test, test};
  }
  const auto train = static_cast<size_t>(*options.train_per_class);
  const auto most = static_cast<size_t>(options.test_per_class.value_or(INT64_MAX));
  const size_t needed = train + (most > 0 ? 1 : 0);
  if (images < needed) {
    throw Error(
        ExitCode::config,
        fmt::format("dataset: class '{}' has {} images, but split.train_per_class: {} needs "
                    "{}{}: lower it, or leave the class out with dataset.exclude",
                    class_name, images, train, needed, most > 0 ? " (one to test on)" : ""));
  }
  return {train, std::min(images - train, most)};
}

}  // namespace

void SplitOptions::check(const Section& section) const {
  if (test_fraction && train_per_class) {
    section.fail("test_fraction", "and 'train_per_class' exclude each other");
  }
  if (test_per_class && !train_per_class) {
    section.fail("test_per_class", "needs 'train_per_class'");
  }
}

ClassSplit split_class(const SplitOptions& options, size_t images, const std::string& class_name,
                       uint64_t seed) {
  const auto [train, test] = sizes(options, images, class_name);
  const std::vector<size_t> order = shuffled(images, mix(seed, hash(class_name)));
  const std::span<const size_t> all(order);
  return {sorted(all.first(train)), sorted(all.subspan(train, test))};
}

}  // namespace stoker
