#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/dataset/formats/parquet/kept_values.h"
#include "io/dataset/formats/parquet/parquet_file.h"
#include "io/dataset/shards/sharded.h"

namespace stoker {
namespace {

// Rows of a shard: more than anybody trains on, and less than a damaged number takes memory for.
constexpr int64_t kMostRows = int64_t{1} << 24;
constexpr const char* kUsualLabel = "label";

// Which columns are what. A value.
struct ParquetNames {
  std::string images;
  std::string label = kUsualLabel;
};

// "'a' (int64), 'b' (string)": for messages.
std::string list_of(const std::vector<ParquetColumn>& columns) {
  constexpr size_t kMost = 10;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, columns.size()); ++i) {
    text += fmt::format("{}'{}' ({})", i == 0 ? "" : ", ", columns[i].path, columns[i].type);
  }
  if (columns.size() > kMost) text += fmt::format(" and {} more", columns.size() - kMost);
  return columns.empty() ? "none" : text;
}

// Finds the columns that a shard's samples are made of. UnfitShard, which names those that fit.
class ColumnChoice {
 public:
  ColumnChoice(const std::string& shard, std::vector<ParquetColumn> columns)
      : shard_(shard), columns_(std::move(columns)) {}

  const ParquetColumn& images(const std::string& wanted) const {
    if (!wanted.empty()) {
      return named(wanted, "images", "neither bytes nor a list of numbers",
                   [](const ParquetColumn& column) { return column.has_bytes; });
    }
    const Columns found = those([](const ParquetColumn& column) { return usual(column); });
    if (found.empty()) {
      fail("none of its columns has bytes or lists of numbers: there are " + list_of(columns_));
    }
    if (found.size() > 1) {
      fail(
          fmt::format("{} of its columns have bytes or lists of numbers, and one holds the "
                      "samples: set dataset.images to one of {}",
                      found.size(), list_of(found)));
    }
    return *std::ranges::find_if(columns_, usual);
  }

  // What there is in the place of that column.
  static std::string without(const std::string& label) {
    return label.empty() ? "no classes" : fmt::format("no column '{}' for their classes", label);
  }

  // Null: there is none, and all samples are of one class.
  const ParquetColumn* label(const std::string& wanted) const {
    if (wanted.empty() || (wanted == kUsualLabel && find(wanted) == nullptr)) return nullptr;
    return &named(wanted, "label", "no whole number, which a class is",
                  [](const ParquetColumn& column) { return column.is_whole; });
  }

 private:
  using Columns = std::vector<ParquetColumn>;

  static bool usual(const ParquetColumn& column) { return column.has_bytes && !column.is_text; }
  template <class F>
  Columns those(const F& fit) const {
    Columns found;
    std::ranges::copy_if(columns_, std::back_inserter(found), fit);
    return found;
  }
  const ParquetColumn* find(const std::string& path) const {
    const auto found = std::ranges::find(columns_, path, &ParquetColumn::path);
    return found == columns_.end() ? nullptr : &*found;
  }
  // The column that an option names; what is offered instead would be taken.
  template <class F>
  const ParquetColumn& named(const std::string& path, const char* option, const char* unfit,
                             const F& fits) const {
    const ParquetColumn* const column = find(path);
    if (column != nullptr && fits(*column)) return *column;
    const Columns fit = those(fits);
    std::vector<std::string> paths;
    for (const ParquetColumn& one : fit) paths.push_back(one.path);
    const std::string what =
        column == nullptr ? fmt::format("it has no column '{}'{}", path, did_you_mean(path, paths))
                          : fmt::format("column '{}' is {}, {}", path, column->type, unfit);
    if (!fit.empty())
      fail(fmt::format("{}: set dataset.{} to one of {}", what, option, list_of(fit)));
    fail(fmt::format("{}, and none of its columns fits: there are {}", what, list_of(columns_)));
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw UnfitShard(fmt::format("dataset: shard {}: {}", shard_, why));
  }

  const std::string& shard_;
  const Columns columns_;
};

// A sample has two parts: the column's chunk in its row group, of which ShardPart::packing is the
// number (from 1 on) and `unpacked` all of its rows' values, one behind the other; and the footer,
// of which it takes nothing, but without which nobody can unpack the first.
class ShardScan {
 public:
  ShardScan(const std::string& shard, ParquetFile& file, const ParquetColumn& images,
            const ParquetColumn* label)
      : shard_(shard), file_(file), images_(images), label_(label), footer_(file.footer_place()) {}

