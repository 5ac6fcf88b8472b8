#include "app/tools/checkpoint/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/checkpoint/files/open_tensors.h"
#include "app/tools/checkpoint/files/tensor_writer.h"
#include "app/tools/checkpoint/set_stream.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr std::array<std::string_view, 3> kTorchSuffixes{".pt", ".pth", ".bin"};
constexpr std::string_view kSafetensorsSuffix = ".safetensors";
constexpr size_t kMaxNameBytes = 1024;  // so that a header stays one

template <class... A>
[[noreturn]] void fail(fmt::format_string<A...> what, A&&... values) {
  throw Error(ExitCode::config, fmt::format(what, std::forward<A>(values)...));
}

uint64_t bytes_in(const std::vector<WrittenTensor>& tensors) {
  uint64_t bytes = 0;
  for (const WrittenTensor& tensor : tensors) bytes += tensor.info.bytes;
  return bytes;
}

// What was left out, for people. Empty: nothing was.
std::string without(const StoredTensors& source) {
  const std::vector<std::string>& names = source.left_out();
  if (names.empty()) return "";
  return fmt::format("left out: {} without a tensor ({}{})\n", plural(names.size(), "value"),
                     printable(names.front()), names.size() > 1 ? ", ..." : "");
}

// Tensors that ranks had by columns are in a set of stoker.dcp as slices, "name[0:9,2:4]".
std::string in_slices(const std::vector<WrittenTensor>& tensors) {
  std::vector<std::string> slices;
  for (const WrittenTensor& tensor : tensors) {
    const std::string& name = tensor.info.name;
    const size_t open = name.find('[');
    if (open == std::string::npos || !name.ends_with(']')) continue;
    if (name.find(':', open) == std::string::npos) continue;
    if (name.find_first_not_of("0123456789:,", open + 1) == name.size() - 1) slices.push_back(name);
  }
  if (slices.empty()) return "";
  return fmt::format("in slices, as ranks had them: {} ({}{}); stoker.dcp.export joins them\n",
                     slices.size(), printable(slices.front()), slices.size() > 1 ? ", ..." : "");
}

// The tensors of a source, as an export calls them.
std::vector<WrittenTensor> chosen(const StoredTensors& source, const ExportArguments& arguments) {
  const bool network = dynamic_cast<const SetSource*>(&source) != nullptr && !arguments.all;
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < source.tensors().size(); ++i) {
    TensorInfo info = source.tensors()[i];
    if (network && !info.name.starts_with(kModelPrefix)) continue;
    if (network) info.name.erase(0, kModelPrefix.size());
    tensors.push_back({std::move(info), &source, i});
  }
  if (tensors.empty()) {
    fail("{}: there is no tensor to export{}", arguments.from,
         network ? " (none is called model.*): take all of them by --all" : "");
  }
  return tensors;
}

std::vector<std::string> written(const std::vector<WrittenTensor>& tensors,
                                 const ExportArguments& arguments) {
  const std::string& to = arguments.to;
  std::error_code error;
  const bool folder = to.ends_with('/') || std::filesystem::is_directory(to, error);
  const bool torch =
      std::ranges::any_of(kTorchSuffixes, [&](auto end) { return to.ends_with(end); });
  if (torch && !folder) {
    if (arguments.max_shard) fail("--max-shard is for safetensors: a file of torch.save is one");
    return write_torch(tensors, to);
  }
  if (!folder && !to.ends_with(kSafetensorsSuffix)) {
    fail(
        "{}: what is it to be? End its name with .safetensors or, as torch.save writes it, with {}",
        to, fmt::join(kTorchSuffixes, ", "));
  }
  const std::string path = folder ? (std::filesystem::path(to) / "model.safetensors").native() : to;
  return write_safetensors(tensors, path, arguments.max_shard.value_or(ByteSize{}).bytes);
}

// The bytes of tensors that follow each other, each compared with its sum as it ends.
class TensorsInOrder {
 public:
  explicit TensorsInOrder(std::vector<WrittenTensor> tensors) : tensors_(std::move(tensors)) {}

