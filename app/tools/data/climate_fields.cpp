#include "app/tools/data/climate_fields.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "io/core/random.h"

namespace stoker {
namespace {

enum ClimateChannel : size_t { kMoisture = 0, kEast = 1, kNorth = 2, kPressure = 10 };

// A channel's usual values. A value.
struct Usual {
  double mean, spread, low, high;
};
Usual usual_of(size_t channel) {
  switch (channel) {
    case kMoisture:
      return {20, 8, 0, 60};
    case kEast:
    case kNorth:
      return {0, 10, -40, 40};
    case kPressure:
      return {101000, 800, 95000, 105000};
    default:
      return {0, 1, -5, 5};
  }
}

// One state while it is made.
class Weather {
 public:
  Weather(int64_t rows, int64_t columns, uint64_t seed)
      : rows_(rows), columns_(columns), random_(seed) {
    fields_.data.resize(kClimateChannels * pixels());
    fields_.labels.resize(pixels());
  }

  ClimateFields make() {
    for (size_t channel = 0; channel < kClimateChannels; ++channel) fill(channel);
    for (uint64_t rivers = 2 + random_.below(2); rivers > 0; --rivers) add_river();
    for (uint64_t cyclones = 1 + random_.below(3); cyclones > 0; --cyclones) add_cyclone();
    for (size_t channel = 0; channel < kClimateChannels; ++channel) finish(channel);
    return std::move(fields_);
  }

 private:
  size_t pixels() const { return static_cast<size_t>(rows_ * columns_); }
  float& at(size_t channel, int64_t row, int64_t column) {
    return fields_.data[channel * pixels() + static_cast<size_t>(row * columns_ + column)];
  }
  double scale() const { return static_cast<double>(rows_) / 768; }

  // Values of a coarse grid, between which it is linear, and noise.
  void fill(size_t channel) {
    constexpr int64_t kCells = 12;
    const Usual range = usual_of(channel);
    std::vector<double> grid(static_cast<size_t>((kCells + 1) * (kCells + 1)));
    for (double& value : grid) value = range.mean + range.spread * random_.uniform(-1, 1);
    const auto noise = static_cast<float>(0.1 * range.spread);
    std::vector<float> line(kCells + 1);
    for (int64_t row = 0; row < rows_; ++row) {
      const double y = static_cast<double>(row * kCells) / static_cast<double>(rows_);
      const auto top = static_cast<size_t>(y);
      const double below = y - static_cast<double>(top);
      for (size_t i = 0; i < line.size(); ++i) {
        const double* const cell = grid.data() + top * line.size() + i;
        line[i] = static_cast<float>((1 - below) * cell[0] + below * cell[line.size()]);
      }
      fill_line({&at(channel, row, 0), static_cast<size_t>(columns_)}, line, noise);
    }
  }

  void fill_line(std::span<float> out, const std::vector<float>& line, float noise) {
    const float step = static_cast<float>(line.size() - 1) / static_cast<float>(out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const float x = static_cast<float>(i) * step;
      const auto left = std::min(static_cast<size_t>(x), line.size() - 2);
      const float right = x - static_cast<float>(left);
      const float random = static_cast<float>(random_.next() >> 40) * 0x1p-23f - 1;
      out[i] = line[left] + right * (line[left + 1] - line[left]) + noise * random;
    }
  }

  // Around a centre, whose label is the inner part.
  void add_cyclone() {
    const double radius = std::max(1.5, random_.uniform(8, 13) * scale());
    const double x = random_.uniform(radius, static_cast<double>(columns_) - radius);
    const double y = random_.uniform(0.3, 0.7) * static_cast<double>(rows_);
    const double depth = random_.uniform(2500, 4500), wind = random_.uniform(25, 35);
    const auto reach = static_cast<int64_t>(3 * radius) + 1;
    for_each_near(x, y, reach, [&](int64_t row, int64_t column, double dx, double dy) {
      const double distance = std::sqrt(dx * dx + dy * dy) / radius;
      const double near = 1 / (1 + distance * distance);
      at(kPressure, row, column) -= static_cast<float>(depth * near * near);
      at(kMoisture, row, column) += static_cast<float>(25 * near);
      at(kEast, row, column) -= static_cast<float>(2 * wind * near * dy / radius);
      at(kNorth, row, column) += static_cast<float>(2 * wind * near * dx / radius);
      if (distance <= 1) label(row, column) = 1;
    });
  }

  // A band along a slightly bent line.
  void add_river() {
    const double width = std::max(1.0, random_.uniform(7, 12) * scale());
    const double length = random_.uniform(300, 500) * scale();
    const double slope = random_.uniform(-0.6, 0.6), bend = random_.uniform(-0.4, 0.4) / length;
    const double x = random_.uniform(0.5, 1) * (static_cast<double>(columns_) - length);
    const double y = random_.uniform(0.35, 0.65) * static_cast<double>(rows_);
    for (auto column = static_cast<int64_t>(x); column < static_cast<int64_t>(x + length);
         ++column) {
      const double along = static_cast<double>(column) - x;
      const double middle = y + slope * along + bend * along * (along - length);
      const auto reach = static_cast<int64_t>(2 * width) + 1;
      const auto first = static_cast<int64_t>(middle) - reach;
      for (int64_t row = std::max<int64_t>(0, first); row < std::min(rows_, first + 2 * reach + 1);
           ++row) {
        const double off = (static_cast<double>(row) - middle) / width;
        const double near = 1 / (1 + off * off);
        at(kMoisture, row, column) += static_cast<float>(22 * near);
        at(kEast, row, column) += static_cast<float>(12 * near);
        at(kNorth, row, column) += static_cast<float>(12 * slope * near);
        if (off * off <= 1) label(row, column) = 2;
      }
    }
  }

  template <class F>
  void for_each_near(double x, double y, int64_t reach, const F& call) {
    const auto column = static_cast<int64_t>(x), row = static_cast<int64_t>(y);
    for (int64_t i = std::max<int64_t>(0, row - reach); i < std::min(rows_, row + reach + 1); ++i) {
      for (int64_t k = std::max<int64_t>(0, column - reach);
           k < std::min(columns_, column + reach + 1); ++k) {
        call(i, k, static_cast<double>(k) - x, static_cast<double>(i) - y);
      }
    }
  }

  float& label(int64_t row, int64_t column) {
    return fields_.labels[static_cast<size_t>(row * columns_ + column)];
  }

  // Keeps it in its range, and says what is in it.
  void finish(size_t channel) {
    const Usual range = usual_of(channel);
    const std::span values(&at(channel, 0, 0), pixels());
    double sum = 0, squares = 0;
    for (float& value : values) {
      value = std::clamp(value, static_cast<float>(range.low), static_cast<float>(range.high));
      const double off = value - range.mean;
      sum += off;
      squares += off * off;
    }
    const auto [low, high] = std::ranges::minmax(values);
    const double mean = sum / static_cast<double>(values.size());
    const double variance = squares / static_cast<double>(values.size()) - mean * mean;
    fields_.stats[channel] = {low, high, static_cast<float>(range.mean + mean),
                              static_cast<float>(std::sqrt(std::max(0.0, variance)))};
  }

  const int64_t rows_;
  const int64_t columns_;
  Random random_;
  ClimateFields fields_;
};

}  // namespace

ClimateFields climate_fields(int64_t rows, int64_t columns, uint64_t seed) {
  return Weather(rows, columns, seed).make();
}

}  // namespace stoker
