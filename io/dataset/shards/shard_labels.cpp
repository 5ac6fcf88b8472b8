#include "io/dataset/shards/shard_labels.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "io/core/text/text.h"
#include "io/dataset/class_names.h"

namespace stoker {
namespace {

// Why a sample is of none of the classes.
BadSample no_class(const ShardSample& sample, size_t classes, int64_t first,
                   const std::string& rule) {
  const auto none = [](const std::string& why) { return BadSample(BadReason::corrupt, why); };
  if (sample.named) {
    return none(fmt::format("its class '{}' is none of the {} that are known", class_of(sample.key),
                            classes));
  }
  if (!sample.label) return {BadReason::unsupported, "it has no label: " + rule};
  if (*sample.label < first) {
    return none(
        fmt::format("its label is {}, and that of the first class {} "
                    "(dataset.label_offset)",
                    *sample.label, first));
  }
  return none(fmt::format("its label is {}, but the data set has {}", *sample.label,
                          plural(classes, "class")));
}

}  // namespace

std::vector<std::string> label_samples(std::span<ShardSample* const> samples,
                                       std::vector<std::string> names, int64_t first,
                                       const std::string& rule) {
  std::set<std::string> said;
  LabelUses labels;
  for (const ShardSample* const sample : samples) {
    if (sample->named) {
      said.insert(class_of(sample->key));
    } else if (sample->label && !sample->bad && *sample->label >= first) {
      LabelUse& use = labels[*sample->label];
      if (use.samples++ == 0) use.key = sample->key;
    }
  }
  if (!names.empty()) {
    check_first_label(labels, names.size(), first);
  } else if (labels.empty()) {
    names.assign(said.begin(), said.end());
  } else {
    names = numbered_classes(labels, first);
  }
  std::map<std::string, int64_t> places;
  for (size_t i = 0; i < names.size(); ++i) places[names[i]] = static_cast<int64_t>(i);
  for (ShardSample* const sample : samples) {
    std::optional<int64_t> place;
    if (sample->named) {
      const auto found = places.find(class_of(sample->key));
      if (found != places.end()) place = found->second;
    } else if (sample->label && *sample->label >= first) {
      place = *sample->label - first;
      if (*place >= std::ssize(names)) place.reset();
    }
    if (!place && !sample->bad) {
      sample->bad = no_class(*sample, names.size(), first, rule);
    }
    sample->label = place;
  }
  return names;
}

}  // namespace stoker
