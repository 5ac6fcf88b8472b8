#include "app/train/wait_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>
#include <vector>

#include "io/metrics/hub.h"

namespace stoker {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
constexpr double kFirst = 10;

// "tier 'data' (4 operations under way; requests had to be made again; ...)". Empty: no tier has
// anything to do.
std::string busy_tiers(const Hub& hub) {
  std::vector<std::string> texts;
  for (const TierMeter::State& tier : hub.tiers()) {
    if (tier.in_flight == 0) continue;
    std::string text = fmt::format("tier '{}' ({} operations under way", tier.name, tier.in_flight);
    for (const std::string& condition : tier.conditions) text += "; " + condition;
    texts.push_back(text + ")");
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::optional<LongWait> wait_of(const Hub& hub) {
  const RunMeter::State run = hub.run().state();
  const std::string tiers = busy_tiers(hub);
  switch (run.doing.segment) {
    case Segment::data_wait:
      return LongWait{"data",
                      tiers.empty() ? "no tier has anything to do, samples are decoded" : tiers,
                      run.since_beat_s};
    case Segment::eval:
      if (tiers.empty()) return std::nullopt;
      return LongWait{"data of the evaluation", tiers, run.since_beat_s};
    case Segment::allreduce:
      return LongWait{"the other ranks", "", run.since_beat_s};
    case Segment::checkpoint_stall:
      return LongWait{"a checkpoint", tiers, run.since_beat_s};
    case Segment::h2d:
    case Segment::compute:
    case Segment::log:
    case Segment::other:
    case Segment::paused:
      break;
  }
  return std::nullopt;
}

WaitWatch::WaitWatch(std::function<std::optional<LongWait>()> look, Notify say)
    : look_(std::move(look)),
      say_(std::move(say)),
      next_(kFirst),
      ticker_("wait-watch", kPause, [this] { this->look(); }) {}

WaitWatch::~WaitWatch() = default;

void WaitWatch::look() {
  const std::optional<LongWait> wait = look_();
  if (!wait || wait->seconds < kFirst) {
    next_ = kFirst;
  } else if (wait->seconds >= next_) {
    say_(fmt::format("waiting for {} for {:.0f} s{}{}", wait->what, wait->seconds,
                     wait->where.empty() ? "" : ": ", wait->where));
    while (next_ <= wait->seconds) next_ *= 2;
  }
}

}  // namespace stoker
