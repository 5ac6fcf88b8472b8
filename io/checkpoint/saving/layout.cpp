#include "io/checkpoint/saving/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "io/checkpoint/sets/tensor_bundle.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr uint64_t kHeaderAlignment = 4096;

template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::bug, "checkpoint layout: " + fmt::format(what, std::forward<A>(values)...));
}

void check(const std::vector<TensorInfo>& tensors) {
  if (tensors.size() > kMaxTensors) {
    refuse("{} tensors; at most {}", tensors.size(), kMaxTensors);
  }
  std::set<std::string> names;
  uint64_t total = 0;
  for (const TensorInfo& tensor : tensors) {
    if (!is_text(tensor.name)) refuse("a tensor's name is not UTF-8");
    if (tensor.name.empty()) refuse("a tensor without a name");
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      refuse("tensor {}: the name is taken", tensor.name);
    const std::optional<uint64_t> bytes = tensor_bytes(tensor.dtype, tensor.shape);
    if (bytes != tensor.bytes) {
      refuse("tensor {}: {} bytes do not agree with dtype {} and the shape", tensor.name,
             tensor.bytes, tensor.dtype);
    }
    if (__builtin_add_overflow(total, tensor.bytes, &total)) refuse("too many bytes");
  }
}

// Deals these pieces out to `files` in order. A file ends at the boundary of rows that is nearest
// to its share of the bytes.
void deal(const std::vector<TensorInfo>& tensors, const std::vector<TensorPiece>& pieces,
          std::span<DataFile> files) {
  uint64_t total = 0;
  for (const TensorPiece& piece : pieces) total += piece.bytes;
  size_t file = 0;
  uint64_t dealt = 0;
  for (const TensorPiece& piece : pieces) {
    const TensorInfo& tensor = tensors[piece.tensor];
    const bool whole = tensor.shape.empty() || tensor.bytes == 0;
    const uint64_t row_bytes =
        whole ? piece.bytes : tensor.bytes / static_cast<uint64_t>(tensor.shape[0]);
    const uint64_t rows = whole ? 1 : piece.bytes / row_bytes;
    for (uint64_t row = 0; row < rows;) {
      uint64_t taken = rows - row;
      if (file + 1 < files.size() && row_bytes > 0) {
        // total * (file + 1) / files, without the overflow.
        const uint64_t end =
            total / files.size() * (file + 1) + total % files.size() * (file + 1) / files.size();
        const uint64_t room = std::max(end, dealt) - dealt;
        taken = std::min(taken, room / row_bytes + (room % row_bytes >= row_bytes - row_bytes / 2));
      }
      const uint64_t bytes = taken * row_bytes;
      if (taken > 0) {
        files[file].pieces.push_back({piece.tensor, piece.begin + row * row_bytes, bytes, 0});
      }
      row += taken;
      dealt += bytes;
      file += row < rows;
    }
  }
}

// The shares of every process, each in the order of the layout's tensors.
std::vector<std::vector<TensorPiece>> pieces_of(const SetLayout& layout,
                                                const std::vector<TensorShare>& shares,
                                                int64_t processes) {
  std::vector<size_t> places(layout.sources.size());
  for (size_t i = 0; i < places.size(); ++i) places[layout.sources[i]] = i;
  std::vector<std::vector<TensorPiece>> pieces(static_cast<size_t>(processes));
  for (const TensorShare& share : shares) {
    if (share.tensor >= places.size()) refuse("a share of tensor {}", share.tensor);
    if (share.process < 0 || share.process >= processes) {
      refuse("process {} of {} has a share", share.process, processes);
    }
    pieces[static_cast<size_t>(share.process)].push_back(
        {places[share.tensor], share.begin, share.bytes, 0});
  }
  for (std::vector<TensorPiece>& those : pieces) {
    std::ranges::sort(
        those, {}, [](const TensorPiece& piece) { return std::pair(piece.tensor, piece.begin); });
  }
  return pieces;
}

// A set holds every byte of its tensors once, in the order of its files.
void check_covered(const SetLayout& layout) {
  std::vector<uint64_t> ends(layout.tensors.size());
  for (const DataFile& file : layout.files) {
    for (const TensorPiece& piece : file.pieces) {
      if (piece.begin != std::exchange(ends[piece.tensor], piece.begin + piece.bytes)) {
        refuse("the shares of tensor {} do not follow each other",
               layout.tensors[piece.tensor].name);
      }
    }
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == layout.tensors[i].bytes) continue;
    refuse("tensor {}: the shares have {} of {} bytes", layout.tensors[i].name, ends[i],
           layout.tensors[i].bytes);
  }
}

