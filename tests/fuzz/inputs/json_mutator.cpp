#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "io/core/text/json.h"

// libFuzzer changes a line of JSON as a tree, so that most changes get past the parser: wrong
// types, missing and unknown members, numbers that nobody expects.

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace stoker {
namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

size_t below(Random& random, size_t count) { return random() % count; }

void collect(Json& tree, std::vector<Json*>& nodes) {
  nodes.push_back(&tree);
  if (!tree.is_structured()) return;
  for (Json& child : tree) collect(child, nodes);
}

Json strange(Random& random) {
  static const Json kValues[] = {nullptr,
                                 true,
                                 0,
                                 -1,
                                 1,
                                 1.5,
                                 1e300,
                                 -1e300,
                                 1e-300,
                                 UINT64_MAX,
                                 INT64_MIN,
                                 INT64_MAX,
                                 "",
                                 "x",
                                 "1",
                                 "a.b",
                                 std::string(300, 'x'),
                                 Json::array(),
                                 Json::object(),
                                 Json::array({1, "x"})};
  return kValues[below(random, std::size(kValues))];
}

void mutate_text(std::string& text) {
  const size_t size = text.size();
  text.resize(size + 8);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
}

void change_members(Json& node, const Json& other, Random& random) {
  if (node.is_array()) {
    const size_t at = node.empty() ? 0 : below(random, node.size());
    if (!node.empty() && below(random, 2) == 0) {
      node.erase(at);
    } else {
      node.insert(node.begin() + static_cast<ptrdiff_t>(at), other);
    }
    return;
  }
  if (node.empty()) {
    node["x"] = other;
    return;
  }
  const auto member = std::next(node.begin(), static_cast<ptrdiff_t>(below(random, node.size())));
  if (below(random, 2) == 0) {
    node.erase(member);
  } else {
    std::string key = member.key();
    mutate_text(key);
    node[key] = other;
  }
}

void mutate(Json& tree, Random& random) {
  std::vector<Json*> nodes;
  collect(tree, nodes);
  Json& node = *nodes[below(random, nodes.size())];
  const Json other = *nodes[below(random, nodes.size())];
  switch (below(random, 4)) {
    case 0:
      node = strange(random);
      break;
    case 1:
      node = other;
      break;
    case 2:
      if (node.is_structured()) return change_members(node, other, random);
      node = strange(random);
      break;
    default:
      if (node.is_string()) return mutate_text(node.get_ref<std::string&>());
      if (node.is_number_integer()) node = node.get<int64_t>() ^ int64_t { 1 } << below(random, 63);
  }
}

std::string mutated(std::string_view text, Random& random) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::string& line = lines[below(random, lines.size())];
  const size_t front = std::min(line.find_first_not_of(", "), line.size());
  std::optional<Json> tree = try_parse_json(std::string_view(line).substr(front));
  if (tree) {
    mutate(*tree, random);
    line.replace(front, std::string::npos,
                 tree->dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    mutate_text(line);
  }
  std::string all = lines[0];
  for (size_t i = 1; i < lines.size(); ++i) all += "\n" + lines[i];
  return all;
}

}  // namespace
}  // namespace stoker

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  stoker::Random random(seed);
  if (stoker::below(random, 8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = stoker::mutated({reinterpret_cast<const char*>(data), size}, random);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::ranges::copy(text, data);
  return text.size();
}