  void take(std::span<uint8_t> out) {
    while (!out.empty()) {
      if (!go_on()) throw Error(ExitCode::bug, "more bytes than all tensors have");
      const size_t size = std::min(out.size(), piece_.size());
      std::memcpy(out.data(), piece_.data(), size);
      piece_ = piece_.subspan(size);
      out = out.subspan(size);
    }
    go_on();  // the sum of a tensor that ends here
  }

 private:
  // Until there are bytes. False: that was all.
  bool go_on() {
    while (piece_.empty()) {
      if (!pieces_ && next_ == tensors_.size()) return false;
      if (!pieces_) {
        const WrittenTensor& tensor = tensors_[next_++];
        pieces_ = std::make_unique<TensorPieces>(*tensor.source, tensor.index, kElementsAtOnce);
      }
      piece_ = pieces_->next();
      if (piece_.empty()) pieces_.reset();
    }
    return true;
  }

  const std::vector<WrittenTensor> tensors_;
  size_t next_ = 0;
  std::unique_ptr<TensorPieces> pieces_;
  Bytes piece_;
};

void check_name(const std::string& from, const std::string& name) {
  const bool fits = is_text(name) && !name.empty() && name.size() <= kMaxNameBytes;
  if (fits && name != "__metadata__") return;
  fail("{}: a set cannot have a tensor called {}", from, printable(name.substr(0, kMaxNameBytes)));
}

// The tensors of the file, as the set will have them.
std::vector<WrittenTensor> renamed(const StoredTensors& file, const ImportArguments& arguments) {
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    TensorInfo info = file.tensors()[i];
    if (!arguments.all) info.name.insert(0, kModelPrefix);
    check_name(arguments.from, info.name);
    tensors.push_back({std::move(info), &file, i});
  }
  return tensors;
}

// The tensors of `like`, those of the network (or all of them) from the file.
std::vector<WrittenTensor> replaced(const SetSource& like, std::vector<WrittenTensor> file,
                                    const ImportArguments& arguments) {
  std::map<std::string, WrittenTensor> by_name;
  for (WrittenTensor& tensor : file) by_name.emplace(tensor.info.name, tensor);
  std::vector<WrittenTensor> tensors;
  for (size_t i = 0; i < like.tensors().size(); ++i) {
    const TensorInfo& info = like.tensors()[i];
    const auto found = by_name.find(info.name);
    if (found == by_name.end() && (arguments.all || info.name.starts_with(kModelPrefix))) {
      fail("{}: it has no tensor {}, which {} has: it is that of another network", arguments.from,
           info.name, arguments.like);
    }
    if (found == by_name.end()) {
      tensors.push_back({info, &like, i});
      continue;
    }
    const TensorInfo& other = found->second.info;
    if (other != info) {
      fail(
          "{}: its tensor {} is {} {}, and {} {} in {}: convert it before, or take the set of its "
          "own "
          "network",
          arguments.from, info.name, other.dtype, other.shape, info.dtype, info.shape,
          arguments.like);
    }
    tensors.push_back(found->second);
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    fail("{}: its tensor {} is none of {}: it is that of another network", arguments.from,
         by_name.begin()->first, arguments.like);
  }
  return tensors;
}

// Where the set is made, and what it is.
struct ImportedSet {
  std::string path;
  int64_t step = 0;
};

