#include "io/storage/cached/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "io/core/error.h"
#include "io/storage/cached/plan_file.h"

namespace stoker {
namespace {

// Small enough to stop soon on a slow tier, large enough to cost few requests.
constexpr uint64_t kPiece = 8 << 20;

}  // namespace

EnumNames<StagingOrder> enum_names(StagingOrder) {
  return {{"listing", StagingOrder::listing},
          {"smallest", StagingOrder::smallest},
          {"most_read", StagingOrder::most_read},
          {"plan", StagingOrder::plan}};
}

void StagingRule::check(const Section& section) const {
  const bool planned = order == StagingOrder::plan;
  if (planned && !plan) section.fail("order", "needs the file: plan: FILE, of `stoker advise`");
  if (!planned && plan) section.fail("plan", "is for order: plan");
  if (planned && below) section.fail("below", "must not be there beside order: plan");
}

std::vector<ObjectInfo> candidates(std::vector<ObjectInfo> listing, const StagingRule& rule) {
  if (rule.order != StagingOrder::plan) return listing;
  const std::string& path = rule.plan->value;
  StagingPlan plan = read_plan(path);
  check_plan(plan, listing, path);
  if (plan.bytes > rule.limit.bytes) {
    throw Error(ExitCode::config,
                fmt::format("{}: its objects take {} bytes, and limit is {}: raise it", path,
                            plan.bytes, rule.limit.bytes));
  }
  return std::move(plan.objects);
}

StagingPlan choose(const std::vector<ObjectInfo>& objects, const StagingRule& rule, uint64_t used,
                   const ReadCounts& reads) {
  std::vector<ObjectInfo> candidates;
  for (const ObjectInfo& object : objects) {
    if (!object.key.ends_with('/') && rule.allows(object.bytes)) candidates.push_back(object);
  }
  if (rule.order == StagingOrder::smallest) {
    std::ranges::stable_sort(candidates, {}, &ObjectInfo::bytes);
  } else if (rule.order == StagingOrder::most_read) {
    std::ranges::stable_sort(candidates, std::greater{}, [&](const ObjectInfo& object) {
      const auto read = reads.find(object.key);
      return read == reads.end() ? 0 : read->second;
    });
  }
  uint64_t left = rule.limit.bytes - std::min(used, rule.limit.bytes);
  StagingPlan plan;
  for (ObjectInfo& object : candidates) {
    if (object.bytes > left) continue;
    left -= object.bytes;
    plan.bytes += object.bytes;
    plan.objects.push_back(std::move(object));
  }
  return plan;
}

std::vector<ObjectInfo> list_if_there(const Storage& tier, const std::string& prefix) {
  try {
    return tier.list(prefix);
  } catch (const IoError& error) {
    if (error.errno_value() != ENOENT) throw;
    return {};
  }
}

StagedBefore recognise(const Storage& from, const Storage& to) {
  StagedBefore result;
  std::vector<ObjectInfo> found = list_if_there(to);
  std::erase_if(found, [](const ObjectInfo& object) { return object.key.ends_with('/'); });
  if (found.empty()) return result;
  const std::vector<ObjectInfo> originals = list_if_there(from);
  for (ObjectInfo& object : found) {
    const auto original = std::ranges::lower_bound(originals, object.key, {}, &ObjectInfo::key);
    if (original != originals.end() && original->key == object.key &&
        original->bytes == object.bytes) {
      result.copies.push_back(std::move(object));
    } else {
      result.strange.push_back(std::move(object.key));
    }
  }
  return result;
}

Copied copy_object(const Storage& from, Storage& to, const ObjectInfo& object,
                   const std::function<bool()>& stop) {
  const std::unique_ptr<ObjectWriter> writer = to.create(object.key);
  Buffer piece;
  for (uint64_t offset = 0; offset <= object.bytes; offset += kPiece) {
    if (stop()) return Copied::stopped;
    try {
      from.read(object.key, piece, {offset, kPiece});
    } catch (const IoError&) {
      return Copied::unreadable;
    }
    if (piece.size() != std::min(kPiece, object.bytes - offset)) return Copied::unreadable;
    writer->append(piece.bytes());
  }
  writer->commit();
  return Copied::yes;
}

}  // namespace stoker
