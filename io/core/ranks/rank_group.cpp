#include "io/core/ranks/rank_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "io/core/digest.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

class Alone final : public RankGroup {
 public:
  Alone() : RankGroup(0, 1) {}
  std::vector<std::string> meet(const std::string&, const std::string& own,
                                const std::function<bool()>&) override {
    return {own};
  }
};

}  // namespace

void RankGroup::broadcast(std::span<uint8_t> bytes, int64_t from) {
  if (size_ == 1) return;
  const std::vector<std::string> said =
      meet("broadcast", rank_ == from ? std::string(bytes.begin(), bytes.end()) : "");
  const std::string& sent = said[static_cast<size_t>(from)];
  if (sent.size() != bytes.size()) {
    throw RankLost("rank " + std::to_string(from) + " sends another number of bytes");
  }
  std::ranges::copy(sent, bytes.begin());
}

RankGroup& alone() {
  static Alone group;
  return group;
}

std::string share(RankGroup& group, const std::string& text) {
  return group.meet("share", text).front();
}

namespace {

constexpr const char* kChannel = "agreement";
// What is named; the rest is counted.
constexpr size_t kMost = 8;

using Values = std::map<std::string, std::string>;

// " and 3 more", where there are more than are named.
std::string more(size_t all, const char* before) {
  return all <= kMost ? "" : fmt::format("{} {} more", before, all - kMost);
}

// "rank 0"; "ranks 1, 2".
std::string ranks_text(const std::vector<size_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const std::span<const size_t> named(ranks.data(), std::min(ranks.size(), kMost));
  const std::string text = fmt::format("ranks {}", fmt::join(named, ", "));
  return text + more(ranks.size(), " and");
}

// The values that ranks have of one fact, each with its ranks. Empty: all have the same.
std::string difference(const std::string& name, const std::vector<Values>& of_ranks) {
  std::vector<std::pair<std::string, std::vector<size_t>>> values;  // in the order of the ranks
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const auto found = of_ranks[rank].find(name);
    const std::string value = found == of_ranks[rank].end() ? "absent" : found->second;
    auto same = std::ranges::find(values, value, [](const auto& each) { return each.first; });
    if (same == values.end()) same = values.insert(same, {value, {}});
    same->second.push_back(rank);
  }
  if (values.size() == 1) return "";
  std::vector<std::string> texts;
  for (const auto& [value, ranks] : std::span(values).first(std::min(values.size(), kMost))) {
    texts.push_back(fmt::format("{} on {}", value, ranks_text(ranks)));
  }
  return fmt::format("{}: {}{}", name, fmt::join(texts, ", but "), more(values.size(), ", and"));
}

std::string differences(const std::vector<Facts>& of_ranks) {
  std::vector<Values> values;
  std::vector<std::string> names;
  for (const Facts& facts : of_ranks) {
    for (const auto& fact : facts) {
      const std::string& name = fact.first;
      if (std::ranges::none_of(values, [&](const Values& v) { return v.contains(name); })) {
        names.push_back(name);
      }
    }
    values.emplace_back(facts.begin(), facts.end());
  }
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string text = difference(name, values);
    if (!text.empty()) found.push_back(std::move(text));
  }
  const std::string rest = more(found.size(), "; and");
  found.resize(std::min(found.size(), kMost));
  return fmt::format("{}{}", fmt::join(found, "; "), rest);
}

}  // namespace

std::string disagreement(RankGroup& group, const Facts& own) {
  const std::string text = json_text(nlohmann::json(own));
  const std::vector<std::string> digests = group.meet(kChannel, xxh3_128(text));
  if (std::ranges::adjacent_find(digests, std::ranges::not_equal_to{}) == digests.end()) return "";
  std::vector<Facts> all;
  for (const std::string& said : group.meet(kChannel, text)) {
    all.push_back(parse_json(said).get<Facts>());
  }
  try {
    // Whoever ends now may take the store along.
    group.meet(kChannel, "");
  } catch (const RankLost&) {
    // It had heard all before it went.
  }
  return differences(all);
}

}  // namespace stoker
