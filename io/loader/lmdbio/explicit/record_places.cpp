#include "io/loader/lmdbio/explicit/record_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "io/core/error.h"

namespace stoker {

ObjectInfo listed_object(const ReaderInputs& inputs) {
  for (ObjectInfo& object : inputs.records.tier().list(inputs.object)) {
    if (object.key == inputs.object) return std::move(object);
  }
  throw IoError(fmt::format("read {}: it is gone since the data set was opened", inputs.object), 0);
}

void database_changed(const ReaderInputs& inputs, const std::string& how) {
  throw Error(ExitCode::data,
              fmt::format("loader: {} is not what it was when it was verified ({}): remove "
                          "{}.index.json if it was written anew, and start again",
                          inputs.object, how, inputs.object));
}

namespace {

// Offsets and sizes as they go from reader to reader.
using Sent = std::array<uint64_t, 2>;
constexpr size_t kPerMessage = Group::kMostMessage / sizeof(Sent);

class WalkedPlaces final : public RecordPlaces {
 public:
  void add(Records stretch, std::vector<RecordPlace> places) {
    places_[stretch.first] = std::move(places);
  }
  std::vector<RecordPlace> of(Records stretch) override {
    return stretch.count() == 0 ? std::vector<RecordPlace>{} : places_.at(stretch.first);
  }
  void check(int64_t /*record*/, Bytes /*lead_and_value*/) const override {}

 private:
  std::map<int64_t, std::vector<RecordPlace>> places_;  // by the first record of a stretch
};

// All of the database, in the order of its keys, compared with what was verified.
std::vector<RecordPlace> walked(const ReaderInputs& inputs) {
  LmdbTree tree(inputs.records.tier(), listed_object(inputs));
  const auto size = static_cast<uint64_t>(inputs.dataset.size(inputs.split));
  if (tree.meta().entries != size) {
    database_changed(inputs, fmt::format("it has {} records, not {}", tree.meta().entries, size));
  }
  std::vector<RecordPlace> places;
  tree.walk([&](std::span<const LmdbEntry> entries) {
    for (const LmdbEntry& entry : entries) {
      const auto record = std::ssize(places);
      const Range value{entry.offset, entry.bytes};
      if (places.size() == size || inputs.records.place(inputs.split, record) != value) {
        database_changed(inputs, fmt::format("record {} lies at byte {}", record, entry.offset));
      }
      places.push_back({value});
    }
  });
  return places;
}

void send_places(const ReaderInputs& inputs, int64_t node, std::span<const RecordPlace> places) {
  for (; !places.empty(); places = places.subspan(std::min(kPerMessage, places.size()))) {
    std::array<Sent, kPerMessage> message{};
    const size_t count = std::min(kPerMessage, places.size());
    for (size_t i = 0; i < count; ++i) {
      message[i] = {places[i].value.offset, places[i].value.length};
    }
    const auto* const bytes = reinterpret_cast<const uint8_t*>(message.data());
    inputs.group.send(node, {bytes, count * sizeof(Sent)});
  }
}

std::vector<RecordPlace> receive_places(const ReaderInputs& inputs, int64_t count) {
  std::vector<RecordPlace> places;
  while (std::ssize(places) < count) {
    const std::vector<uint8_t> message = inputs.group.receive(0);
    for (size_t at = 0; at + sizeof(Sent) <= message.size(); at += sizeof(Sent)) {
      Sent sent{};
      std::memcpy(&sent, message.data() + at, sizeof sent);
      places.push_back({{sent[0], sent[1]}});
    }
    if (message.empty()) throw Error(ExitCode::device, "loader: the first reader sent no offsets");
  }
  return places;
}

}  // namespace

std::unique_ptr<RecordPlaces> walk_places(const ReaderInputs& inputs) {
  auto result = std::make_unique<WalkedPlaces>();
  Group& group = inputs.group;
  if (group.node() != 0) {
    for_stretches(inputs.order, group.node(), [&](Records stretch) {
      result->add(stretch, receive_places(inputs, stretch.count()));
    });
    return result;
  }
  const std::vector<RecordPlace> all = walked(inputs);
  const auto part = [&](Records stretch) {
    return std::span(all).subspan(static_cast<size_t>(stretch.first),
                                  static_cast<size_t>(stretch.count()));
  };
  for (int64_t node = 1; node < group.nodes(); ++node) {
    for_stretches(inputs.order, node,
                  [&](Records stretch) { send_places(inputs, node, part(stretch)); });
  }
  for_stretches(inputs.order, 0, [&](Records stretch) {
    const auto own = part(stretch);
    result->add(stretch, {own.begin(), own.end()});
  });
  return result;
}

}  // namespace stoker