  std::vector<ShardSample> samples() {
    for (int group = 0; group < file_.groups(); ++group) {
      const auto rows = static_cast<size_t>(file_.rows(group, images_.leaf));
      if (rows == 0) continue;
      const auto first = samples_.size();
      for (size_t row = 0; row < rows; ++row) {
        samples_.emplace_back().key = fmt::format("{}/{}", shard_, first + row);
      }
      const std::span<ShardSample> own = std::span(samples_).subspan(first);
      try {
        find_values(group, own);
        find_labels(group, own);
      } catch (const ParquetDamage& damage) {
        for (ShardSample& sample : own) {
          sample.bad =
              BadSample(BadReason::corrupt, fmt::format("row group {}: {}", group, damage.what()));
          sample.parts.clear();
        }
      }
    }
    return std::move(samples_);
  }

 private:
  void find_values(int group, std::span<ShardSample> own) {
    const Range place = file_.place(group, images_.leaf);
    const uint64_t each = file_.surely_of_each(group, images_);
    const std::vector<RowValue> rows = each > 0 ? std::vector(own.size(), RowValue{each, nullptr})
                                                : file_.values(group, images_.leaf).rows;
    uint64_t all = 0;
    for (const RowValue& row : rows) all += row.bytes;
    uint64_t begin = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (rows[i].flaw != nullptr) {
        own[i].bad = BadSample(BadReason::corrupt, rows[i].flaw);
      } else if (rows[i].bytes == 0) {
        own[i].bad = BadSample(BadReason::empty, "its value has no bytes");
      } else {
        own[i].bytes = rows[i].bytes;
        own[i].parts = {{place.offset, place.length, all, static_cast<uint64_t>(group) + 1, begin,
                         rows[i].bytes},
                        {footer_.offset, footer_.length}};
      }
      begin += rows[i].bytes;
    }
  }

  void find_labels(int group, std::span<ShardSample> own) {
    const auto labels = label_ == nullptr ? std::vector<std::optional<int64_t>>(own.size(), 0)
                                          : file_.numbers(group, label_->leaf);
    for (size_t i = 0; i < own.size(); ++i) own[i].label = labels[i];
  }

  const std::string& shard_;
  ParquetFile& file_;
  const ParquetColumn& images_;
  const ParquetColumn* const label_;
  const Range footer_;
  std::vector<ShardSample> samples_;
};

class ParquetFormat final : public ShardFormat {
 public:
  ParquetFormat(ParquetNames names, uint64_t keep, Notify notify)
      : names_(std::move(names)),
        keep_(keep),
        notify_(std::move(notify)),
        groups_(keep),
        footers_(UINT64_MAX) {}

  std::string name() const override {
    return fmt::format("parquet 1, images {}, label {}", names_.images, names_.label);
  }

  std::string label_rule() const override {
    if (names_.label.empty()) return "";
    return fmt::format("a class is the number in column '{}' (dataset.label)", names_.label);
  }

  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override;
  Bytes payload(Buffer& stored) const override { return stored.bytes(); }
  Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const override;

 private:
  using Group = KeptValues<RowValues>::Value;
  // The values of the row group that a sample lies in.
  Group unpack(const ShardSample& sample, const std::string& shard, const ShardRead& read) const;
  // Says once that much more is unpacked than samples take.
  void count_taken(const ShardPart& part) const;

  const ParquetNames names_;
  const uint64_t keep_;
  const Notify notify_;
  // Bytes of row groups, and those of samples.
  mutable std::atomic<uint64_t> unpacked_{0}, taken_{0};
  mutable std::atomic<bool> told_{false};
  mutable KeptValues<RowValues> groups_;
  mutable KeptValues<ParquetFooter> footers_;
};

ShardContents ParquetFormat::scan(const Storage& tier, const ObjectInfo& shard) const {
  const ShardRead read = [&](Range range, Buffer& out) {
    tier.read(shard.key, out, range);
    return out.bytes();
  };
  try {
    ParquetFile file(ParquetFile::footer(shard.bytes, 0, read), shard.bytes, read);
    const ColumnChoice choice(shard.key, file.columns());
    const ParquetColumn& images = choice.images(names_.images);
    int64_t rows = 0;
    for (int group = 0; group < file.groups() && rows <= kMostRows; ++group) {
      rows += std::min(file.rows(group, images.leaf), kMostRows + 1);
    }
    if (rows > kMostRows) throw ParquetDamage(fmt::format("it has more than {} rows", kMostRows));
    const ParquetColumn* const label = choice.label(names_.label);
    ShardContents contents{ShardScan(shard.key, file, images, label).samples()};
    contents.choice =
        fmt::format("its samples in column '{}' and {}", images.path,
                    label == nullptr ? choice.without(names_.label)
                                     : fmt::format("their classes in column '{}'", label->path));
    return contents;
  } catch (const ParquetDamage& damage) {
    throw Error(ExitCode::data, fmt::format("dataset: shard {} can't be read as Parquet: {}: write "
                                            "it again, or take it out of the pattern",
                                            shard.key, damage.what()));
  }
}

