#include "app/tools/checkpoint/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/base/result_table.h"
#include "app/tools/checkpoint/files/open_tensors.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::string described(const TensorInfo& tensor) {
  return fmt::format("{} {}", tensor.dtype, tensor.shape);
}

// The number of a tensor by its name.
using ByName = std::map<std::string, size_t>;

ByName by_name(const StoredTensors& source, bool network) {
  ByName names;
  for (size_t i = 0; i < source.tensors().size(); ++i) {
    const std::string& name = source.tensors()[i].name;
    if (!network) {
      names[name] = i;
    } else if (name.starts_with(kModelPrefix)) {
      names[name.substr(kModelPrefix.size())] = i;
    }
  }
  return names;
}

bool none_in_common(const ByName& a, const ByName& b) {
  return std::ranges::none_of(a, [&](const auto& item) { return b.contains(item.first); });
}

// What the elements that were compared so far differ by.
class Distance {
 public:
  void add(const std::vector<long double>& a, const std::vector<long double>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      const auto apart = static_cast<double>(std::abs(a[i] - b[i]));
      const double difference = std::isnan(apart) ? kInfinite : apart;
      const double share =
          static_cast<double>(difference / std::max(std::abs(a[i]), std::abs(b[i])));
      ++different_;
      largest_ = std::max(largest_, difference);
      relative_ = std::max(relative_, std::isnan(share) ? kInfinite : share);
      sum_ += difference;
    }
  }
  void put(TensorDifference& into) const {
    into.different = different_;
    into.largest = largest_;
    into.mean = into.elements == 0 ? 0 : sum_ / static_cast<double>(into.elements);
    into.relative = relative_;
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  uint64_t different_ = 0;
  double largest_ = 0;
  double relative_ = 0;
  double sum_ = 0;
};

// Of two tensors of one shape. Reads all of both. Returns whether they have the same bits.
bool compare_values(TensorPieces& a, TensorPieces& b, TensorDifference& result,
                    const std::pair<std::string, std::string>& types) {
  std::vector<long double> values_a, values_b;
  Distance distance;
  bool same = true;
  for (;;) {
    const Bytes piece_a = a.next(), piece_b = b.next();
    if (piece_a.empty()) break;
    const bool one_type = types.first == types.second;
    if (one_type && std::memcmp(piece_a.data(), piece_b.data(), piece_a.size()) == 0) continue;
    same = false;
    element_values(types.first, piece_a, values_a);
    element_values(types.second, piece_b, values_b);
    distance.add(values_a, values_b);
  }
  distance.put(result);
  return same && types.first == types.second;
}

// As many columns as figures that a row may have.
ResultTable table_of(const std::vector<TensorDifference>& differences) {
  ResultTable table({{"tensor", "tensor"},
                     {"what", "what"},
                     {"a", "A"},
                     {"b", "B"},
                     {"elements", ""},
                     {"different", "different"},
                     {"largest", ""},
                     {"", "largest"},
                     {"mean", ""},
                     {"", "mean"},
                     {"relative", ""},
                     {"", "relative"}});
  using Cell = ResultTable::Cell;
  for (const TensorDifference& one : differences) {
    const bool compared = !one.a.empty() && !one.b.empty() && one.kind != "shape";
    const auto number = [&](double value) { return compared ? Cell(value) : Cell(); };
    const auto words = [&](double value) {
      return compared ? Cell(fmt::format("{:.3g}", value)) : Cell();
    };
    table.add({one.name, one.kind, one.a.empty() ? Cell() : Cell(one.a),
               one.b.empty() ? Cell() : Cell(one.b),
               compared ? Cell(static_cast<int64_t>(one.elements)) : Cell(),
               compared ? Cell(static_cast<int64_t>(one.different)) : Cell(), number(one.largest),
               words(one.largest), number(one.mean), words(one.mean), number(one.relative),
               words(one.relative)});
  }
  return table;
}

std::string said(const CheckpointDifference& result, const DiffArguments& arguments) {
  std::string text;
  if (result.network) {
    text =
        "compared by the names that the network has for its tensors: the set's others were left "
        "out\n";
  }
  if (result.identical()) {
    return text + fmt::format("{}, bit-identical: nothing was trained between them\n",
                              plural(result.tensors, "tensor"));
  }
  text += table_of(result.others).text();
  text += fmt::format("{} of {} tensors that both have are bit-identical\n", result.equal,
                      result.tensors);
  if (!arguments.tolerance) return text;
  return text + fmt::format("{} {}\n",
                            result.beyond(*arguments.tolerance) ? "they differ by more than"
                                                                : "nothing differs by more than",
                            *arguments.tolerance);
}

}  // namespace

