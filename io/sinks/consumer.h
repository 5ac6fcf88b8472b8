#pragma once

#include <utility>

#include "io/core/error.h"
#include "io/metrics/sink.h"
#include "io/metrics/tracer.h"

namespace stoker {

// A consumer of events, called on a thread of the tracer's: f(row). What f cannot write the run
// gets to know at once; the tracer stops calling it.
template <class F>
auto reporting(const MetricsSink::Inputs& inputs, F f) {
  return [failed = inputs.failed, f = std::move(f)](const TraceRow& row) {
    try {
      f(row);
    } catch (const Error& error) {
      failed(error.what());
      throw;
    }
  };
}

}  // namespace stoker
