#pragma once

#include <string>

#include "io/dataset/dataset.h"

namespace stoker {

// A data set whose samples are records of a tier's objects, as someone sees it who reads those
// objects in a way of his own (a map of the file, a range of many records) and not by
// Dataset::read. What is said here was verified when the data set was made. Thread rule: as
// Dataset.
class StoredRecords {
 public:
  virtual ~StoredRecords() = default;
  // That holds the objects; lives longer than the data set.
  virtual const Storage& tier() const = 0;
  // Where sample `index` lies in SampleInfo::object: its record and nothing else.
  virtual Range place(Split split, int64_t index) const = 0;
  // What Dataset::read gives for these bytes of the record, which may be changed. Valid as long as
  // they are. BadSample as there.
  virtual EncodedSample unpack(Split split, int64_t index, Buffer& record) const = 0;
};

}  // namespace stoker
