#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/class_names.h"
#include "io/dataset/dataset.h"
#include "io/dataset/files/listed_files.h"
#include "io/dataset/files/tier_files.h"
#include "io/storage/keys.h"

namespace stoker {
namespace {

// Sorted by key. Null: there is no such object.
const ObjectInfo* find_object(const std::vector<ObjectInfo>& objects, const std::string& key) {
  const auto found = std::ranges::lower_bound(objects, key, {}, &ObjectInfo::key);
  return found == objects.end() || found->key != key ? nullptr : &*found;
}

bool may_be_list(const std::string& key) {
  const std::string extension = key_extension(key);
  return extension == ".csv" || extension == ".tsv" || extension == ".txt";
}

// What a message says of an object that is not there; those that may be lists come first, or last.
// Only so many names are compared.
std::string objects_instead(const std::string& wanted, const std::vector<ObjectInfo>& objects,
                            bool lists_first) {
  constexpr size_t kMostCompared = 2'000;
  std::vector<std::string> names, others;
  for (const ObjectInfo& object : objects) {
    if (object.key.ends_with('/') || in_system_folder(object.key)) continue;
    (may_be_list(object.key) == lists_first ? names : others).push_back(object.key);
  }
  std::ranges::move(others, std::back_inserter(names));
  names.resize(std::min(names.size(), kMostCompared));
  return what_is_there(wanted, std::move(names));
}

// Files of a tier that a list names, each with its label.
class FileList final : public Dataset {
 public:
  struct Options {
    TierName storage;
    KeyPath train{"train.csv"};
    KeyPath test;
    KeyPath folder;
    KeyPath classes{"classes.txt"};
    int64_t label_offset = 0;
    ByteSize max_file_bytes{uint64_t{64} << 20};
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage, same_results("The tier that holds the files and the lists."));
      v("train", train,
        "The object of that tier that lists the files to train on: CSV with one line path,label "
        "for each file. A first line path,label, or of words that name no file, is a heading.");
      v("test", test, "The same for the files to test on. Empty: nothing is tested.");
      v("folder", folder,
        "The folder of that tier where the paths of the lists begin. Empty: they begin at its "
        "root.");
      v("classes", classes,
        "The object of that tier that names the classes, one on each line, in the order of the "
        "labels. If it does not exist, labels that are all whole numbers are the numbers of the "
        "classes; other labels are their names, sorted.");
      v("label_offset", label_offset, "The number that the lists give to the first class.",
        Limits{0, 1e6});
      v("max_file_bytes", max_file_bytes, "A file with more bytes than this is a bad sample.");
      v("on_error", on_error, "What to do with bad samples.");
    }
    DatasetInfo info() const { return {storage.name}; }
    void check(const Section& section) const {
      if (train.value.empty())
        section.fail("train", "must be the name of a list such as train.csv");
    }
  };

