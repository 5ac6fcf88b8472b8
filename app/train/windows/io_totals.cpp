#include "app/train/windows/io_totals.h"

#include <string>
#include <utility>

namespace stoker {
namespace {

using nlohmann::json;

// Numbers of the same place are added, and those of the same place in lists. Bounds of histograms
// are equal everywhere. Quotients are left out, and times under way, which not every session has.
void add_up(json& sum, const json& value) {
  if (value.is_number_integer()) {
    sum = sum.is_null() ? value : json(sum.get<int64_t>() + value.get<int64_t>());
  } else if (value.is_number()) {
    sum = sum.is_null() ? value : json(sum.get<double>() + value.get<double>());
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) add_up(sum[i], value[i]);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      if (name == "bounds") {
        sum[name] = member;
      } else if (!name.ends_with("mb_per_s") && !name.ends_with("_share") &&
                 name != "under_way_s") {
        add_up(sum[name], member);
      }
    }
  }
}

// part / whole under a name, where both are there and the whole is not 0.
void divide(json& in, const char* name, double part, double whole) {
  if (whole > 0) in[name] = part / whole;
}

void add_quotients(json& direction, double seconds, double of_posix) {
  divide(direction, "mb_per_s", 1e-6 * direction.at("bytes").get<double>(), seconds);
  divide(direction, "sequential_share", direction.at("sequential").get<double>(), of_posix);
  divide(direction, "consecutive_share", direction.at("consecutive").get<double>(), of_posix);
}

}  // namespace

IoTotals::IoTotals(IoSessionFeed& feed)
    : subscription_(feed.subscribe([this](const IoSessionReport& report) { add(report); })) {}

void IoTotals::add(const IoSessionReport& report) {
  const json session = json::parse(report.json);
  json counted = {{"sessions", 1},
                  {"seconds", session.at("job").at("seconds")},
                  {"files", session.at("files_in_all")}};
  for (const char* part : {"posix", "stdio", "read", "write", "file_sizes"}) {
    counted[part] = session.at(part);
  }
  const std::lock_guard lock(mutex_);
  add_up(sums_, counted);
}

json IoTotals::figures() const {
  json all;
  {
    const std::lock_guard lock(mutex_);
    all = sums_;
  }
  if (all.is_null()) return all;
  const double seconds = all.at("seconds").get<double>();
  add_quotients(all["read"], seconds, all["posix"].at("reads").get<double>());
  add_quotients(all["write"], seconds, all["posix"].at("writes").get<double>());
  return all;
}

}  // namespace stoker
