#include "io/checkpoint/sets/object_sets.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/sets/object_set_writer.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr const char* kClaimPrefix = "writer-";
constexpr uint64_t kMaxClaimBytes = 64 << 10;

// The number in the key of a claim; 0: none is there.
uint64_t number_of(const std::string& key) {
  const size_t begin = key.rfind(kClaimPrefix) + std::strlen(kClaimPrefix);
  uint64_t number = 0;
  std::from_chars(key.data() + begin, key.data() + key.size(), number);
  return number;
}

// An abstract socket of that name, which the kernel takes away when the process dies. Empty: it is
// taken. Where there are no sockets, nobody is seen to live, and check_owner() has to do.
FileDescriptor name_of_the_living(const std::string& claim, bool& taken) {
  taken = false;
  FileDescriptor name(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = "stoker-" + xxh3_128(claim);
  static_assert(sizeof(address.sun_path) > 64);
  std::memcpy(address.sun_path + 1, text.data(), text.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  const auto* const general = reinterpret_cast<const sockaddr*>(&address);
  if (!name || ::bind(name.get(), general, length) == 0) return name;
  taken = errno == EADDRINUSE;
  return {};
}

std::string this_process() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

}  // namespace

ObjectSets::ObjectSets(std::string tier, Storage& objects, std::string directory, std::string run,
                       bool guest, Notify warn)
    : tier_(std::move(tier)),
      objects_(objects),
      directory_(std::move(directory)),
      run_(std::move(run)),
      guest_(guest),
      warn_(std::move(warn)) {}

std::vector<std::string> ObjectSets::claims() const {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : objects_.list(directory_ + "/" + kClaimPrefix)) {
    keys.push_back(object.key);
  }
  std::ranges::sort(keys);
  return keys;
}

// The claim's name has 64 random bits, and no two processes on one machine have the same.
void ObjectSets::claim() {
  if (guest_) return;
  const std::vector<std::string> before = claims();
  if (!before.empty()) refuse_others(before.back());
  const uint64_t number = before.empty() ? 1 : number_of(before.back()) + 1;
  const std::string key =
      unique_name(fmt::format("{}/{}{:010}-", directory_, kClaimPrefix, number));
  bool taken = false;
  life_ = name_of_the_living(key, taken);
  const nlohmann::json claim = {{"run", run_}, {"process", this_process()}};
  write_object(objects_, key, bytes_of(json_text(claim)));
  claim_ = key;
  std::vector<std::string> left = unfinished();
  left.insert(left.end(), before.begin(), before.end());
  discard(left);
}

void ObjectSets::refuse_others(const std::string& key) const {
  std::string run;
  const std::string owner = owner_of(key, run);
  if (!run.empty() && run != run_) {
    throw Error(ExitCode::config,
                fmt::format("{}:{} (tier {}) holds checkpoints of run '{}', and this is '{}': give "
                            "this run another checkpoint.directory, or that one's run.name",
                            tier_, directory_, tier_, run, run_));
  }
  bool taken = false;
  name_of_the_living(key, taken);
  if (!taken) return;
  throw Error(ExitCode::environment,
              fmt::format("checkpoint directory {}:{} is in use by another process ({}); wait for "
                          "its end, or give this run another checkpoint.directory",
                          tier_, directory_, owner));
}

// Nothing is known of a claim that is damaged or has just gone.
std::string ObjectSets::owner_of(const std::string& key, std::string& run) const {
  try {
    const nlohmann::json claim =
        parse_json(SetFiles(objects_, tier_).read_text(key, kMaxClaimBytes));
    run = claim.at("run").get<std::string>();
    return claim.at("process").get<std::string>();
  } catch (const IoError& error) {
    if (error.errno_value() != ENOENT && error.errno_value() != 0) throw;
  } catch (const std::exception&) {
  }
  return "one that is not known";
}

void ObjectSets::check_owner() const {
  const std::vector<std::string> all = claims();
  if (!all.empty() && all.back() == claim_) return;
  std::string run;
  const std::string owner =
      all.empty() ? "one that has removed all of it" : owner_of(all.back(), run);
  throw NoRetry(ExitCode::environment,
                fmt::format("checkpoint directory {}:{} was taken over by another process ({}); "
                            "this one writes there no more",
                            tier_, directory_, owner));
}

// What others have begun who claimed the directory later is not in the list, or they are seen
// after it.
std::vector<std::string> ObjectSets::unfinished() const {
  std::vector<std::string> keys;
  const std::vector<ObjectInfo> objects = objects_.list(directory_ + "/step-");
  check_owner();
  for (const SetEntry& set : sets_among(objects, directory_)) {
    if (set.state != "unfinished") continue;
    const std::string prefix = directory_ + "/" + set.name + "/";
    for (const ObjectInfo& object : objects) {
      const bool named = object.key.starts_with(prefix) && object.key.size() > prefix.size();
      if (named) keys.push_back(object.key);
    }
  }
  return keys;
}

// Removes what killed processes left.
void ObjectSets::discard(const std::vector<std::string>& keys) {
  std::string stays;  // why the first of those that do
  for (const std::string& key : keys) {
    try {
      objects_.remove(key);
    } catch (const IoError& error) {
      if (stays.empty()) stays = error.what();
    }
  }
  if (stays.empty() || !warn_) return;
  warn_(
      fmt::format("tier '{}': what is left of a checkpoint cannot be removed: {}; it stays, and "
                  "the next start tries again",
                  tier_, stays));
}

std::unique_ptr<SetWriter> ObjectSets::begin(int64_t step, const std::string& place) {
  const bool joins = !place.empty();
  return std::make_unique<ObjectSetWriter>(objects_,
                                           joins ? place : directory_ + "/" + object_set_name(step),
                                           joins, [this] { check_owner(); });
}

void ObjectSets::remove(int64_t step) {
  check_owner();
  for (const SetEntry& set : SetFiles(objects_, tier_).entries(directory_)) {
    if (set.step == step) remove_set(objects_, directory_ + "/" + set.name);
  }
}

std::string ObjectSets::set_aside(int64_t step, const std::string& why) {
  check_owner();
  const SetFiles files(objects_, tier_);
  const std::optional<std::string> set = files.find(directory_, step);
  if (!set) throw_errno("set aside", files.full(directory_ + "/" + set_name(step)), ENOENT);
  const std::string mark = *set + "/" + aside_name(why);
  write_object(objects_, mark, bytes_of(why + "\n"));
  return files.full(mark);
}

void ObjectSets::replace_text(const std::string& name, const std::string& text) {
  check_owner();
  write_object(objects_, directory_ + "/" + name, bytes_of(text));
}

}  // namespace stoker
