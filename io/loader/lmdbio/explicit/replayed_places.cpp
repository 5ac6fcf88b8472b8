#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/provenance.h"
#include "io/loader/lmdbio/explicit/record_places.h"

namespace stoker {
namespace {

// How many records are replayed at a time.
constexpr int64_t kChunk = 1 << 14;
// What the first reader has found, and tells the others.
enum Verdict : uint8_t { kWalk, kAppended, kInOrder };

// How long keys are, without their being read: as the first leaf's, or as much longer than the
// names of the samples as these are there (Caffe's numbers).
class KeySizes {
 public:
  KeySizes(const ReaderInputs& inputs, const std::vector<LmdbEntry>& leaf) {
    const auto named = [&](int64_t i) { return inputs.dataset.info(inputs.split, i).key.size(); };
    if (leaf.empty()) return;
    fixed_ = leaf.front().key.size();
    const bool same = std::ranges::all_of(
        leaf, [&](const LmdbEntry& entry) { return entry.key.size() == fixed_; });
    if (same) return;
    const int64_t records = inputs.dataset.size(inputs.split);
    const auto longer = static_cast<int64_t>(fixed_) - static_cast<int64_t>(named(0));
    for (int64_t i = 0; i < records; ++i) {
      const int64_t bytes = static_cast<int64_t>(named(i)) + longer;
      each_.push_back(static_cast<uint16_t>(std::clamp<int64_t>(bytes, 0, UINT16_MAX)));
    }
  }
  uint64_t of(int64_t record) const {
    return each_.empty() ? fixed_ : each_[static_cast<size_t>(record)];
  }

 private:
  uint64_t fixed_ = 0;
  std::vector<uint16_t> each_;
};

class ReplayedPlaces final : public RecordPlaces {
 public:
  explicit ReplayedPlaces(const ReaderInputs& inputs)
      : inputs_(inputs),
        tree_(inputs.records.tier(), listed_object(inputs)),
        keys_(inputs, tree_.first_leaf()),
        page_bytes_(tree_.meta().page_bytes),
        records_(inputs.dataset.size(inputs.split)) {}

  // Empty: the database was written so, and each record lies where it should.
  std::string take_history(Verdict history) {
    const LmdbHistory written{page_bytes_, inputs_.options.commit, history == kAppended};
    found_.clear();
    provenance_ = std::make_unique<Provenance>(written, records_, [this](int64_t record) {
      return LmdbRecordSizes{keys_.of(record), verified(record).length};
    });
    const std::string refusal = provenance_->check(tree_.meta());
    return refusal.empty() ? compare() : refusal;
  }

  std::vector<RecordPlace> of(Records stretch) override {
    find(stretch);
    std::vector<RecordPlace> places;
    for (int64_t record = stretch.first; record < stretch.last; ++record) {
      const LmdbPlace& place = found(record);
      places.push_back({{place.offset(page_bytes_), place.sizes.value}, place.in_page});
    }
    return places;
  }

  void check(int64_t record, Bytes lead_and_value) const override {
    if (is_at_its_place(found(record), lead_and_value)) return;
    database_changed(inputs_, fmt::format("record {} is not on page {}, where it was written",
                                          record, found(record).page));
  }

 private:
  Range verified(int64_t record) const { return inputs_.records.place(inputs_.split, record); }

  // Compares them with the verified index, which costs no reading.
  std::string compare() {
    for (int64_t record = 0; record < records_; ++record) {
      find({record, record + 1});
      const uint64_t computed = found(record).offset(page_bytes_);
      if (verified(record).offset == computed) continue;
      return fmt::format("record {} lies at byte {} where appending would have put it at {}",
                         record, verified(record).offset, computed);
    }
    return "";
  }

  // Stretches come in ascending order, so more than is asked for is replayed.
  void find(Records stretch) {
    const int64_t last = first_ + std::ssize(found_);
    if (stretch.first >= first_ && stretch.last <= last) return;
    first_ = stretch.first;
    found_ = provenance_->places(
        first_, std::min(records_, std::max(stretch.last, stretch.first + kChunk)));
  }
  const LmdbPlace& found(int64_t record) const {
    return found_.at(static_cast<size_t>(record - first_));
  }

  const ReaderInputs& inputs_;
  LmdbTree tree_;
  const KeySizes keys_;
  const uint64_t page_bytes_;
  const int64_t records_;
  std::unique_ptr<Provenance> provenance_;
  std::vector<LmdbPlace> found_;
  int64_t first_ = 0;
};

// The first reader judges; the others take its verdict.
Verdict judge(const ReaderInputs& inputs, ReplayedPlaces& places) {
  const std::string refusal = places.take_history(kAppended);
  if (refusal.empty()) return kAppended;
  if (places.take_history(kInOrder).empty()) return kInOrder;
  if (inputs.notify) {
    inputs.notify(
        fmt::format("loader: {} was not written as its provenance says, {} records a transaction "
                    "(loader.commit): {}; its tree is walked instead",
                    inputs.object, inputs.options.commit, refusal));
  }
  return kWalk;
}

}  // namespace

std::unique_ptr<RecordPlaces> replay_places(const ReaderInputs& inputs) {
  Group& group = inputs.group;
  auto places = std::make_unique<ReplayedPlaces>(inputs);
  if (group.node() == 0) {
    const std::array<uint8_t, 1> verdict{judge(inputs, *places)};
    for (int64_t node = 1; node < group.nodes(); ++node) group.send(node, verdict);
    if (verdict[0] == kWalk) places.reset();
    return places;
  }
  const std::vector<uint8_t> verdict = group.receive(0);
  if (verdict.empty() || verdict[0] == kWalk) return nullptr;
  const std::string refusal = places->take_history(static_cast<Verdict>(verdict[0]));
  if (!refusal.empty()) database_changed(inputs, refusal);
  return places;
}

}  // namespace stoker
