#include "io/dataset/data_parts.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostEntries = 20'000;  // of a folder that are looked at

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// "seg_TrainSet2017" has the words seg, train and set.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  char before = ' ';
  for (const char c : name) {
    const bool begins = !is_letter(before) || (is_capital(c) && !is_capital(before));
    if (is_letter(c) && begins) words.emplace_back();
    if (is_letter(c)) words.back() += lower_case(std::string_view(&c, 1));
    before = c;
  }
  return words;
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(words_of(name), [&](const std::string& word) {
    return std::ranges::find(wanted, word) != wanted.end();
  });
}

bool is_image(const std::string& name) {
  const std::string lower = lower_case(name);
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp",
                                              ".webp", ".tif", ".tiff"},
      [&](std::string_view end) { return lower.ends_with(end); });
}

// At any depth.
bool holds_images(const fs::path& folder) {
  constexpr auto kOptions = fs::directory_options::skip_permission_denied |
                            fs::directory_options::follow_directory_symlink;
  std::error_code error;
  int64_t count = 0;
  for (fs::recursive_directory_iterator at(folder, kOptions, error);
       at != fs::recursive_directory_iterator() && count < kMostEntries; at.increment(error)) {
    if (error) return false;
    if (is_image(at->path().filename().string())) return true;
    ++count;
  }
  return false;
}

bool has_class_folders(const fs::path& part) {
  return std::ranges::any_of(names_in(part).folders,
                             [&](const std::string& name) { return holds_images(part / name); });
}

}  // namespace

bool names_training_part(const std::string& name) { return has_word(name, {"train", "training"}); }

bool names_testing_part(const std::string& name) {
  return has_word(name, {"test", "tests", "testing", "val", "valid", "validation", "eval",
                         "evaluation", "dev", "holdout", "pred", "unlabeled", "unlabelled"});
}

void prefer_labelled(std::vector<std::string>& testing_parts) {
  std::stable_partition(testing_parts.begin(), testing_parts.end(), [](const std::string& name) {
    return lower_case(name).find("val") != name.npos;
  });
}

FolderNames names_in(const fs::path& folder) {
  FolderNames names;
  int64_t count = 0;
  std::error_code error;
  fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::directory_iterator() && count < kMostEntries; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (!name.starts_with('.'))
      (at->is_directory(unknown) ? names.folders : names.files).push_back(name);
    ++count;
  }
  if (error) {
    throw Error(ExitCode::environment,
                to_text(folder.string()) + " can't be listed: " + error.message());
  }
  std::ranges::sort(names.folders);
  std::ranges::sort(names.files);
  return names;
}

ImageParts image_parts(const fs::path& root) {
  const FolderNames names = names_in(root);
  ImageParts parts;
  parts.loose = std::ranges::any_of(names.files, is_image);
  std::vector<std::string> train, test;
  for (const std::string& name : names.folders) {
    if (!holds_images(root / name)) continue;
    parts.folders.push_back(name);
    if (names_training_part(name)) {
      train.push_back(name);
    } else if (names_testing_part(name)) {
      test.push_back(name);
    }
  }
  const bool all = train.size() + test.size() == parts.folders.size();
  if (train.empty() || !all || !has_class_folders(root / train.front())) return parts;
  parts.train = train.front();
  prefer_labelled(test);
  for (const std::string& name : test) {
    if (!has_class_folders(root / name)) {
      parts.unlabelled.push_back(name);
    } else if (parts.test.empty()) {
      parts.test = name;
    }
  }
  return parts;
}

}  // namespace stoker
