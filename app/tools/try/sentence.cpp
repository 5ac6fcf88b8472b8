#include "app/tools/try/sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/metrics/spread.h"

namespace stoker {
namespace {

// Images/s of the level of this name; 0: it was not measured.
double rate_of(const std::vector<HeadspaceLevel>& levels, const std::string& name) {
  const auto level = std::ranges::find(levels, name, &HeadspaceLevel::name);
  const bool measured = level != levels.end() && !level->images_per_s.empty();
  return measured ? spread(level->images_per_s).median : 0;
}

}  // namespace

std::string own_sentence(const std::vector<HeadspaceLevel>& levels) {
  const double device = rate_of(levels, "device"), encoded = rate_of(levels, "encoded"),
               cached = rate_of(levels, "page_cache"), cold = rate_of(levels, "cold");
  const std::string first = judge(levels).binds_first;
  const std::string trains = fmt::format("the model takes {:.0f} images/s here", device);
  if (first.empty()) {
    const double comes = cold > 0 ? cold : cached > 0 ? cached : encoded;
    return fmt::format(
        "Computing binds: {}, and this folder gives {:.0f}{}; faster storage and more workers "
        "would change nothing.",
        trains, comes, cold > 0 ? " even where no cache holds it" : "");
  }
  if (first == "cold") {
    return fmt::format(
        "Storage binds: {}, and files that no cache holds come at {:.0f}; once they are in memory "
        "it is {:.0f}.",
        trains, cold, std::max(cached, encoded));
  }
  if (first == "page_cache") {
    return fmt::format(
        "Reading binds: {}, and files come at {:.0f} even from the page cache; fewer and larger "
        "files would help (stoker dataset convert).",
        trains, cached);
  }
  if (first == "encoded") {
    return fmt::format(
        "Decoding binds: {}, and {:.0f} are decoded; more cores, smaller images or kept pixels "
        "(dataset.type=decoded) would help, faster storage would not.",
        trains, encoded);
  }
  return fmt::format(
      "Loading binds: {}, and even pixels that are in memory come at {:.0f}; more workers may "
      "help.",
      trains, rate_of(levels, "decoded"));
}

}  // namespace stoker
