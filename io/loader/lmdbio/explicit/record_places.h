#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/loader/lmdbio/database/lmdb_tree.h"
#include "io/loader/lmdbio/explicit/range_plan.h"
#include "io/loader/lmdbio/record_reader.h"

namespace stoker {

// Where the records of a node's stretches lie. One thread. Failures are those of RecordReader.
class RecordPlaces {
 public:
  virtual ~RecordPlaces() = default;
  // One of the stretches of this node.
  virtual std::vector<RecordPlace> of(Records stretch) = 0;
  // Looks at what was read of a record of the last stretch: its `lead` bytes and its value.
  // Error(ExitCode::data) where that is something else.
  virtual void check(int64_t record, Bytes lead_and_value) const = 0;
};

// The places that a walk through the database finds. The first reader walks alone, and the others
// get theirs by messages. All readers of the group make it together.
std::unique_ptr<RecordPlaces> walk_places(const ReaderInputs& inputs);
// Computed from the writer's history (Provenance); null: that does not hold, and why is a remark.
// Made by all readers of the group together.
std::unique_ptr<RecordPlaces> replay_places(const ReaderInputs& inputs);

// The listing of the database. IoError where it is gone.
ObjectInfo listed_object(const ReaderInputs& inputs);
// Calls take(stretch) for all stretches of a node, in the order of their batches.
template <class F>
void for_stretches(const GroupOrder& order, int64_t node, const F& take) {
  for (int64_t batch = 0; batch < order.batches(); batch += order.together(batch)) {
    take(order.node_stretch(batch, node));
  }
}
// The database is not the one that was verified: Error(ExitCode::data).
[[noreturn]] void database_changed(const ReaderInputs& inputs, const std::string& how);

}  // namespace stoker
