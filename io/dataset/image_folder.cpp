#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <utility>

#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/dataset/fetch.h"
#include "io/dataset/file_per_sample.h"
#include "io/dataset/split.h"

namespace stoker {
namespace {

constexpr const char* kHint =
    "put one folder of images per class there; Caltech-101 is obtained by dataset.fetch=caltech101 "
    "or `stoker dataset fetch`";
constexpr size_t kNamed = 5;

using Extensions = std::vector<std::string>;

bool is_sample(const std::string& name, const Extensions& extensions) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return false;
  std::string extension = name.substr(dot);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name[0] != '.' && std::ranges::find(extensions, extension) != extensions.end();
}

// The objects below a prefix, sorted into classes: "<class>/<anything>/<name>.<extension>".
struct Folders {
  Extensions extensions;
  std::map<std::string, std::vector<SampleInfo>> classes = {};
  std::vector<std::string> ignored = {};

  void add(const std::string& prefix, const ObjectInfo& object) {
    const std::string path = object.key.substr(prefix.size());
    const size_t slash = path.find('/');
    if (slash == std::string::npos || path[0] == '.') {
      ignored.push_back(object.key);
      return;
    }
    std::vector<SampleInfo>& samples = classes[path.substr(0, slash)];
    if (is_sample(path.substr(path.rfind('/') + 1), extensions)) {
      samples.push_back({object.key, 0, object.bytes});
    } else if (!path.ends_with('/')) {
      ignored.push_back(object.key);
    }
  }

