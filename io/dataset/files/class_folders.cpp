#include "io/dataset/files/class_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"
#include "io/dataset/data_parts.h"
#include "io/dataset/fetch.h"
#include "io/storage/file_tree.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

constexpr const char* kHint =
    " (put one folder of images per class there; Caltech-101 is obtained by "
    "dataset.fetch=caltech101 or `stoker dataset fetch`)";

std::string_view name_in(std::string_view key) { return key.substr(key.rfind('/') + 1); }

// What these files are, the most frequent extension first.
using Kinds = std::vector<std::pair<std::string, int64_t>>;
Kinds kinds_of(const Strings& keys) {
  std::map<std::string, int64_t> counts;
  for (const std::string& key : keys) ++counts[key_extension(key)];
  Kinds kinds(counts.begin(), counts.end());
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &Kinds::value_type::second);
  return kinds;
}

// "8 .tif, 1 without an extension and 3 more kinds".
std::string kinds_text(const Kinds& kinds) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, kinds.size()); ++i) {
    const auto& [extension, count] = kinds[i];
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", count,
                        extension.empty() ? "without an extension" : extension);
  }
  if (kinds.size() > kMost) text += fmt::format(" and {} more kinds", kinds.size() - kMost);
  return text;
}

}  // namespace

std::string plain_ending(const std::string& text) {
  std::string ending = lower_case(text);
  if (ending.starts_with('*')) ending.erase(0, 1);
  const bool plain = ending.empty() || ending.find('.') != ending.npos;
  return plain ? ending : "." + ending;
}

ClassFolders::ClassFolders(TierFolder place, const Strings& endings, const Strings& exclude,
                           bool one_class)
    : place_(std::move(place)), prefix_(place_.prefix()), endings_(endings), one_class_(one_class) {
  const std::vector<ObjectInfo> found = objects(exclude);
  if (found.empty() && excluded.empty() && !prefix_.empty()) place_.fail_absent();
  if (std::ranges::binary_search(found, prefix_ + kFetchMarker, {}, &ObjectInfo::key)) {
    throw Error(ExitCode::environment,
                "dataset: the data in tier '" + place_.tier_name +
                    "' are incomplete, for fetching them was interrupted: continue with "
                    "dataset.fetch=caltech101 or `stoker dataset fetch`");
  }
  for (const ObjectInfo& object : found) add(object);
  for (const std::string& name : exclude) {
    if (classes.erase(name) == 0) continue;
    excluded.push_back(name);
    const std::string below = prefix_ + name + "/";
    std::erase_if(ignored, [&](const std::string& key) { return key.starts_with(below); });
  }
  if (classes.empty()) fail_empty();
}

std::vector<ObjectInfo> ClassFolders::objects(const Strings& exclude) {
  try {
    return place_.tier.list(prefix_);
  } catch (const IoError& error) {
    const int code = error.errno_value();
    const bool forbidden = code == EACCES || code == EPERM;
    if (forbidden && files_of(place_.tier) != nullptr) return objects_by_class(exclude);
    if (code != ENOENT) throw;
    throw Error(ExitCode::environment, std::string("dataset: ") + error.what() + kHint);
  }
}

// Where something may not be read: class by class, without those that are left out.
std::vector<ObjectInfo> ClassFolders::objects_by_class(const Strings& exclude) {
  std::vector<ObjectInfo> found;
  for (const std::string& name : files_of(place_.tier)->list(place_.folder)) {
    if (is_temporary(name)) continue;
    if (std::ranges::find(exclude, name) != exclude.end()) {
      excluded.push_back(name);
      continue;
    }
    if (is_system_folder(name)) {
      found.push_back({prefix_ + name, 0});
      continue;
    }
    try {
      std::vector<ObjectInfo> of_class = place_.tier.list(prefix_ + name + "/");
      if (of_class.empty()) of_class.push_back({prefix_ + name, 0});  // a file
      std::ranges::move(of_class, std::back_inserter(found));
    } catch (const IoError& error) {
      throw Error(ExitCode::environment,
                  fmt::format("dataset: {}: make it readable, or leave the class out with "
                              "dataset.exclude=[{}]",
                              error.what(), name));
    }
  }
  std::ranges::sort(found, {}, &ObjectInfo::key);
  return found;
}