Bytes ParquetFormat::assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const {
  // Whoever damaged an index may have made up anything.
  const bool sound = sample.parts.size() == 2 && sample.parts[0].packing > 0 &&
                     sample.parts[0].packing <= uint64_t{INT32_MAX};
  if (!sound) throw BadSample(BadReason::corrupt, "its index contradicts itself");
  const ShardPart& part = sample.parts[0];
  const std::string shard = sample.key.substr(0, sample.key.rfind('/'));
  const Group group = groups_.get(fmt::format("{}/{}", shard, part.packing), part.unpacked,
                                  [&] { return unpack(sample, shard, read); });
  if (group->bytes.size() != part.unpacked) {
    throw BadSample(BadReason::corrupt, "its index contradicts itself");
  }
  const Bytes bytes = group->bytes.subspan(part.begin, part.taken);
  std::ranges::copy(bytes, out.resize(bytes.size()));
  count_taken(part);
  return out.bytes();
}

void ParquetFormat::count_taken(const ShardPart& part) const {
  // Some row groups are in use, and most of their samples still to come.
  constexpr uint64_t kInUse = 16, kMuch = 4;
  const uint64_t taken = taken_.fetch_add(part.taken, std::memory_order_relaxed) + part.taken;
  const uint64_t unpacked = unpacked_.load(std::memory_order_relaxed);
  if (unpacked <= keep_ + kInUse * part.unpacked + kMuch * taken) return;
  if (told_.exchange(true) || !notify_) return;
  notify_(
      fmt::format("dataset: row groups of {:.0f} MB were unpacked for samples of {:.0f} MB: set "
                  "dataset.keep to more, or loader.order=shards",
                  1e-6 * static_cast<double>(unpacked), 1e-6 * static_cast<double>(taken)));
}

ParquetFormat::Group ParquetFormat::unpack(const ShardSample& sample, const std::string& shard,
                                           const ShardRead& read) const {
  const ShardPart& part = sample.parts[0];
  const ShardPart& tail = sample.parts[1];
  const uint64_t shard_bytes = tail.offset + tail.bytes;
  const int number = static_cast<int>(part.packing) - 1;
  try {
    const auto footer = footers_.get(
        shard, tail.bytes, [&] { return ParquetFile::footer(shard_bytes, tail.bytes, read); });
    ParquetFile file(footer, shard_bytes, read);
    const ColumnChoice choice(shard, file.columns());
    const int leaf = choice.images(names_.images).leaf;
    const bool same = number < file.groups() && file.place(number, leaf).offset == part.offset;
    if (!same) throw ParquetDamage("it is not where its index says");
    auto values = std::make_shared<RowValues>(file.values(number, leaf));
    if (values->bytes.size() != part.unpacked) {
      throw ParquetDamage("its values have not as many bytes as its index says");
    }
    unpacked_.fetch_add(part.unpacked, std::memory_order_relaxed);
    return values;
  } catch (const ParquetDamage& damage) {
    throw BadSample(BadReason::corrupt, fmt::format("row group {}: {}", number, damage.what()));
  }
}

// Parquet files: a column of encoded files, or of lists of numbers.
class Parquet final : public Sharded {
 public:
  struct Options : ShardedOptions, ParquetNames {
    ByteSize keep{uint64_t{256} << 20};
    Options() : ShardedOptions("parquet", "train*.parquet", "test*.parquet") {
      made_by = "pyarrow.parquet.write_table()";
    }
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("images", images,
        "The column that holds the samples: files such as JPEGs, or lists of numbers. The names of "
        "fields that lead to it are joined by dots: image.bytes. Empty: the only such column.");
      v("label", label,
        "The column with the number of each sample's class. If there is no column `label`, or with "
        "\"\", all samples are of one class.");
      v("keep", keep,
        same_results("The most bytes of unpacked row groups that stay in memory, for the samples "
                     "that lie in them. Those that were used last stay, and one at least."));
    }
    DatasetInfo info() const { return {storage.name}; }
  };
  Parquet(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs,
                std::make_unique<ParquetFormat>(options, options.keep.bytes, inputs.notify)) {}
};

STOKER_REGISTER(Dataset, "parquet", Parquet);

}  // namespace
}  // namespace stoker