  void exclude(const std::string& name, const std::string& prefix) {
    std::vector<std::string> known;
    for (const auto& [class_name, samples] : classes) known.push_back(class_name);
    if (classes.erase(name) == 0) {
      throw Error(ExitCode::config,
                  "dataset: exclude: there is no class '" + name + "'" + suggestion(name, known));
    }
    std::erase_if(ignored,
                  [&](const std::string& key) { return key.starts_with(prefix + name + "/"); });
  }
};

// A folder of images for each class; labels are the places of the folders' names in bytewise order.
class ImageFolder final : public Dataset {
 public:
  struct Options {
    TierName storage;
    std::string folder;
    std::string test_folder;
    std::vector<std::string> exclude;
    Extensions extensions{".jpg", ".jpeg", ".png", ".bmp", ".webp"};
    SplitOptions split;
    std::string fetch;
    ByteSize max_file_bytes{uint64_t{64} << 20};
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage, same_results("The tier that holds the class folders."));
      v("folder", folder, "The folder of that tier that holds them. Empty: its root does.");
      v("test_folder", test_folder,
        "Another folder of that tier with class folders, for the test images (ImageNet's val). It "
        "replaces `split`. Empty: `split` chooses the test images.");
      v("exclude", exclude, "The names of classes to leave out.");
      v("extensions", extensions,
        "How the names of samples end, in lower case. Other files are ignored.");
      v("split", split, "Which images train and which test.");
      v("fetch", fetch,
        "The data set to download where the folder is not there: caltech101. Empty: nothing is "
        "downloaded.");
      v("max_file_bytes", max_file_bytes, "A file with more bytes than this is a bad sample.");
      v("on_error", on_error, "What to do with bad samples.");
    }
    DatasetInfo info() const { return {storage.name}; }
    void check(const Section& section) const {
      if (!test_folder.empty() && (split.train_per_class || split.test_fraction)) {
        section.fail("split", "must not be there beside test_folder, which says what tests");
      }
      const std::vector<std::string> known = recipe_names();
      if (fetch.empty() || std::count(known.begin(), known.end(), fetch) > 0) return;
      section.fail("fetch",
                   "names no known data set, got '" + fetch + "'" + suggestion(fetch, known));
    }
  };

  ImageFolder(const Options& options, const Inputs& inputs)
      : Dataset(options.on_error),
        tier_(inputs.tiers.at(options.storage.name)),
        files_(tier_, options.max_file_bytes.bytes) {
    const std::string prefix = as_prefix(options.folder);
    if (!options.fetch.empty()) obtain(options.fetch, prefix, inputs);
    Folders folders = list(prefix, options);
    for (const std::string& name : options.exclude) folders.exclude(name, prefix);
    if (folders.classes.empty()) fail_empty(prefix, options.storage.name);
    for (auto& [name, samples] : folders.classes) add_class(name, samples, options, inputs.seed);
    if (!options.test_folder.empty()) add_tests(as_prefix(options.test_folder), options, folders);
    leave_out(std::move(folders.ignored));
    report_ignored(inputs.notify);
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return static_cast<int64_t>(of(split).size()); }
  SampleInfo info(Split split, int64_t index) const override {
    return of(split).at(static_cast<size_t>(index));
  }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    const SampleInfo& sample = of(split).at(static_cast<size_t>(index));
    return {files_.read(sample.key, sample.bytes, scratch), sample.label};
  }
  void expect(Split split, std::span<const int64_t> indices) const override {
    std::vector<ObjectRange> reads;
    for (const int64_t index : indices) {
      const SampleInfo& sample = of(split).at(static_cast<size_t>(index));
      reads.push_back(files_.request(sample.key, sample.bytes));
    }
    tier_.expect(reads);
  }

 private:
  const std::vector<SampleInfo>& of(Split split) const {
    return split == Split::train ? train_ : test_;
  }

  static std::string as_prefix(const std::string& folder) {
    return folder.empty() || folder.ends_with('/') ? folder : folder + '/';
  }

  void obtain(const std::string& name, const std::string& prefix, const Inputs& inputs) {
    FetchOptions options;
    options.folder = prefix;
    options.notify = inputs.notify;
    fetch(find_recipe(name), tier_, options);
  }

  [[noreturn]] static void fail_empty(const std::string& prefix, const std::string& tier) {
    const std::string place = prefix.empty() ? "" : "folder '" + prefix + "' of ";
    throw Error(ExitCode::environment,
                "dataset: " + place + "tier '" + tier + "' holds no class folders (" + kHint + ")");
  }

  Folders list(const std::string& prefix, const Options& options) const {
    std::vector<ObjectInfo> objects;
    try {
      objects = tier_.list(prefix);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT) throw;
      throw Error(ExitCode::environment,
                  std::string("dataset: ") + error.what() + " (" + kHint + ")");
    }
    Folders folders{.extensions = options.extensions};
    for (const ObjectInfo& object : objects) {
      if (object.key == prefix + kFetchMarker) {
        throw Error(ExitCode::environment,
                    "dataset: the data in tier '" + options.storage.name +
                        "' are incomplete, for fetching them was interrupted: continue with "
                        "dataset.fetch=caltech101 or `stoker dataset fetch`");
      }
      folders.add(prefix, object);
    }
    return folders;
  }

  void add_class(const std::string& name, std::vector<SampleInfo>& samples, const Options& options,
                 uint64_t seed) {
    if (samples.empty()) {
      throw Error(ExitCode::environment,
                  "dataset: class '" + name + "' has no images (" +
                      fmt::format("{}", fmt::join(options.extensions, ", ")) +
                      "): add some, remove the folder, or leave it out with dataset.exclude=[" +
                      name + "]");
    }
    const auto label = static_cast<int64_t>(classes_.size());
    classes_.push_back(name);
    for (SampleInfo& sample : samples) sample.label = label;
    const ClassSplit split = split_class(options.split, samples.size(), name, seed);
    for (const size_t i : split.train) train_.push_back(samples[i]);
    for (const size_t i : split.test) test_.push_back(samples[i]);
  }

  // Only classes that also train are tested.
  void add_tests(const std::string& prefix, const Options& options, Folders& all) {
    Folders folders = list(prefix, options);
    for (const std::string& name : options.exclude) folders.classes.erase(name);
    for (auto& [name, samples] : folders.classes) {
      const auto at = std::ranges::lower_bound(classes_, name);
      if (at == classes_.end() || *at != name) {
        throw Error(ExitCode::environment, "dataset: test_folder has a class '" + name +
                                               "' of which there are no training images" +
                                               suggestion(name, classes_) +
                                               ": remove its folder, or add some");
      }
      for (SampleInfo& sample : samples) {
        sample.label = at - classes_.begin();
        test_.push_back(std::move(sample));
      }
    }
    if (test_.empty()) fail_empty(prefix, options.storage.name);
    std::ranges::move(folders.ignored, std::back_inserter(all.ignored));
  }

  void report_ignored(const Notify& notify) const {
    const std::vector<std::string>& left_out = ignored();
    if (left_out.empty() || !notify) return;
    std::string names;
    for (size_t i = 0; i < std::min(kNamed, left_out.size()); ++i) {
      names += (i == 0 ? "" : ", ") + left_out[i];
    }
    if (left_out.size() > kNamed) names += fmt::format(" and {} more", left_out.size() - kNamed);
    notify(fmt::format("dataset: ignored {} that {}: {}",
                       left_out.size() == 1 ? "1 file" : fmt::format("{} files", left_out.size()),
                       left_out.size() == 1 ? "is no image of a class" : "are no images of a class",
                       names));
  }

  Storage& tier_;
  const FilePerSample files_;
  std::vector<std::string> classes_;
  std::vector<SampleInfo> train_;
  std::vector<SampleInfo> test_;
};

STOKER_REGISTER(Dataset, "image_folder", ImageFolder);

}  // namespace
}  // namespace stoker
