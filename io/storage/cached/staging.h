#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/core/config/config.h"
#include "io/storage/storage.h"

// Which objects of a slow tier are worth a place on a fast one, and how one gets there. Used by the
// cached tier while a run reads, and by `stoker dataset stage` before one. Functions: any thread.

namespace stoker {

// What is copied first: what a listing names first (by key, bytewise); the smallest, so that most
// reads are saved for the room; what was read most often until now; what a file names, and nothing
// else.
enum class StagingOrder { listing, smallest, most_read, plan };
EnumNames<StagingOrder> enum_names(StagingOrder);

// Which objects may become copies, in what order, and how many bytes of them. A value. Nothing is
// ever dropped to make room, so the rule decides once for all.
struct StagingRule {
  ByteSize limit{uint64_t{10} << 30};
  std::optional<ByteSize> below;
  StagingOrder order = StagingOrder::listing;
  std::optional<Path> plan;  // of order: plan
  template <class V>
  void visit(V& v) {
    v("limit", limit, "The most bytes that all copies together may take.");
    v("below", below,
      "Only objects smaller than this are copied. Without it, objects of any size are.");
    v("order", order,
      "Which objects a thread that copies ahead takes first. `most_read` waits until as many reads "
      "were made as there are objects. With `plan` only the objects that the plan names are "
      "copied, in its order, whatever `fill` says.");
    v("plan", plan, "The file with the plan for `order: plan`, as `stoker advise` writes it.");
  }
  // Error(ExitCode::config) for a plan without its order, or beside a second rule.
  void check(const Section& section) const;
  // May an object of this size be copied, whatever room is left?
  bool allows(uint64_t bytes) const { return !below || bytes < below->bytes; }
};

// How often each key was read. A key that is not in it was not read.
using ReadCounts = std::unordered_map<std::string, int64_t>;

// What to copy. A value.
struct StagingPlan {
  std::vector<ObjectInfo> objects;  // in the order in which to copy them
  uint64_t bytes = 0;
};

// What the rule chooses from: the listing; or of order: plan the objects of that file, in its
// order. Error, which names the file and what is wrong: ExitCode::environment where it is missing,
// ExitCode::config where it is not a plan, was made of other objects (one that is not listed, or
// has another size), or takes more than the rule's limit.
std::vector<ObjectInfo> candidates(std::vector<ObjectInfo> listing, const StagingRule& rule);

// Those of `objects` (candidates) that the rule takes into what is left of its limit after `used`
// bytes. An object that does not fit is left out, and smaller ones behind it still have their
// chance. Ties keep the order of `objects`. Empty directories ("name/") are not objects.
StagingPlan choose(const std::vector<ObjectInfo>& objects, const StagingRule& rule, uint64_t used,
                   const ReadCounts& reads = {});

// The objects of `tier`; none where it does not exist yet. Other failures are IoError.
std::vector<ObjectInfo> list_if_there(const Storage& tier, const std::string& prefix = "");

// What an earlier process left on the fast tier.
struct StagedBefore {
  std::vector<ObjectInfo> copies;    // same key, same size: taken for copies
  std::vector<std::string> strange;  // another size, or nothing on the slow tier: not ours
};
// Compares one listing of each tier by key and size; contents are not read. IoError as the tiers'.
StagedBefore recognise(const Storage& from, const Storage& to);

// How copying one object ended.
enum class Copied {
  yes,
  stopped,
  unreadable  // or no longer of the size that the listing said
};

// Copies one object in pieces of 8 MiB; asks `stop` before each, and gives up where it says true.
// Without a yes nothing is left of it on `to`; with one the copy is durable there and replaces an
// older object of its key. Throws IoError where `to` fails; failures of `from` are `unreadable`,
// because other objects may still be copied.
Copied copy_object(const Storage& from, Storage& to, const ObjectInfo& object,
                   const std::function<bool()>& stop);

}  // namespace stoker