  FileList(const Options& options, const Inputs& inputs)
      : Dataset(options.on_error),
        tier_(inputs.tiers.at(options.storage.name)),
        tier_name_(options.storage.name),
        files_(tier_, options.max_file_bytes.bytes),
        train_{options.train.value, {}},
        test_{options.test.value, {}} {
    const TierFolder folder{tier_, tier_name_, options.folder.value, "folder"};
    FileRows train{train_.name, rows(train_.name, "train")};
    FileRows test{test_.name, rows(test_.name, "test")};
    const std::vector<ObjectInfo> objects = tier_.list(folder.prefix());
    if (objects.empty() && !folder.folder.empty()) folder.fail_absent();
    for (FileRows* const list : {&train, &test})
      drop_heading(*list, folder, objects, inputs.notify);
    if (train.rows.empty()) fail_empty(train, "");
    if (test.rows.empty() && !test.name.empty()) fail_empty(test, ", or leave dataset.test out");
    const ListedLabels labels(read_class_names(tier_, options.classes.value),
                              {train.rows, test.rows}, options.label_offset);
    classes_ = labels.classes();
    add(train, folder, objects, labels, train_);
    add(test, folder, objects, labels, test_);
    report_absent(train, objects, inputs.notify);
    doubt_lists(train, test, labels, inputs.notify);
    doubt_classes(classes_, inputs.notify);
  }

  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return std::ssize(of(split).samples); }
  SampleInfo info(Split split, int64_t index) const override {
    return of(split).samples.at(static_cast<size_t>(index));
  }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    const Sample& sample = of(split).samples.at(static_cast<size_t>(index));
    if (sample.absent) {
      throw BadSample(BadReason::missing, fmt::format("{}:{} names it, and there was no such file",
                                                      of(split).name, sample.line));
    }
    return {files_.read(sample.key, sample.bytes, scratch), sample.label};
  }
  void expect(Split split, std::span<const int64_t> indices) const override {
    std::vector<ObjectRange> reads;
    for (const int64_t index : indices) {
      const Sample& sample = of(split).samples.at(static_cast<size_t>(index));
      if (!sample.absent) reads.push_back(files_.request(sample.key, sample.bytes));
    }
    tier_.expect(reads);
  }

 private:
  struct Sample : SampleInfo {
    int64_t line = 0;
    bool absent = false;
  };
  struct List {
    std::string name;
    std::vector<Sample> samples;
  };
  const List& of(Split split) const { return split == Split::train ? train_ : test_; }

  // option: which one names the list.
  std::vector<ListedFile> rows(const std::string& list, const char* option) const {
    if (list.empty()) return {};
    Buffer text;
    try {
      tier_.read(list, text);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT) throw;
      throw Error(ExitCode::environment,
                  fmt::format("dataset: there is no list '{}' in tier '{}'{}: set dataset.{}, or "
                              "write a list with its files by `stoker dataset convert CONFIG "
                              "DIRECTORY --format file_list` and set storage.{}.root=DIRECTORY",
                              list, tier_name_, objects_instead(list, tier_.list(""), true), option,
                              tier_name_));
    }
    return parse_listed_files({reinterpret_cast<const char*>(text.data()), text.size()}, list);
  }

  static void drop_heading(FileRows& list, const TierFolder& folder,
                           const std::vector<ObjectInfo>& objects, const Notify& notify) {
    const auto is_there = [&](const std::string& path) {
      return find_object(objects, folder.prefix() + path) != nullptr;
    };
    if (!has_heading(list.rows, is_there)) return;
    const ListedFile& row = list.rows.front();
    if (notify) {
      notify(
          fmt::format("dataset: {}:{}: '{},{}' is taken for a heading, for there is no such file",
                      list.name, row.line, row.path, row.label));
    }
    list.rows.erase(list.rows.begin());
  }

  [[noreturn]] void fail_empty(const FileRows& list, const char* more) const {
    throw Error(ExitCode::environment,
                fmt::format("dataset: list '{}' of tier '{}' is empty: it needs lines path,label{}",
                            list.name, tier_name_, more));
  }

  [[noreturn]] static void fail(const std::string& list, int64_t line, const std::string& what) {
    throw Error(ExitCode::config, fmt::format("dataset: {}:{}: {}", list, line, what));
  }

  static void add(const FileRows& from, const TierFolder& folder,
                  const std::vector<ObjectInfo>& objects, const ListedLabels& labels, List& list) {
    list.samples.reserve(from.rows.size());
    for (const ListedFile& row : from.rows) {
      const std::string key = folder.prefix() + row.path;
      try {
        check_key(key);
      } catch (const IoError& error) {
        fail(list.name, row.line, error.what());
      }
      const std::optional<int64_t> label = labels.find(row.label);
      if (!label) {
        fail(list.name, row.line,
             fmt::format("'{}' is neither the name of a class nor its number (dataset.classes, "
                         "dataset.label_offset)",
                         row.label));
      }
      const ObjectInfo* const object = find_object(objects, key);
      list.samples.push_back(
          {{key, *label, object == nullptr ? 0 : object->bytes}, row.line, object == nullptr});
    }
  }

  void report_absent(const FileRows& train, const std::vector<ObjectInfo>& objects,
                     const Notify& notify) const {
    std::vector<std::string> absent;
    for (const List* const list : {&train_, &test_}) {
      for (const Sample& sample : list->samples) {
        if (sample.absent) absent.push_back(sample.key);
      }
    }
    const size_t all = train_.samples.size() + test_.samples.size();
    if (absent.size() == all) fail_absent(train, objects, all);
    if (absent.empty() || !notify) return;
    notify(fmt::format("dataset: {} of {} listed files {} not in tier '{}': {}", absent.size(), all,
                       absent.size() == 1 ? "is" : "are", tier_name_, some_of(absent)));
  }

  // Not one of the files is there.
  [[noreturn]] void fail_absent(const FileRows& train, const std::vector<ObjectInfo>& objects,
                                size_t all) const {
    const Sample& sample = train_.samples.front();
    const ListedFile& row = train.rows.front();
    const std::string_view name = std::string_view(row.path).substr(row.path.rfind('/') + 1);
    const auto same = std::ranges::find_if(objects, [&](const ObjectInfo& object) {
      return object.key.ends_with(name) &&
             (object.key.size() == name.size() || object.key.ends_with("/" + std::string(name)));
    });
    std::string mend = objects_instead(sample.key, objects, false) +
                       ": set dataset.folder to the folder below which the paths are";
    const bool swapped = std::ranges::any_of(train.rows, [&](const ListedFile& each) {
      return find_object(objects, each.label) != nullptr;
    });
    if (swapped) {
      mend = ": the columns are swapped; expected path,label";
    } else if (same != objects.end() && same->key.ends_with("/" + row.path)) {
      mend = ": set dataset.folder=" + same->key.substr(0, same->key.size() - row.path.size() - 1);
    } else if (same != objects.end()) {
      mend =
          ", but '" + same->key + "': the paths must begin at the tier's root or at dataset.folder";
    }
    throw Error(ExitCode::environment,
                fmt::format("dataset: tier '{}' has none of the {} files that {} names, such as "
                            "'{}'{}",
                            tier_name_, all, train_.name, sample.key, mend));
  }

  Storage& tier_;
  const std::string tier_name_;
  const FilePerSample files_;
  List train_;
  List test_;
  std::vector<std::string> classes_;
};

STOKER_REGISTER(Dataset, "file_list", FileList);

}  // namespace
}  // namespace stoker
