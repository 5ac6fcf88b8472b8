#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "io/core/error.h"
#include "io/dataset/class_names.h"
#include "io/dataset/dataset.h"
#include "io/dataset/fetch.h"
#include "io/dataset/files/class_folders.h"
#include "io/dataset/files/tier_files.h"
#include "io/dataset/split.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

// A folder of images for each class; labels are the places of the folders' names in bytewise order.
class ImageFolder final : public Dataset {
 public:
  struct Options {
    TierName storage;
    KeyPath folder;
    KeyPath test_folder;
    Strings exclude;
    bool one_class = false;
    Strings extensions{".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".bmp", ".webp", ".tif", ".tiff"};
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
      v("one_class", one_class,
        "All images in the folder, at any depth, are of one class: for images without labels.");
      v("extensions", extensions,
        "How the names of samples end, in upper or lower case. An empty one stands for names "
        "without an extension. Other files are ignored.");
      v("split", split, "Which images train and which test.");
      v("fetch", fetch,
        "The data set to download where the folder is not there: caltech101. Empty: nothing is "
        "downloaded.");
      v("max_file_bytes", max_file_bytes, "A file with more bytes than this is a bad sample.");
      v("on_error", on_error, "What to do with bad samples.");
    }
    DatasetInfo info() const { return {storage.name}; }
    void check(const Section& section) const {
      if (!test_folder.value.empty() && (split.train_per_class || split.test_fraction)) {
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
    if (!options.fetch.empty()) obtain(options, inputs);
    ClassFolders folders = list(options, options.folder, "folder");
    check_excluded(options, folders);
    if (!options.one_class) folders.refuse_parts();
    for (auto& [name, samples] : folders.classes) {
      if (samples.empty()) folders.fail_without_images(name);
      add_class(name, samples, options, inputs.seed);
    }
    if (!options.test_folder.value.empty()) add_tests(options, folders);
    leave_out(std::move(folders.ignored));
    if (!inputs.notify) return;
    report_ignored(inputs.notify);
    if (options.one_class) {
      report_untested(options, inputs.notify);
    } else {
      report_doubts(options, folders, inputs.notify);
    }
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

  void obtain(const Options& options, const Inputs& inputs) {
    FetchOptions fetching;
    if (!options.folder.value.empty()) fetching.folder = options.folder.value + "/";
    fetching.notify = inputs.notify;
    fetch(find_recipe(options.fetch), tier_, fetching);
  }

  ClassFolders list(const Options& options, const KeyPath& folder, const char* option) const {
    Strings endings;
    for (const std::string& text : options.extensions) endings.push_back(plain_ending(text));
    return {{tier_, options.storage.name, folder.value, option},
            endings,
            options.exclude,
            options.one_class};
  }

  static void check_excluded(const Options& options, const ClassFolders& folders) {
    Strings known = folders.excluded;
    for (const auto& [name, samples] : folders.classes) known.push_back(name);
    for (const std::string& name : options.exclude) {
      if (is_system_folder(name) || std::ranges::find(known, name) != known.end()) continue;
      throw Error(ExitCode::config, "dataset: exclude: there is no class '" + name + "'" +
                                        what_is_there(name, std::move(known)));
    }
  }

  void add_class(const std::string& name, std::vector<SampleInfo>& samples, const Options& options,
                 uint64_t seed) {
    const auto label = static_cast<int64_t>(classes_.size());
    classes_.push_back(name);
    for (SampleInfo& sample : samples) sample.label = label;
    const ClassSplit split = split_class(options.split, samples.size(), name, seed);
    for (const size_t i : split.train) train_.push_back(samples[i]);
    for (const size_t i : split.test) test_.push_back(samples[i]);
  }

  // Only classes that also train are tested.
  void add_tests(const Options& options, ClassFolders& all) {
    ClassFolders folders = list(options, options.test_folder, "test_folder");
    for (auto& [name, samples] : folders.classes) {
      const auto at = std::ranges::lower_bound(classes_, name);
      if (at == classes_.end() || *at != name) {
        throw Error(ExitCode::environment, "dataset: test_folder has a class '" + name +
                                               "' of which there are no training images" +
                                               what_is_there(name, classes_) +
                                               ": remove its folder, or add some");
      }
      for (SampleInfo& sample : samples) {
        sample.label = at - classes_.begin();
        test_.push_back(std::move(sample));
      }
    }
    if (test_.empty()) folders.fail_without_images(folders.classes.begin()->first);
    std::ranges::move(folders.ignored, std::back_inserter(all.ignored));
  }

  void report_ignored(const Notify& notify) const {
    const size_t count = ignored().size();
    if (count == 0) return;
    notify(fmt::format(
        "dataset: ignored {} of a class: {}",
        count == 1 ? "1 file that is no image" : fmt::format("{} files that are no images", count),
        some_of(ignored())));
  }

  void report_doubts(const Options& options, const ClassFolders& folders,
                     const Notify& notify) const {
    doubt_classes(classes_, notify);
    const std::string& tests = options.test_folder.value;
    if (!tests.empty() && tests == options.folder.value) {
      notify("dataset: dataset.test_folder is dataset.folder, so the tests are trained on");
    }
    const Strings inner = folders_in_all(folders);
    if (inner.size() > 1 || (inner.size() == 1 && classes_.size() == 1)) {
      notify(fmt::format(
          "dataset: the images of every class lie in {}: if these are the classes, set "
          "dataset.folder={}",
          some_of(inner), plain_key("./" + options.folder.value + "/" + classes_.front())));
    }
    report_untested(options, notify);
  }

  // The folders in which the images of each class lie; empty: each has others, or none.
  Strings folders_in_all(const ClassFolders& folders) const {
    Strings inner = folders.folders_in(classes_.front());
    for (size_t i = 1; i < classes_.size() && !inner.empty(); ++i) {
      if (folders.folders_in(classes_[i]) != inner) inner.clear();
    }
    return inner;
  }

  // Where some images should test.
  void report_untested(const Options& options, const Notify& notify) const {
    const bool apart = !options.test_folder.value.empty();
    if (!apart && options.split.test_fraction.value_or(0) == 0) return;
    std::vector<bool> tested(classes_.size());
    for (const SampleInfo& sample : test_) tested[static_cast<size_t>(sample.label)] = true;
    Strings untested;
    for (size_t i = 0; i < classes_.size(); ++i) {
      if (!tested[i]) untested.push_back(classes_[i]);
    }
    if (untested.empty()) return;
    notify(fmt::format(
        "dataset: {} of {} classes {} no test image: {}; {}", untested.size(), classes_.size(),
        untested.size() == 1 ? "has" : "have", some_of(untested),
        apart ? "add some to dataset.test_folder" : "raise dataset.split.test_fraction"));
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
