#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/class_names.h"
#include "io/dataset/dataset.h"
#include "io/dataset/file_per_sample.h"
#include "io/dataset/listed_files.h"

namespace stoker {
namespace {

constexpr size_t kNamedAbsent = 5;

// Files of a tier that a list names, each with its label.
class FileList final : public Dataset {
 public:
  struct Options {
    TierName storage;
    std::string train = "train.csv";
    std::string test;
    std::string folder;
    std::string classes = "classes.txt";
    int64_t label_offset = 0;
    ByteSize max_file_bytes{uint64_t{64} << 20};
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage, same_results("The tier that holds the files and the lists."));
      v("train", train,
        "The object of that tier that lists the files to train on: CSV with one line path,label "
        "for each file.");
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
      if (train.empty()) section.fail("train", "must be the name of a list such as train.csv");
    }
  };

  FileList(const Options& options, const Inputs& inputs)
      : Dataset(options.on_error),
        tier_(inputs.tiers.at(options.storage.name)),
        tier_name_(options.storage.name),
        files_(tier_, options.max_file_bytes.bytes),
        train_{options.train, {}},
        test_{options.test, {}} {
    std::string prefix = options.folder;
    if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
    const std::vector<ListedFile> train = rows(options.train);
    const std::vector<ListedFile> test = rows(options.test);
    if (train.empty()) {
      throw Error(ExitCode::environment, fmt::format("dataset: list '{}' of tier '{}' is empty: it "
                                                     "needs lines path,label",
                                                     options.train, tier_name_));
    }
    const std::vector<ObjectInfo> objects = tier_.list(prefix);
    const ListedLabels labels(read_class_names(tier_, options.classes), {train, test},
                              options.label_offset);
    classes_ = labels.classes();
    add(train, prefix, objects, labels, train_);
    add(test, prefix, objects, labels, test_);
    report_absent(inputs.notify);
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

  std::vector<ListedFile> rows(const std::string& list) const {
    if (list.empty()) return {};
    Buffer text;
    try {
      tier_.read(list, text);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT) throw;
      throw Error(ExitCode::environment,
                  fmt::format("dataset: there is no list '{}' in tier '{}': name an object with "
                              "lines path,label, or write one with its files by `stoker dataset "
                              "convert CONFIG DIRECTORY --format file_list` and set "
                              "storage.{}.root=DIRECTORY",
                              list, tier_name_, tier_name_));
    }
    return parse_listed_files({reinterpret_cast<const char*>(text.data()), text.size()}, list);
  }

  [[noreturn]] static void fail(const std::string& list, int64_t line, const std::string& what) {
    throw Error(ExitCode::config, fmt::format("dataset: {}:{}: {}", list, line, what));
  }

  // objects: sorted by key.
  void add(const std::vector<ListedFile>& rows, const std::string& prefix,
           const std::vector<ObjectInfo>& objects, const ListedLabels& labels, List& list) const {
    list.samples.reserve(rows.size());
    for (const ListedFile& row : rows) {
      const std::string key = prefix + row.path;
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
      const auto object = std::ranges::lower_bound(objects, key, {}, &ObjectInfo::key);
      const bool absent = object == objects.end() || object->key != key;
      list.samples.push_back({{key, *label, absent ? 0 : object->bytes}, row.line, absent});
    }
  }

  void report_absent(const Notify& notify) const {
    std::string names;
    size_t absent = 0;
    for (const List* const list : {&train_, &test_}) {
      for (const Sample& sample : list->samples) {
        if (sample.absent && ++absent <= kNamedAbsent) {
          names += (names.empty() ? "" : ", ") + sample.key;
        }
      }
    }
    const size_t all = train_.samples.size() + test_.samples.size();
    if (absent == all) {
      throw Error(ExitCode::environment,
                  fmt::format("dataset: tier '{}' has none of the {} files that {} names, such as "
                              "{}: set dataset.folder to the folder below which the paths are",
                              tier_name_, all, train_.name, train_.samples.front().key));
    }
    if (absent == 0 || !notify) return;
    if (absent > kNamedAbsent) names += fmt::format(" and {} more", absent - kNamedAbsent);
    notify(fmt::format("dataset: {} of {} listed files {} not in tier '{}': {}", absent, all,
                       absent == 1 ? "is" : "are", tier_name_, names));
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
