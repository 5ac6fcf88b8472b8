#include "app/tools/checkpoint/bundle_listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/base/result_table.h"
#include "io/checkpoint/restoring/read_bundle.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".index";

// A slice's key is no text, but begins with a zero.
std::string shown_name(const BundleTensor& tensor) {
  return tensor.name.starts_with('\0') ? "(slice)" : tensor.name;
}

}  // namespace

std::optional<std::string> bundle_prefix(const std::string& where) {
  std::error_code error;
  const std::string prefix =
      where.ends_with(kEnd) ? where.substr(0, where.size() - kEnd.size()) : where;
  if (!fs::is_regular_file(prefix + std::string(kEnd), error)) return std::nullopt;
  return prefix;
}

ExitCode list_bundle(const std::string& prefix, bool verify, bool json) {
  const fs::path path = fs::absolute(prefix);
  const std::string name = path.filename().string();
  const FileTree tree(path.parent_path().string());
  const BundleFiles files(tree, name);
  const TensorBundle bundle = files.index();
  ResultTable table({{"tensor", "tensor"},
                     {"dtype", "type"},
                     {"shape", "shape"},
                     {"bytes", "bytes"},
                     {"file", "file"},
                     {"intact", verify ? "intact" : ""}});
  ExitCode result = ExitCode::ok;
  for (const BundleTensor& tensor : bundle.tensors) {
    const std::string damage = verify ? files.damage(tensor, bundle.files) : "";
    table.add({shown_name(tensor), tensor.dtype, fmt::format("{}", tensor.shape),
               static_cast<int64_t>(tensor.bytes),
               tensor.sliced ? "in slices" : bundle_data_name(name, tensor.file, bundle.files),
               verify && !tensor.sliced ? ResultTable::Cell(damage.empty()) : ResultTable::Cell()});
    if (damage.empty()) continue;
    result = ExitCode::storage;
    table.note(damage);
  }
  print_result(json, table.json(), table.text(), 2);
  return result;
}

}  // namespace stoker
