#include "io/dataset/formats/tfrecord/format.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/core/wire/protobuf.h"
#include "io/dataset/formats/tfrecord/example.h"
#include "io/dataset/shards/tier_reads.h"

namespace stoker {
namespace {

// A larger record is not an image, and is not read into memory.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Places in TFRecordFormat::names_.
enum Name : size_t { kImage, kLabel, kText, kFilename };

std::string text_of(const ExampleFeature& feature) {
  return to_text({reinterpret_cast<const char*>(feature.bytes.data()), feature.bytes.size()});
}

Bytes without_tail(Bytes record) { return record.first(record.size() - kRecordTail); }

// What a feature is, for messages.
std::string kind_of(const ExampleFeature& feature) {
  using Kind = ExampleFeature::Kind;
  if (feature.kind == Kind::none) return "missing";
  if (feature.kind == Kind::floats) return "floats";
  const char* const kind = feature.kind == Kind::bytes ? "string" : "number";
  return plural(feature.count, kind);
}

Bytes image_of(const ExampleFeature& feature, const std::string& name) {
  if (feature.kind != ExampleFeature::Kind::bytes || feature.count != 1) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its feature '{}' is {}, and has to be one string of bytes "
                                "(dataset.image)",
                                name, kind_of(feature)));
  }
  return feature.bytes;
}

// Nothing: the class is known by its name.
std::optional<int64_t> label_of(const ExampleFeature& feature, const std::string& name) {
  using Kind = ExampleFeature::Kind;
  if (feature.kind == Kind::none || (feature.kind == Kind::integers && feature.count == 0)) {
    return std::nullopt;
  }
  if (feature.kind == Kind::bytes && feature.count == 1) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its feature '{}' is a string, and has to be a whole number: set "
                                "dataset.label='' and dataset.text={} if it names the class",
                                name, name));
  }
  if (feature.kind != Kind::integers || feature.count != 1) {
    throw BadSample(BadReason::unsupported,
                    fmt::format("its feature '{}' is {}, and has to be one whole number "
                                "(dataset.label)",
                                name, kind_of(feature)));
  }
  return feature.integer;
}

// The name of a sample. If its class has a name, its first folder is that class.
std::string key_of(const std::string& class_name, const std::string& filename,
                   const std::string& otherwise) {
  const std::string& key = filename.empty() ? otherwise : filename;
  if (class_name.empty() || key.starts_with(class_name + "/")) return key;
  return class_name + "/" + key;
}

// gzip, and zlib's own frame.
bool is_compressed(Bytes head) {
  const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
  const bool zlib = (head[0] & 0x0f) == 8 && (head[0] * 256 + head[1]) % 31 == 0;
  return gzip || zlib;
}

[[noreturn]] void refuse(const std::string& shard, Bytes head) {
  throw Error(
      ExitCode::data,
      is_compressed(head)
          ? fmt::format("dataset: shard {} is a compressed file, in which no sample can be found "
                        "by itself: unpack it (gzip -dc), or write it without compression",
                        shard)
          : fmt::format("dataset: shard {} is no TFRecord file, or its begin is damaged: repair "
                        "it, or take it out of the pattern",
                        shard));
}

}  // namespace

TFRecordFormat::TFRecordFormat(TFRecordFeatures features)
    : features_(std::move(features)),
      names_{features_.image, features_.label, features_.text, features_.filename} {}

std::string TFRecordFormat::name() const {
  return fmt::format("tfrecord 3, image {}, label {}, text {}, filename {}", features_.image,
                     features_.label, features_.text, features_.filename);
}

std::string TFRecordFormat::label_rule() const {
  if (one_class()) return "";
  return fmt::format(
      "a class is the number in feature '{}' (dataset.label), or the name in '{}' "
      "(dataset.text), or the first folder in '{}' (dataset.filename)",
      features_.label, features_.text, features_.filename);
}

