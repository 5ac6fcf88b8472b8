#include "app/tools/mount/mount_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

constexpr uint64_t kSmallest = 4096;

nlohmann::json totals_json(const MountStatistics::Totals& totals) {
  return {{"requests", totals.requests},
          {"failed", totals.failed},
          {"waited_s", totals.waited_s},
          {"modelled_s", totals.modelled_s}};
}

std::string totals_text(const char* what, const MountStatistics::Totals& totals) {
  std::string text = fmt::format("{} {}", totals.requests, what);
  if (totals.bytes > 0)
    text += fmt::format(", {:.3f} MB", 1e-6 * static_cast<double>(totals.bytes));
  text += fmt::format(": waited {:.3f} s", totals.waited_s);
  if (totals.modelled_s > 0) text += fmt::format(" (model: {:.3f} s)", totals.modelled_s);
  if (totals.failed > 0) text += fmt::format("; {} failed", totals.failed);
  return text + "\n";
}

}  // namespace

void MountStatistics::Counts::add(uint64_t bytes, bool failed, Clock::duration waited,
                                  Clock::duration modelled) {
  ++requests_;
  if (failed) ++failed_;
  bytes_ += bytes;
  waited_ += waited.count();
  modelled_ += modelled.count();
}

MountStatistics::Totals MountStatistics::Counts::totals() const {
  return {requests_, failed_, bytes_, seconds(Clock::duration(waited_)),
          seconds(Clock::duration(modelled_))};
}

void MountStatistics::opened(bool failed, Clock::duration waited, Clock::duration modelled) {
  opens_.add(0, failed, waited, modelled);
}

void MountStatistics::read(uint64_t bytes, bool failed, Clock::duration waited,
                           Clock::duration modelled) {
  reads_.add(failed ? 0 : bytes, failed, waited, modelled);
  const auto pages = (std::max<uint64_t>(bytes, 1) - 1) / kSmallest;
  ++sizes_[std::min<size_t>(static_cast<size_t>(std::bit_width(pages)), kSizes - 1)];
}

void MountStatistics::dropped(int64_t files) {
  ++drops_;
  dropped_ += files;
}

nlohmann::json MountStatistics::json() const {
  nlohmann::json result = {{"opens", totals_json(opens())},
                           {"reads", totals_json(reads())},
                           {"drops", drops_.load()},
                           {"dropped_files", dropped_.load()}};
  result["reads"]["bytes"] = reads().bytes;
  nlohmann::json& sizes = result["reads"]["by_size"] = nlohmann::json::object();
  for (size_t i = 0; i < kSizes; ++i) {
    if (sizes_[i] == 0) continue;
    sizes[i + 1 < kSizes ? fmt::format("{}", kSmallest << i) : "more"] = sizes_[i].load();
  }
  return result;
}

std::string MountStatistics::text() const {
  std::string text = totals_text("opens", opens()) + totals_text("reads", reads());
  for (size_t i = 0; i < kSizes; ++i) {
    if (sizes_[i] == 0) continue;
    text += i + 1 < kSizes
                ? fmt::format("  {} of at most {} KiB\n", sizes_[i].load(), (kSmallest << i) / 1024)
                : fmt::format("  {} larger ones\n", sizes_[i].load());
  }
  if (drops_ > 0) text += fmt::format("pages dropped {} times\n", drops_.load());
  return text;
}

}  // namespace stoker
