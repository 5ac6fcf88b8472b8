#include "io/checkpoint/sets/collective.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace stoker {
namespace {

// How a process says how its work went, before what it has to say.
constexpr char kDone = '+', kAgain = '-', kNever = '!';

}  // namespace

Collective::Collective(RankGroup& group, const std::string& channel, std::function<bool()> go_on)
    : group_(group), channel_("checkpoints/" + channel), go_on_(std::move(go_on)) {}

std::vector<std::string> Collective::all(const std::string& what,
                                         const std::function<std::string()>& work) {
  if (group_.size() == 1) return {work()};
  std::string said;
  std::exception_ptr failure;
  try {
    said = kDone + work();
  } catch (const NoRetry& error) {
    said = kNever + std::string(error.what());
    failure = std::current_exception();
  } catch (const std::exception& error) {
    said = kAgain + std::string(error.what());
    failure = std::current_exception();
  }
  const std::string mark = what + "\n";
  std::vector<std::string> all = group_.meet(channel_, mark + said, go_on_);
  if (failure) std::rethrow_exception(failure);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].starts_with(mark)) {
      throw NoRetry(ExitCode::bug, fmt::format("checkpoints: '{}' here, '{}' on rank {}", what,
                                               all[rank].substr(0, all[rank].find('\n')), rank));
    }
    const char how = all[rank][mark.size()];
    all[rank].erase(0, mark.size() + 1);
    if (how == kDone) continue;
    throw OtherFailed(fmt::format("rank {}: {}", rank, all[rank]), how == kAgain);
  }
  return all;
}

std::string Collective::first_only(const std::string& what,
                                   const std::function<std::string()>& work) {
  return all(what, [&] { return first() ? work() : std::string(); }).front();
}

}  // namespace stoker
