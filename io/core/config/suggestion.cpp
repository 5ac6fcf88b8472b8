#include "io/core/config/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/core/text/text.h"

namespace stoker {
namespace {

// Letters to insert, leave out, replace, or exchange with their neighbour ("optimal string
// alignment").
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& least = rows[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                        rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

// The number of slips that one may make in a name of this length.
size_t slips(const std::string& name) { return std::max<size_t>(1, name.size() / 3); }

// The only name that begins so, else the longest one that `given` begins with; both have two
// letters or more. Null: there is no such name.
const std::string* with_same_begin(const std::string& given,
                                   const std::vector<std::string>& known) {
  const std::string *longer = nullptr, *shorter = nullptr;
  bool only = true;
  for (const std::string& name : known) {
    if (given.size() > 1 && lower_case(name).starts_with(lower_case(given))) {
      only = longer == nullptr;
      longer = &name;
    }
    if (name.size() > 1 && lower_case(given).starts_with(lower_case(name)) &&
        (shorter == nullptr || name.size() > shorter->size())) {
      shorter = &name;
    }
  }
  if (longer != nullptr) return only ? longer : nullptr;
  return shorter;
}

// Null: no name is close.
const std::string* nearest(const std::string& given, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  size_t least = slips(given) + 1;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(lower_case(given), lower_case(name));
    if (distance >= least) continue;
    least = distance;
    best = &name;
  }
  return best != nullptr ? best : with_same_begin(given, known);
}

// Words of other programs, and of everyday speech, with the names that mean the same here. A word
// may stand for several names, for it is a type in one place and an option in another; the first
// that is known where it was written counts. Lower case.
struct Synonym {
  const char* word;
  const char* name;
};
constexpr Synonym kSynonyms[] = {
    // types and other values
    {"gpu", "cuda"},
    {"async", "prefetched"},
    {"pytorch", "prefetched"},
    {"dataloader", "prefetched"},
    {"parallel", "threaded"},
    {"file", "posix"},
    {"local", "posix"},
    {"ram", "memory"},
    {"o_direct", "direct"},
    {"cache", "cached"},
    {"aws", "s3"},
    {"minio", "s3"},
    {"webdataset", "tar_shards"},
    {"h5", "hdf5"},
    {"fake", "synthetic"},
    {"csv", "file_list"},
    {"cv2", "opencv"},
    {"pillow", "jpeg"},
    {"stdout", "console"},
    {"json", "jsonl"},
    {"bfloat16", "bf16"},
    {"float32", "fp32"},
    // keys
    {"num_workers", "workers"},
    {"num_parallel_calls", "workers"},
    {"num_threads", "workers"},
    {"num_threads", "threads"},
    {"prefetch", "prefetch_batches"},
    {"prefetch_factor", "prefetch_batches"},
    {"buffer_size", "prefetch_batches"},
    {"batch", "batch_size"},
    {"bs", "batch_size"},
    {"learning_rate", "lr"},
    {"wd", "weight_decay"},
    {"path", "root"},
    {"dir", "root"},
    {"image_size", "size"},
    {"num_epochs", "epochs"},
    {"steps", "max_steps"},
    {"random_seed", "seed"},
    {"log_every", "every_steps"},
    {"save_every", "every_steps"},
    {"max_to_keep", "keep_last"},
    {"mixed_precision", "precision"},
    {"connections", "in_flight"},
    {"max_connections", "in_flight"},
};

// Null: the word stands for no known name.
const std::string* with_same_meaning(const std::string& given,
                                     const std::vector<std::string>& known) {
  const std::string word = lower_case(given);
  for (const Synonym& synonym : kSynonyms) {
    if (word != synonym.word) continue;
    const auto found = std::ranges::find(known, synonym.name);
    if (found != known.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string did_you_mean(const std::string& given, const std::vector<std::string>& known) {
  const std::string* name = with_same_meaning(given, known);
  if (name == nullptr) name = nearest(given, known);
  return name == nullptr ? "" : " (did you mean '" + *name + "'?)";
}

std::string suggestion(const std::string& given, const std::vector<std::string>& known) {
  const std::string close = did_you_mean(given, known);
  return !close.empty() || known.empty() ? close
                                         : fmt::format(" (known: {})", fmt::join(known, ", "));
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    const bool last = i > 0 && i + 1 == names.size();
    text += fmt::format("{}'{}'", i == 0 ? "" : last ? " and " : ", ", names[i]);
  }
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string what_is_there(const std::string& wanted, std::vector<std::string> names) {
  if (names.empty()) return "; there are none";
  std::string text = did_you_mean(wanted, names);
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (text.find("'" + *name + "'") == std::string::npos) continue;
    std::rotate(names.begin(), name, name + 1);
    break;
  }
  return text + (names.size() == 1 ? "; there is " : "; there are ") + some_of(names);
}

}  // namespace stoker
