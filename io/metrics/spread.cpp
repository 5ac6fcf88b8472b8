#include "io/metrics/spread.h"

#include <algorithm>

namespace stoker {

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  const double median = odd ? values[half] : (values[half - 1] + values[half]) / 2;
  const size_t rank = (values.size() * 99 + 99) / 100;
  return {values.front(), median, values[rank - 1], values.back()};
}

}  // namespace stoker
