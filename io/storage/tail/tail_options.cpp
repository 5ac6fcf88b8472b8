#include "io/storage/tail/tail_options.h"

#include <fmt/format.h>

#include <chrono>

namespace stoker {

bool Scalar<HedgeAfter>::parse(const std::string& text, HedgeAfter& out) {
  if (text.starts_with('p')) {
    double percent = 0;
    if (!parse_number(text.substr(1), percent)) return false;
    if (percent < 50 || percent > 99.9) return false;
    out = {percent / 100, {}};
    return true;
  }
  Duration time;
  if (!Scalar<Duration>::parse(text, time) || time.ms < 1 || time.ms > 60'000) return false;
  out = {0, std::chrono::milliseconds(time.ms)};
  return true;
}

std::string Scalar<HedgeAfter>::format(const HedgeAfter& value) {
  if (value.quantile > 0) return fmt::format("p{:.6g}", 100 * value.quantile);
  return Scalar<Duration>::format({value.time / std::chrono::milliseconds(1)});
}

}  // namespace stoker