// What opens the file for every reader of safetensors: the length, JSON, spaces up to the data.
std::string safetensors_header(const std::vector<TensorInfo>& tensors, const DataFile& file) {
  OrderedJson metadata = {{"format", "pt"}, {"writer", "stoker"}};
  OrderedJson entries = OrderedJson::object();
  uint64_t end = 0;
  for (const TensorPiece& piece : file.pieces) {
    const TensorInfo& tensor = tensors[piece.tensor];
    std::vector<int64_t> shape = tensor.shape;
    if (piece.bytes < tensor.bytes) {
      const uint64_t row_bytes = tensor.bytes / static_cast<uint64_t>(shape[0]);
      const uint64_t first = piece.begin / row_bytes, rows = piece.bytes / row_bytes;
      metadata["rows:" + tensor.name] = fmt::format("{}:{} of {}", first, first + rows, shape[0]);
      shape[0] = static_cast<int64_t>(rows);
    }
    entries[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", shape}, {"data_offsets", {end, end + piece.bytes}}};
    end += piece.bytes;
  }
  OrderedJson header = {{"__metadata__", metadata}};
  header.update(entries);
  std::string text = json_text(header);
  const uint64_t unaligned = (sizeof(uint64_t) + text.size()) % kHeaderAlignment;
  if (unaligned != 0) text.append(kHeaderAlignment - unaligned, ' ');
  std::string length;
  for (int i = 0; i < 64; i += 8) length += static_cast<char>(text.size() >> i);
  return length + text;
}

std::string file_name(FileLayout format, size_t file, size_t files) {
  if (format == FileLayout::tf_saver) return bundle_data_name(kBundlePrefix, file, files);
  if (files == 1) return "state.safetensors";
  return fmt::format("state-{:05}-of-{:05}.safetensors", file + 1, files);
}

}  // namespace

uint64_t dtype_bytes(const std::string& dtype) {
  static const std::pair<const char*, uint64_t> known[] = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  for (const auto& [name, bytes] : known)
    if (dtype == name) return bytes;
  return 0;
}

std::optional<uint64_t> tensor_bytes(const std::string& dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = dtype_bytes(dtype);
  if (bytes == 0 || shape.size() > kMaxDimensions) return std::nullopt;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    // Strides are products, too, so a 0 in the shape does not excuse the others.
    const uint64_t factor = std::max<uint64_t>(1, static_cast<uint64_t>(size));
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

EnumNames<FileLayout> enum_names(FileLayout) {
  return {{"safetensors", FileLayout::safetensors}, {"tf_saver", FileLayout::tf_saver}};
}

uint64_t SetLayout::bytes() const { return bytes({0, files.size()}); }

uint64_t SetLayout::bytes(FileRange some) const {
  uint64_t sum = 0;
  for (size_t i = some.begin; i < some.end; ++i) sum += files[i].bytes;
  return sum;
}

FileRange files_of(const SetLayout& layout, int64_t rank, int64_t size) {
  const auto share = [&](int64_t of) {
    const auto files = static_cast<int64_t>(layout.files.size());
    return static_cast<size_t>((files * of + size - 1) / size);
  };
  return {share(rank), share(rank + 1)};
}

SetLayout make_layout(FileLayout format, std::vector<TensorInfo> tensors, int64_t shards,
                      const std::vector<TensorShare>& shares, int64_t processes) {
  check(tensors);
  if (shards < 1 || shards > kMaxShards) refuse("{} shards", shards);
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto rank = [&](size_t i) {
    return std::pair(tensors[i].bytes % kTensorAlignment == 0, dtype_bytes(tensors[i].dtype));
  };
  std::ranges::stable_sort(order, std::greater{}, rank);
  SetLayout layout{format, {}, std::vector<DataFile>(static_cast<size_t>(shards)), order};
  for (const size_t source : order) layout.tensors.push_back(std::move(tensors[source]));
  if (shares.empty()) {
    std::vector<TensorPiece> all;
    for (size_t i = 0; i < layout.tensors.size(); ++i) {
      all.push_back({i, 0, layout.tensors[i].bytes, 0});
    }
    deal(layout.tensors, all, layout.files);
  } else {
    if (processes < 1 || shards % processes != 0) {
      refuse("{} files for {} processes", shards, processes);
    }
    const std::vector<std::vector<TensorPiece>> pieces = pieces_of(layout, shares, processes);
    for (int64_t process = 0; process < processes; ++process) {
      const FileRange own = files_of(layout, process, processes);
      deal(layout.tensors, pieces[static_cast<size_t>(process)],
           std::span(layout.files).subspan(own.begin, own.end - own.begin));
    }
    check_covered(layout);
  }
  for (size_t i = 0; i < layout.files.size(); ++i) {
    DataFile& file = layout.files[i];
    file.name = file_name(format, i, layout.files.size());
    if (format == FileLayout::safetensors) file.header = safetensors_header(layout.tensors, file);
    if (file.header.size() > kMaxHeaderBytes) refuse("the header of {} is too long", file.name);
    file.bytes = file.header.size();
    for (TensorPiece& piece : file.pieces) {
      piece.offset = file.bytes;
      file.bytes += piece.bytes;
    }
  }
  return layout;
}

}  // namespace stoker