bool CheckpointDifference::beyond(double tolerance) const {
  return std::ranges::any_of(others, [&](const TensorDifference& one) {
    return (one.kind != "values" && one.kind != "type") || one.largest > tolerance;
  });
}

CheckpointDifference compare_checkpoints(const StoredTensors& a, const StoredTensors& b) {
  CheckpointDifference result;
  ByName names_a = by_name(a, false), names_b = by_name(b, false);
  const bool set_a = dynamic_cast<const SetSource*>(&a) != nullptr;
  const bool set_b = dynamic_cast<const SetSource*>(&b) != nullptr;
  if (set_a != set_b && none_in_common(names_a, names_b)) {
    names_a = by_name(a, set_a);
    names_b = by_name(b, set_b);
    result.network = true;
  }
  for (const auto& [name, ia] : names_a) {
    const TensorInfo& info_a = a.tensors()[ia];
    TensorDifference difference{name, "only in A", described(info_a), ""};
    const auto found = names_b.find(name);
    if (found == names_b.end()) {
      result.others.push_back(std::move(difference));
      continue;
    }
    ++result.tensors;
    const TensorInfo& info_b = b.tensors()[found->second];
    difference.b = described(info_b);
    difference.kind = info_a.shape != info_b.shape   ? "shape"
                      : info_a.dtype != info_b.dtype ? "type"
                                                     : "values";
    if (difference.kind != "shape") {
      difference.elements = info_a.bytes / dtype_bytes(info_a.dtype);
      TensorPieces of_a(a, ia, kElementsAtOnce), of_b(b, found->second, kElementsAtOnce);
      if (compare_values(of_a, of_b, difference, {info_a.dtype, info_b.dtype})) {
        ++result.equal;
        continue;
      }
    }
    result.others.push_back(std::move(difference));
  }
  for (const auto& [name, ib] : names_b) {
    if (names_a.contains(name)) continue;
    result.others.push_back({name, "only in B", "", described(b.tensors()[ib])});
  }
  return result;
}

ExitCode diff_checkpoints(const DiffArguments& arguments) {
  const auto a = open_tensors(arguments.a), b = open_tensors(arguments.b);
  const CheckpointDifference result = compare_checkpoints(*a, *b);
  nlohmann::json json = {{"a", {{"path", arguments.a}, {"format", a->format()}}},
                         {"b", {{"path", arguments.b}, {"format", b->format()}}},
                         {"identical", result.identical()},
                         {"tensors", result.tensors},
                         {"equal", result.equal},
                         {"network_names", result.network},
                         {"differences", table_of(result.others).json()}};
  if (arguments.tolerance) json["within_tolerance"] = !result.beyond(*arguments.tolerance);
  print_result(arguments.json, json, said(result, arguments), 2);
  const bool missed = arguments.tolerance && result.beyond(*arguments.tolerance);
  return missed ? ExitCode::threshold : ExitCode::ok;
}

namespace {

template <class T>
void plain(Bytes bytes, std::vector<long double>& values) {
  values.reserve(bytes.size() / sizeof(T));
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[at], sizeof(T));
    values.push_back(static_cast<long double>(value));
  }
}

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// The upper half of a float.
double brain(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

template <double (*convert)(uint16_t)>
void halves(Bytes bytes, std::vector<long double>& values) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint16_t)) {
    uint16_t bits = 0;
    std::memcpy(&bits, &bytes[at], sizeof(bits));
    values.push_back(convert(bits));
  }
}

}  // namespace

static_assert(std::numeric_limits<long double>::digits >= 64, "every whole number is exact");

void element_values(const std::string& dtype, Bytes bytes, std::vector<long double>& values) {
  using Convert = void (*)(Bytes, std::vector<long double>&);
  static const std::map<std::string, Convert> known = {
      {"F64", plain<double>},  {"F32", plain<float>},   {"F16", halves<half>},
      {"BF16", halves<brain>}, {"I64", plain<int64_t>}, {"I32", plain<int32_t>},
      {"I16", plain<int16_t>}, {"I8", plain<int8_t>},   {"U8", plain<uint8_t>},
      {"BOOL", plain<uint8_t>}};
  const auto found = known.find(dtype);
  if (found == known.end()) throw Error(ExitCode::bug, "elements of type " + dtype);
  values.clear();
  found->second(bytes, values);
}

}  // namespace stoker