ShardContents TFRecordFormat::scan(const Storage& tier, const ObjectInfo& shard) const {
  ShardContents contents;
  ObjectStream stream(tier, shard);
  for (int64_t number = 0; stream.left() > 0; ++number) {
    ShardSample& sample = contents.samples.emplace_back();
    sample.key = fmt::format("{}/{}", shard.key, number);
    const Bytes head = stream.peek(kRecordHead);
    if (head.size() < kRecordHead) {
      sample.bad = BadSample(BadReason::truncated, "its shard ends in the middle of its head");
      break;
    }
    const std::optional<uint64_t> length = record_length(head);
    if (!length) {
      if (stream.offset() == 0) refuse(shard.key, head);
      sample.bad =
          BadSample(BadReason::corrupt,
                    "the checksum of its length is wrong: what follows in its shard is lost");
      break;
    }
    const uint64_t left = stream.left() - kRecordHead;
    if (left < kRecordTail || *length > left - kRecordTail) {
      sample.bad = BadSample(BadReason::truncated, "its shard ends in the middle of it");
      break;
    }
    stream.skip(kRecordHead);
    sample.offset = stream.offset();
    const uint64_t bytes = sample.bytes = *length + kRecordTail;
    if (bytes > kMostBytes) {
      sample.bad =
          BadSample(BadReason::too_large, fmt::format("it has more than {} bytes", kMostBytes));
    } else if (const Bytes record = stream.peek(bytes); !look(record, sample)) {
      if (contents.passed_over.empty()) {
        contents.instead = fmt::format("record {} of {} {}", number, shard.key,
                                       without_image(without_tail(record)));
      }
      contents.passed_over.push_back(fmt::format("record {} without {}", number, features_.image));
      contents.samples.pop_back();
    }
    stream.skip(bytes);
  }
  if (!contents.samples.empty()) contents.instead.clear();
  return contents;
}

bool TFRecordFormat::look(Bytes record, ShardSample& sample) const {
  if (record.size() != sample.bytes || !record_fits(record)) {
    sample.bad = BadSample(BadReason::corrupt, "its checksum is wrong");
    return true;
  }
  const Bytes example = without_tail(record);
  try {
    const std::vector<ExampleFeature> found = read_example(example, names_);
    if (found[kImage].kind == ExampleFeature::Kind::none) return false;
    image_of(found[kImage], features_.image);
    const std::string class_name = text_of(found[kText]);
    const std::string filename = text_of(found[kFilename]);
    const std::optional<int64_t> label = one_class() ? 0 : label_of(found[kLabel], features_.label);
    if (!label && class_name.find('/') != class_name.npos) {
      throw BadSample(BadReason::unsupported, fmt::format("its class '{}' has a '/'", class_name));
    }
    if (!label && class_name.empty() && class_of(filename).empty()) throw without_label(example);
    sample.label = label;
    sample.named = !label;
    sample.key = key_of(class_name, filename, sample.key);
  } catch (const BadSample& error) {
    sample.bad = error;
  }
  return true;
}

std::string TFRecordFormat::without_image(Bytes example) const {
  return fmt::format(
      "has no feature '{}'{}: set dataset.image, and dataset.label if that has another name, too",
      features_.image, what_is_there(features_.image, feature_names(example)));
}

BadSample TFRecordFormat::without_label(Bytes example) const {
  std::vector<std::string> others = feature_names(example);
  std::erase(others, features_.image);
  return {BadReason::unsupported,
          fmt::format("it has no label: no feature '{}', '{}', or '{}' with a folder{}: set "
                      "dataset.label or dataset.text",
                      features_.label, features_.text, features_.filename,
                      what_is_there(features_.label, others))};
}

Bytes TFRecordFormat::payload(Buffer& stored) const {
  const Bytes record = stored.bytes();
  if (record.size() < kRecordTail || !record_fits(record)) {
    throw BadSample(BadReason::corrupt, "its checksum is wrong");
  }
  const Bytes example = without_tail(record);
  return image_of(read_example(example, names_)[kImage], features_.image);
}

}  // namespace stoker
