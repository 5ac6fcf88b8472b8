#include "io/core/ranks/rank_group.h"

#include <algorithm>

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

}  // namespace stoker
