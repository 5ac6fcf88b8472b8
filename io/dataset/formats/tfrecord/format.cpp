#include "io/dataset/formats/tfrecord/format.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/core/wire/tfrecord.h"
#include "io/dataset/formats/tfrecord/example.h"
#include "io/dataset/shards/object_stream.h"

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

Bytes image_of(const ExampleFeature& feature, const std::string& name) {
  if (feature.kind == ExampleFeature::Kind::none) {
    throw BadSample(BadReason::corrupt, fmt::format("it has no feature '{}'", name));
  }
  if (feature.kind != ExampleFeature::Kind::bytes || feature.count != 1) {
    throw BadSample(BadReason::corrupt,
                    fmt::format("its feature '{}' is not one string of bytes", name));
  }
  return feature.bytes;
}

// -1: the class is known by its name.
int64_t label_of(const ExampleFeature& feature, const std::string& name, int64_t first) {
  using Kind = ExampleFeature::Kind;
  if (feature.kind == Kind::none || (feature.kind == Kind::integers && feature.count == 0)) {
    return -1;
  }
  if (feature.kind != Kind::integers || feature.count != 1) {
    throw BadSample(BadReason::corrupt, fmt::format("its feature '{}' is not one number", name));
  }
  if (feature.integer < first) {
    throw BadSample(BadReason::corrupt,
                    fmt::format("its label is {}, and that of the first class {} "
                                "(dataset.label_offset)",
                                feature.integer, first));
  }
  return feature.integer - first;
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
  return fmt::format("tfrecord 1, image {}, label {} from {}, text {}, filename {}",
                     features_.image, features_.label, features_.first_label, features_.text,
                     features_.filename);
}

std::vector<ShardSample> TFRecordFormat::scan(const Storage& tier, const ObjectInfo& shard) const {
  std::vector<ShardSample> samples;
  ObjectStream stream(tier, shard);
  while (stream.left() > 0) {
    ShardSample& sample = samples.emplace_back();
    sample.key = fmt::format("{}/{}", shard.key, samples.size() - 1);
    sample.label = 0;  // a bad one is of no class
    const Bytes head = stream.peek(kRecordHead);
    if (head.size() < kRecordHead) {
      sample.bad = "its shard ends in the middle of its head";
      break;
    }
    const std::optional<uint64_t> length = record_length(head);
    if (!length) {
      if (stream.offset() == 0) refuse(shard.key, head);
      sample.bad = "the checksum of its length is wrong: what follows in its shard is lost";
      break;
    }
    const uint64_t left = stream.left() - kRecordHead;
    if (left < kRecordTail || *length > left - kRecordTail) {
      sample.bad = "its shard ends in the middle of it";
      break;
    }
    stream.skip(kRecordHead);
    sample.offset = stream.offset();
    sample.bytes = *length + kRecordTail;
    if (sample.bytes > kMostBytes) {
      sample.bad = fmt::format("it has more than {} bytes", kMostBytes);
    } else {
      look(stream.peek(sample.bytes), sample);
    }
    stream.skip(sample.bytes);
  }
  return samples;
}

void TFRecordFormat::look(Bytes record, ShardSample& sample) const {
  if (record.size() != sample.bytes || !record_fits(record)) {
    sample.bad = "its checksum is wrong";
    return;
  }
  try {
    const std::vector<ExampleFeature> found = read_example(without_tail(record), names_);
    image_of(found[kImage], features_.image);
    const int64_t label = label_of(found[kLabel], features_.label, features_.first_label);
    const std::string class_name = text_of(found[kText]);
    const std::string filename = text_of(found[kFilename]);
    const size_t folder = filename.find('/');
    const bool named = !class_name.empty() || (folder != 0 && folder != filename.npos);
    if (label < 0 && !named) {
      sample.bad = fmt::format("it has no label: no feature '{}', '{}', or '{}' with a folder",
                               features_.label, features_.text, features_.filename);
    } else if (label < 0 && class_name.find('/') != class_name.npos) {
      sample.bad = fmt::format("its class '{}' has a '/'", class_name);
    } else {
      sample.label = label;
      sample.key = key_of(class_name, filename, sample.key);
    }
  } catch (const BadSample& error) {
    sample.bad = error.what();
  }
}

Bytes TFRecordFormat::payload(Buffer& stored) const {
  const Bytes record = stored.bytes();
  if (record.size() < kRecordTail || !record_fits(record)) {
    throw BadSample(BadReason::corrupt, "its checksum is wrong");
  }
  return image_of(read_example(without_tail(record), names_)[kImage], features_.image);
}

}  // namespace stoker
