#include "io/storage/emulated/tier_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace stoker {
namespace {

using Vector = std::vector<double>;

constexpr double kLeastLatency = 1e-7;  // seconds; anything shorter counts as 0

// In MB/s, as an emulated tier takes it: from memory, a few points may say any number.
double sayable(double bytes_per_s) { return std::clamp(1e-6 * bytes_per_s, 0.01, 1e6); }

// The figures of one direction, in bytes/s and seconds.
struct Figures {
  double bandwidth = 0;
  double latency = 0;
  double random_latency = 0;
};

struct Device {
  Figures figures;
  double queue_depth = 1;

  double limit_of_queue(const TierPoint& point) const { return queue_depth / latency(point); }
  double limit_of_rest(const TierPoint& point) const {
    const double transfer = static_cast<double>(point.bytes) / figures.bandwidth;
    return std::min(static_cast<double>(point.threads) / (latency(point) + transfer), 1 / transfer);
  }
  double predict(const TierPoint& point) const {
    return std::min(limit_of_queue(point), limit_of_rest(point));
  }

 private:
  double latency(const TierPoint& point) const {
    return point.random ? figures.random_latency : figures.latency;
  }
};

double error_of(const Device& device, const std::vector<TierPoint>& points) {
  double sum = 0;
  for (const TierPoint& point : points) {
    const double ratio = std::log(device.predict(point) / point.ops_per_s);
    sum += ratio * ratio;
  }
  return sum;
}

// Walks downhill in all directions, diagonals too (the minimum of several limits has edges), by
// steps that shrink. Few figures and few points: it may be slow.
Vector minimise(const std::function<double(const Vector&)>& error, Vector at) {
  double best = error(at);
  const auto directions = static_cast<size_t>(std::lround(std::pow(3, at.size())));
  for (double step = 0.5; step > 1e-6;) {
    Vector found = at;
    for (size_t direction = 0; direction < directions; ++direction) {
      Vector next = at;
      for (size_t i = 0, rest = direction; i < at.size(); ++i, rest /= 3) {
        next[i] += step * (static_cast<double>(rest % 3) - 1);
      }
      if (const double value = error(next); value < best) {
        best = value;
        found = next;
      }
    }
    if (found == at) step /= 2;
    at = found;
  }
  return at;
}

// What a single thread's operation takes beyond the time of its bytes.
double latency_of(const std::vector<TierPoint>& points, bool random, double bandwidth) {
  const TierPoint* smallest = nullptr;
  for (const TierPoint& point : points) {
    if (point.random != random) continue;
    const bool better = smallest == nullptr || point.threads < smallest->threads ||
                        (point.threads == smallest->threads && point.bytes < smallest->bytes);
    if (better) smallest = &point;
  }
  if (smallest == nullptr) return kLeastLatency;
  return std::max(kLeastLatency, static_cast<double>(smallest->threads) / smallest->ops_per_s -
                                     static_cast<double>(smallest->bytes) / bandwidth);
}

Figures first_guess(const std::vector<TierPoint>& points) {
  Figures guess;
  for (const TierPoint& point : points) {
    guess.bandwidth = std::max(guess.bandwidth, point.ops_per_s * static_cast<double>(point.bytes));
  }
  guess.latency = latency_of(points, false, guess.bandwidth);
  guess.random_latency = std::max(guess.latency, latency_of(points, true, guess.bandwidth));
  return guess;
}

// The best figures for a queue of this depth. seek: what it is known to be, or less than 0.
Device fit_at_depth(const std::vector<TierPoint>& points, double queue_depth, double seek) {
  const Figures guess = first_guess(points);
  const bool fit_seek = seek < 0 && std::ranges::any_of(points, &TierPoint::random);
  const auto device = [&](const Vector& at) {
    const double latency = std::max(kLeastLatency, std::exp(at[1]));
    const double random =
        fit_seek ? std::max(latency, std::exp(at[2])) : latency + std::max(0., seek);
    return Device{{std::exp(at[0]), latency, random}, queue_depth};
  };
  Vector start{std::log(guess.bandwidth), std::log(guess.latency)};
  if (fit_seek) start.push_back(std::log(guess.random_latency));
  return device(minimise([&](const Vector& at) { return error_of(device(at), points); }, start));
}

// Tries all depths that the threads of the points can tell apart. If several fit equally well, it
// takes the deepest.
Device fit_reads(const std::vector<TierPoint>& points) {
  const int64_t most = std::ranges::max(points, {}, &TierPoint::threads).threads;
  Device best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t depth = most; depth >= 1; --depth) {
    const Device device = fit_at_depth(points, static_cast<double>(depth), -1);
    const double error = error_of(device, points);
    if (error < least * (1 - 1e-6) - 1e-9) {
      least = error;
      best = device;
    }
  }
  return best;
}

}  // namespace

double TierFit::predict(const TierPoint& point) const {
  const double latency = 1e-3 * (point.write ? write_latency_ms : read_latency_ms);
  return Device{
      {1e6 * (point.write ? write_mb_per_s : read_mb_per_s), latency, latency + 1e-3 * seek_ms},
      static_cast<double>(queue_depth)}
      .predict(point);
}

std::string TierFit::yaml(const std::string& inner) const {
  std::string text = "{type: emulated";
  const auto add = [&](const char* name, double value) {
    if (value > 2e3 * kLeastLatency) text += fmt::format(", {}: {:.4g}", name, value);
  };
  add("read_mb_per_s", read_mb_per_s);
  add("write_mb_per_s", write_mb_per_s);
  add("read_latency_ms", read_latency_ms);
  add("write_latency_ms", write_latency_ms);
  add("metadata_latency_ms", metadata_latency_ms);
  add("seek_ms", seek_ms);
  return text + fmt::format(", queue_depth: {}, inner: {}}}", queue_depth, inner);
}

TierFit fit_tier(const std::vector<TierPoint>& points) {
  std::vector<TierPoint> reads = points, writes = points;
  std::erase_if(reads, [](const TierPoint& point) { return point.write; });
  std::erase_if(writes, [](const TierPoint& point) { return !point.write; });
  const Device device = fit_reads(reads.empty() ? writes : reads);
  const Figures& figures = device.figures;
  TierFit fit;
  fit.queue_depth = std::lround(device.queue_depth);
  fit.seek_ms = 1e3 * (figures.random_latency - figures.latency);
  fit.queue_depth_unseen =
      std::ranges::none_of(reads.empty() ? writes : reads, [&](const TierPoint& point) {
        return device.limit_of_queue(point) < device.limit_of_rest(point);
      });
  if (!reads.empty()) {
    fit.read_mb_per_s = sayable(figures.bandwidth);
    fit.read_latency_ms = 1e3 * figures.latency;
  }
  if (!writes.empty()) {
    const Device writer = reads.empty() ? device
                                        : fit_at_depth(writes, device.queue_depth,
                                                       figures.random_latency - figures.latency);
    fit.write_mb_per_s = sayable(writer.figures.bandwidth);
    fit.write_latency_ms = 1e3 * writer.figures.latency;
  }
  return fit;
}

}  // namespace stoker
