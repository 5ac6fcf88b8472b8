#include "app/tools/data/own_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/data_parts.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

bool ends_with_one_of(const std::string& name, const Strings& endings) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(endings, [&](const std::string& end) { return lower.ends_with(end); });
}

using Entries = std::vector<std::pair<const char*, Node>>;

Node mapping(const Entries& entries) {
  Node node = Node::map();
  for (const auto& [key, value] : entries) node.entries.push_back({key, {}, value});
  return node;
}

Node word(const std::string& text) { return Node::text(text); }

Node quoted_text(const std::string& text) {
  Node node = Node::text(text);
  node.quoted = true;
  return node;
}

// The data set, and the folder that is its tier's root.
struct Found {
  std::string what;
  fs::path root;
  Entries dataset;
};

// "validation" of "validation-00000-of-00004.parquet".
std::string first_word(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return {name.begin(), std::ranges::find_if_not(name, is_letter)};
}

// The shards among these files that have a part of their name in common; nothing: there are none.
std::optional<Found> shards_of(const fs::path& root, const Strings& files, const char* type,
                               const std::string& what, const std::string& end) {
  Strings train, test, all;
  for (const std::string& name : files) {
    // TFRecord's shards often go on behind the end: "train.tfrecord-00000-of-00004".
    const bool fits = end == ".tfrecord" ? name.find(end) != name.npos : name.ends_with(end);
    if (!fits || name.ends_with(".index.json")) continue;
    all.push_back(name);
    if (names_training_part(first_word(name))) train.push_back(name);
    if (names_testing_part(first_word(name))) test.push_back(name);
  }
  if (all.empty()) return std::nullopt;
  prefer_labelled(test);
  const std::string rest = "*" + end + (end == ".tfrecord" ? "*" : "");
  const auto pattern = [&](const Strings& names) {
    return quoted_text(names.empty() ? "" : first_word(names.front()) + rest);
  };
  Found found{what, root, {{"type", word(type)}, {"storage", word("data")}}};
  found.dataset.emplace_back("train", train.empty() ? quoted_text(rest) : pattern(train));
  found.dataset.emplace_back("test", train.empty() ? quoted_text("") : pattern(test));
  return found;
}

std::optional<Found> shards(const fs::path& root, const Strings& files) {
  if (auto found = shards_of(root, files, "tar_shards", "shards of tar", ".tar")) return found;
  if (auto found = shards_of(root, files, "tfrecord", "shards of TFRecord", ".tfrecord")) {
    return found;
  }
  if (auto found = shards_of(root, files, "parquet", "shards of Parquet", ".parquet")) return found;
  if (std::ranges::find(files, "train.csv") != files.end()) {
    return Found{"a list of files, train.csv",
                 root,
                 {{"type", word("file_list")}, {"storage", word("data")}}};
  }
  return std::nullopt;
}

Found image_folder(const std::string& what, const fs::path& root, Entries more) {
  Found found{what, root, {{"type", word("image_folder")}, {"storage", word("data")}}};
  for (auto& entry : more) found.dataset.push_back(std::move(entry));
  return found;
}

std::optional<Found> images(const fs::path& root, const ImageParts& parts) {
  const auto tenth = [] { return mapping({{"test_fraction", word("0.1")}}); };
  if (!parts.train.empty()) {
    Entries more{{"folder", quoted_text(parts.train)}};
    const bool tested = !parts.test.empty();
    more.emplace_back(tested ? "test_folder" : "split", tested ? quoted_text(parts.test) : tenth());
    return image_folder("a folder of images for each class, in parts", root, std::move(more));
  }
  if (parts.folders.size() == 1 && !parts.loose) {
    // A lone folder above those of the classes, as archives have it.
    const ImageParts below = image_parts(root / parts.folders.front());
    if (!below.loose && !below.folders.empty()) return images(root / parts.folders.front(), below);
  }
  if (!parts.folders.empty()) {
    return image_folder("a folder of images for each class", root, {{"split", tenth()}});
  }
  if (parts.loose) {
    return image_folder("images without classes", root,
                        {{"one_class", word("true")}, {"split", tenth()}});
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::string& path, const std::string& text) {
  throw Error(ExitCode::environment, path + ": " + text);
}

Found find_data(const std::string& path, const fs::path& root, const FolderNames& names,
                const ImageParts& parts) {
  const bool classes = !parts.train.empty() || parts.folders.size() > 1;
  std::optional<Found> shard = shards(root, names.files);
  // An archive that the folders of classes were unpacked from may lie there still.
  if (shard && !classes) return *shard;
  if (auto found = images(root, parts)) {
    if (shard) found->what += "; " + shard->what + " lie there, too, and are passed over";
    return *found;
  }
  for (const std::string& name : names.files) {
    if (ends_with_one_of(name, {".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip"})) {
      fail(path, name +
                     " is a packed archive, in which no sample can be read by itself: unpack it "
                     "there, and try again");
    }
    if (!ends_with_one_of(name, {".h5", ".hdf5", ".mdb"})) continue;
    fail(path, name +
                   " has samples that only a configuration can describe: begin with "
                   "configs/hepcnnb.yaml or `stoker describe dataset`");
  }
  Strings all = names.folders;
  all.insert(all.end(), names.files.begin(), names.files.end());
  fail(path, "holds no images, no shards (.tar, .tfrecord, .parquet) and no list train.csv" +
                 (all.empty() ? std::string("; it is empty") : "; there are " + some_of(all)));
}

// Fit for run.name, and for a file.
std::string plain_name(const fs::path& folder) {
  std::string name = folder.filename().string().substr(0, 60);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '_' && c != '.') c = '-';
  }
  while (name.starts_with('.') || name.starts_with('-')) name.erase(0, 1);
  return name.empty() ? "own-data" : name;
}

}  // namespace

OwnData own_data(const std::string& path) {
  std::error_code error;
  fs::path root = fs::canonical(path, error);
  if (error) fail(path, "cannot be found: " + error.message());
  FolderNames names;
  ImageParts parts;
  const fs::path named = root;
  if (fs::is_directory(root)) {
    names = names_in(root);
    parts = image_parts(root);
  } else {
    names.files.push_back(root.filename().string());
    root = root.parent_path();
  }
  Found found = find_data(path, root, names, parts);
  if (names.files.size() == 1 && root != named)
    found.dataset[2].second = quoted_text(names.files[0]);
  OwnData own;
  own.name = plain_name(named);
  own.what = found.what;
  own.experiment = mapping(
      {{"run", mapping({{"name", quoted_text(own.name)}})},
       {"storage", mapping({{"data", mapping({{"type", word("posix")},
                                              {"root", quoted_text(found.root.string())}})}})},
       {"dataset", mapping(found.dataset)},
       {"decoder", mapping({{"type", word("auto")}, {"size", word("224")}})},
       {"loader", mapping({{"type", word("prefetched")}, {"batch_size", word("32")}})}});
  return own;
}

}  // namespace stoker
