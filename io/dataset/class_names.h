#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/storage/storage.h"

// Labels and the names of classes, of formats whose samples say either. Any thread.

namespace stoker {

// Label 1,000,000 and above is a slip, and not a class.
inline constexpr int64_t kMaxClasses = 1'000'000;

// The object that names the classes where no option names another.
inline constexpr const char* kClassNames = "classes.txt";

// The names of classes, by label, in an object of a tier: one on each line. Empty: the object does
// not exist, which is possible for kClassNames alone, or `key` is empty. Error(ExitCode::data),
// which names the line, where a name is empty or stands there twice, and where there is none;
// ExitCode::environment where another object does not exist. IoError as the tier's.
std::vector<std::string> read_class_names(const Storage& tier, const std::string& key);

// The samples that have a label. A value.
struct LabelUse {
  int64_t samples = 0;
  // Names the first of them.
  std::string key;
};
// By label, as the data say it.
using LabelUses = std::map<int64_t, LabelUse>;

// The classes of samples that have numbers alone: those numbers, from `first` to the highest.
// Labels below `first` are no class. Error(ExitCode::data) where a label is far from all others, so
// that it must be a slip: there would be more classes than samples.
std::vector<std::string> numbered_classes(const LabelUses& labels, int64_t first);

// Error(ExitCode::config) where labels fit the classes if their first is one higher than `first`,
// and do not fit as they are.
void check_first_label(const LabelUses& labels, size_t classes, int64_t first);

// Tells what can hardly be meant: one class alone, or classes without a sample. labels: of the
// training samples, the place of each class. numbered: the classes have no other names. rule: which
// options say a sample's class.
void remark_classes(const std::vector<std::string>& classes, const LabelUses& labels, bool numbered,
                    const std::string& rule, const Notify& notify);

// What can hardly be meant, and trains all the same. Pure but for what is told; any thread.

// Tells, a line for each: that there is one class alone, that classes differ in the case of letters
// or in blanks alone, that a class has no name, that all are numbers in the order of text ("10"
// before "2"), or named as the parts of a data set.
void doubt_classes(const std::vector<std::string>& classes, const Notify& notify);

}  // namespace stoker