bool ClassFolders::is_sample(std::string_view name) const {
  if (name.empty() || name.starts_with('.')) return false;
  const std::string lower = lower_case(name);
  return std::ranges::any_of(endings_, [&](const std::string& ending) {
    if (ending.empty()) return lower.find('.') == lower.npos;
    return lower.size() > ending.size() && lower.ends_with(ending);
  });
}

void ClassFolders::add(const ObjectInfo& object) {
  const std::string_view path = std::string_view(object.key).substr(prefix_.size());
  const std::string_view folder = path.substr(0, path.find('/'));
  const bool lone = folder.size() == path.size();
  if ((lone && !one_class_) || is_system_folder(folder)) {
    ignored.push_back(object.key);
    return;
  }
  std::vector<SampleInfo>& samples = classes[one_class_ ? kOneClass : std::string(folder)];
  if (is_sample(name_in(path)) && !in_system_folder(path)) {
    samples.push_back({object.key, 0, object.bytes});
  } else if (!path.ends_with('/')) {
    ignored.push_back(object.key);
  }
}

Strings ClassFolders::folders_in(const std::string& name) const {
  Strings folders;
  for (const SampleInfo& sample : classes.at(name)) {
    const std::string_view path = std::string_view(sample.key).substr(prefix_.size());
    const std::string_view below = path.substr(name.size() + 1);
    if (below.find('/') == below.npos) return {};
    add_first_folder(below, folders);
  }
  return folders;
}

void ClassFolders::refuse_parts() const {
  Strings train, test;
  for (const auto& [name, samples] : classes) {
    if (samples.empty()) continue;
    const bool trains = names_training_part(name);
    if ((!trains && !names_testing_part(name)) || folders_in(name).empty()) return;
    (trains ? train : test).push_back(name);
  }
  if (train.empty()) return;
  prefer_labelled(test);
  const std::string tests =
      test.empty() ? "" : " and dataset.test_folder=" + prefix_ + test.front();
  Strings all = train;
  std::ranges::copy(test, std::back_inserter(all));
  throw Error(
      ExitCode::config,
      fmt::format("dataset: {} has no classes but the parts of a data set, {}, and the "
                  "classes lie in these: set dataset.{}={}{}{}",
                  place_.text(), some_of(all), place_.option, prefix_, train.front(), tests));
}

void ClassFolders::fail_empty() const {
  Strings files;
  bool images = false;
  for (const std::string& key : ignored) {
    files.push_back(key.substr(prefix_.size()));
    images = images || (files.back().find('/') == std::string::npos && is_sample(files.back()));
  }
  const std::string above = images && !prefix_.empty()
                                ? ": set dataset." + place_.option + " to the folder above it"
                                : "";
  throw Error(ExitCode::environment, "dataset: " + place_.text() + " holds no class folders" +
                                         (files.empty() ? "" : ", only " + some_of(files)) + above +
                                         kHint);
}

void ClassFolders::fail_without_images(const std::string& name) const {
  Strings files;
  for (const std::string& key : ignored) {
    const bool hidden =
        name_in(key).starts_with('.') || in_system_folder(key.substr(prefix_.size()));
    if (key.starts_with(prefix_ + name + "/") && !hidden) files.push_back(key);
  }
  const Kinds kinds = kinds_of(files);
  std::string mend = "it is empty: add some, remove the folder, or";
  if (!kinds.empty()) {
    const std::string& most = kinds.front().first;
    mend = fmt::format("its files are {}: to take them set dataset.extensions=[{}], or",
                       kinds_text(kinds), most.empty() ? "''" : most);
  }
  throw Error(ExitCode::environment,
              fmt::format("dataset: class '{}' has no images ({}): {} leave it out with "
                          "dataset.exclude=[{}]",
                          name, fmt::join(endings_, ", "), mend, name));
}

}  // namespace stoker
