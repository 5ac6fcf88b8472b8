#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/core/system/memory.h"
#include "io/dataset/read_sample.h"
#include "io/loader/lmdbio/group.h"
#include "io/loader/lmdbio/group_order.h"
#include "io/loader/lmdbio/lmdbio_options.h"
#include "io/metrics/clock.h"
#include "io/metrics/record_read_meter.h"

namespace stoker {

// The records of a node's stretch, in memory that its ranks share: its reader writes, and all read
// what it wrote before the last meeting. Refers to that memory; a value.
class Window {
 public:
  // Where a record lies in bytes(). Offsets are relative, for the ranks have it at other addresses.
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  // The memory that `records` records with `bytes` bytes take.
  static size_t memory(int64_t records, size_t bytes);
  Window(std::span<uint8_t> memory, int64_t records);

  std::span<uint8_t> bytes() const { return bytes_; }
  std::span<Place> places() const { return places_; }
  // The record at a place, which lies inside whatever another process has written there.
  Bytes record(int64_t place) const;

 private:
  std::span<Place> places_;
  std::span<uint8_t> bytes_;
};

// What the readers of this folder are built with. Refers to what lives longer than they.
struct ReaderInputs {
  const LmdbioOptions& options;
  const GroupOrder& order;
  // Those of one object: records [0, size(split)) of the database, in the order of its keys.
  const Dataset& dataset;
  const StoredRecords& records;
  Split split;
  std::string object;  // their key
  std::string path;    // the same as a file of this machine; empty: it is not a file
  // The group of all ranks. With one rank it has one member.
  Group& group;
  RecordReadMeter& meter;
  Notify notify;
};

// Gets the records of this rank, batch by batch. All ranks of the group make the same calls; one
// thread each. IoError and Error as for Group; Error(ExitCode::data) if the database is not what it
// was when it was verified. After an exception only the destructor may be called.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Values of the records order.of_rank(batch, rank), in their order; valid until the next call.
  // Batches in ascending order, from any one on; again from the first one in the next epoch.
  virtual std::span<const Bytes> read(int64_t batch) = 0;
};

// Fills a node's window; made and called on its reader alone, for the same stretches on all nodes.
class WindowFiller {
 public:
  virtual ~WindowFiller() = default;
  // The most bytes that a window of `records` records needs.
  virtual size_t window_bytes(int64_t records) const = 0;
  // Puts the records of the node's stretch for `batch` there, and says where: place i is record
  // stretch.first + i.
  virtual void fill(int64_t batch, Window& window) = 0;
};

// The reader of these options, with all that belongs to it.
std::unique_ptr<RecordReader> make_record_reader(const ReaderInputs& inputs);
// Fillers, for ReaderInputs::options.reader: lmm · lmm_dm · lmm_dio, prov, coal and stag.
std::unique_ptr<WindowFiller> make_cursor_filler(const ReaderInputs& inputs);
std::unique_ptr<WindowFiller> make_ring_filler(const ReaderInputs& inputs);
std::unique_ptr<WindowFiller> make_range_filler(const ReaderInputs& inputs);
// Readers without a window: lmdb · indexed.
std::unique_ptr<RecordReader> make_walking_reader(const ReaderInputs& inputs);
std::unique_ptr<RecordReader> make_indexed_reader(const ReaderInputs& inputs);

// Adds the time from here to its end to RecordReadCosts::waiting_s. One thread.
class Waiting {
 public:
  explicit Waiting(RecordReadMeter& meter) : meter_(meter), begin_(Clock::now()) {}
  ~Waiting() {
    RecordReadCosts costs;
    costs.waiting_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    meter_.add(costs);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  RecordReadMeter& meter_;
  const TimePoint begin_;
};

}  // namespace stoker
