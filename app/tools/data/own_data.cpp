#include "app/tools/data/own_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/letters.h"
#include "io/dataset/class_doubts.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr int64_t kMostEntries = 20'000;  // of a folder that are looked at

// What lies directly in a folder.
struct Names {
  Strings folders, files;
};

Names names_in(const fs::path& folder) {
  Names names;
  int64_t count = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code error;
    (entry.is_directory(error) ? names.folders : names.files).push_back(name);
    if (++count == kMostEntries) break;
  }
  std::ranges::sort(names.folders);
  std::ranges::sort(names.files);
  return names;
}

bool ends_with_one_of(const std::string& name, const Strings& endings) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(endings, [&](const std::string& end) { return lower.ends_with(end); });
}

bool is_image(const std::string& name) {
  return ends_with_one_of(
      name, {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".webp", ".tif", ".tiff"});
}

bool has_image(const Names& names) { return std::ranges::any_of(names.files, is_image); }

// At any depth.
bool holds_images(const fs::path& folder) {
  std::error_code error;
  int64_t count = 0;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                           error);
       at != fs::recursive_directory_iterator() && count < kMostEntries; at.increment(error)) {
    if (error) return false;
    if (is_image(at->path().filename().string())) return true;
    ++count;
  }
  return false;
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

std::optional<Found> shards(const fs::path& root, const Names& names) {
  const auto first = [&](const char* part) {
    return std::ranges::find_if(names.files, [&](const std::string& name) {
      return lower_case(name).find(part) != std::string::npos;
    });
  };
  const auto patterns = [&](const char* type, const char* what, const std::string& all) {
    Found found{what, root, {{"type", word(type)}, {"storage", word("data")}}};
    const bool trains = std::ranges::any_of(
        names.files, [](const std::string& name) { return name.starts_with("train"); });
    if (!trains) {
      found.dataset.emplace_back("train", quoted_text(all));
      found.dataset.emplace_back("test", quoted_text(""));
    }
    return found;
  };
  if (std::ranges::any_of(names.files, [](const std::string& n) { return n.ends_with(".tar"); })) {
    return patterns("tar_shards", "shards of tar", "*.tar");
  }
  if (first(".tfrecord") != names.files.end()) {
    return patterns("tfrecord", "shards of TFRecord", "*.tfrecord*");
  }
  if (std::ranges::find(names.files, "train.csv") != names.files.end()) {
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

std::optional<Found> images(const fs::path& root, const Names& names) {
  const auto tenth = [] { return mapping({{"test_fraction", word("0.1")}}); };
  Strings classes, train, test;
  for (const std::string& name : names.folders) {
    if (!holds_images(root / name)) continue;
    classes.push_back(name);
    if (names_training_part(name)) train.push_back(name);
    if (names_testing_part(name)) test.push_back(name);
  }
  if (!train.empty() && train.size() + test.size() == classes.size() &&
      !names_in(root / train.front()).folders.empty()) {
    Entries parts{{"folder", quoted_text(train.front())}};
    // The labels of a `test` are often kept back, those of a `val` never.
    std::stable_partition(test.begin(), test.end(), [](const std::string& name) {
      return lower_case(name).find("val") != std::string::npos;
    });
    const bool labels = !test.empty() && !names_in(root / test.front()).folders.empty();
    parts.emplace_back(labels ? "test_folder" : "split",
                       labels ? quoted_text(test.front()) : tenth());
    return image_folder("a folder of images for each class, in parts", root, std::move(parts));
  }
  if (classes.size() == 1 && !has_image(names)) {
    // A lone folder above those of the classes, as archives have it.
    const Names below = names_in(root / classes.front());
    if (!has_image(below) && !below.folders.empty()) return images(root / classes.front(), below);
  }
  if (!classes.empty()) {
    return image_folder("a folder of images for each class", root, {{"split", tenth()}});
  }
  if (has_image(names)) {
    return image_folder("images without classes", root,
                        {{"one_class", word("true")}, {"split", tenth()}});
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::string& path, const std::string& text) {
  throw Error(ExitCode::environment, path + ": " + text);
}

Found find_data(const std::string& path, const fs::path& root, const Names& names) {
  if (auto found = shards(root, names)) return *found;
  if (auto found = images(root, names)) return *found;
  for (const std::string& name : names.files) {
    if (!ends_with_one_of(name, {".h5", ".hdf5", ".mdb"})) continue;
    fail(path, name +
                   " has samples that only a configuration can describe: begin with "
                   "configs/hepcnnb.yaml or `stoker describe dataset`");
  }
  Strings all = names.folders;
  all.insert(all.end(), names.files.begin(), names.files.end());
  fail(path, "holds no images, no shards (.tar, .tfrecord) and no list train.csv" +
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
  Names names;
  const fs::path named = root;
  if (fs::is_directory(root)) {
    names = names_in(root);
  } else {
    names.files.push_back(root.filename().string());
    root = root.parent_path();
  }
  Found found = find_data(path, root, names);
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