ImportedSet write_import(const std::vector<WrittenTensor>& tensors, Manifest manifest,
                         const ImportArguments& arguments) {
  if (tensors.size() > kMaxTensors) {
    fail("{}: {} tensors; a set has at most {}", arguments.from, tensors.size(), kMaxTensors);
  }
  const auto to = std::filesystem::absolute(arguments.to + "/.").lexically_normal().parent_path();
  const FileTree tree(to.parent_path().native());
  SetStore store("-", tree, to_text(to.filename().native()), {.warn = print_note});
  store.open_for_writing();
  if (store.has(manifest.step)) {
    fail("{}: the set of step {} is there already: remove it, or take another --step",
         store.full_path(manifest.step), manifest.step);
  }
  std::vector<TensorInfo> infos;
  infos.reserve(tensors.size());
  for (const WrittenTensor& tensor : tensors) infos.push_back(tensor.info);
  const SetLayout layout = make_layout(FileLayout::safetensors, infos, 1);
  std::vector<WrittenTensor> ordered;
  for (const size_t source : layout.sources) ordered.push_back(tensors[source]);
  TensorsInOrder stream(std::move(ordered));
  const uint64_t header = layout.files.front().header.size();
  manifest.durability = "fsync";
  const int64_t step = manifest.step;
  const auto progress = progress_of("import");
  write_set(store, layout, std::move(manifest),
            [&](size_t, uint64_t offset, std::span<uint8_t> out) {
              const uint64_t before =
                  std::min<uint64_t>(out.size(), header - std::min(header, offset));
              stream.take(out.subspan(before));
            },
            {.threads = 1, .progress = [&](uint64_t done) {
               progress(static_cast<int64_t>(done), static_cast<int64_t>(layout.bytes()));
             }});
  return {store.full_path(step), step};
}

}  // namespace

ExitCode export_checkpoint(const ExportArguments& arguments) {
  const auto source = open_tensors(arguments.from);
  const std::vector<WrittenTensor> tensors = chosen(*source, arguments);
  const std::vector<std::string> files = written(tensors, arguments);
  const uint64_t bytes = bytes_in(tensors);
  const nlohmann::json json = {{"tensors", tensors.size()},
                               {"bytes", bytes},
                               {"files", files},
                               {"left_out", source->left_out()}};
  return print_result(
      arguments.json, json,
      fmt::format("{}, {:.1f} MB, of {} {} -> {}\n{}{}", plural(tensors.size(), "tensor"),
                  1e-6 * static_cast<double>(bytes), source->format(), arguments.from,
                  fmt::join(files, ", "), without(*source), in_slices(tensors)),
      2);
}

ExitCode import_checkpoint(const ImportArguments& arguments) {
  const auto file = open_tensors(arguments.from);
  std::vector<WrittenTensor> tensors = renamed(*file, arguments);
  const size_t imported = tensors.size();
  const uint64_t imported_bytes = bytes_in(tensors);
  Manifest manifest;
  manifest.training = {{"imported", readable(arguments.from)}};
  std::unique_ptr<StoredTensors> like_source;
  const SetSource* like = nullptr;
  if (!arguments.like.empty()) {
    like_source = open_tensors(arguments.like);
    like = dynamic_cast<const SetSource*>(like_source.get());
    if (like == nullptr) {
      fail("--like {}: it is {}, and no checkpoint set: name one (step-...)", arguments.like,
           like_source->format());
    }
    tensors = replaced(*like, std::move(tensors), arguments);
    manifest.step = like->manifest().step;
    manifest.training = like->manifest().training;
  }
  if (arguments.step && like && *arguments.step != manifest.step) {
    fail("--step {}: the set of --like is that of step {}, where a run would go on",
         *arguments.step, manifest.step);
  }
  manifest.step = arguments.step.value_or(manifest.step);
  const uint64_t bytes = bytes_in(tensors);
  const ImportedSet set = write_import(tensors, std::move(manifest), arguments);
  const nlohmann::json json = {{"tensors", tensors.size()},
                               {"bytes", bytes},
                               {"path", set.path},
                               {"step", set.step},
                               {"resumable", like != nullptr},
                               {"left_out", file->left_out()}};
  const std::string next =
      like ? fmt::format("all else is that of {}: go on from it by checkpoint.resume={}",
                         arguments.like, set.path)
           : "no run goes on from it, for it has no record of a training: import "
             "it with --like SET for that";
  return print_result(
      arguments.json, json,
      fmt::format("{}, {:.1f} MB, of {} {} -> {}\n{}{}\n", plural(imported, "tensor"),
                  1e-6 * static_cast<double>(imported_bytes), file->format(), arguments.from,
                  set.path, without(*file), next),
      2);
}

}  // namespace stoker
