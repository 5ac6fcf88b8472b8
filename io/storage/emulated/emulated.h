#pragma once

#include "io/core/config/registry.h"
#include "io/storage/emulated/tier_device.h"
#include "io/storage/emulated/tier_figures.h"
#include "io/storage/storage.h"
#include "io/storage/tail/hedged_reads.h"

namespace stoker {

// The options of a tier of type emulated. Without a profile and without bandwidths it is a hard
// disk. In a header because `stoker advise` asks a tier for its figures. A value.
struct EmulatedOptions {
  TierFigures figures;
  TierLayout layout;
  bool shared = true;
  TailOptions tail;
  Component<Storage> inner;

  template <class V>
  void visit(V& v) {
    figures.visit(v);
    layout.visit(v);
    v("shared", shared,
      "With true, all processes of this user whose tier has this name and these options share one "
      "device. With false each process has a device of its own.");
    tail.visit(v);
    v.required("inner", inner, "The tier that holds the data.");
    const bool told = figures.profile || figures.read_mb_per_s || figures.write_mb_per_s;
    if (!told) figures.profile = TierProfile::hdd;
  }
  void check(const Section& section) const {
    figures.check(section);
    layout.check(section);
  }
  // What all its devices do together: one that is as fast as they are, of which one operation gets
  // no more than its object's devices give.
  TierCosts costs() const {
    TierCosts costs = figures.costs();
    if (layout.stripes == 1) return costs;
    const double one =
        costs.stream_bytes_per_s > 0 ? costs.stream_bytes_per_s : costs.read_bytes_per_s;
    costs.stream_bytes_per_s = static_cast<double>(layout.stripe_count) * one;
    const auto devices = static_cast<double>(layout.stripes);
    costs.read_bytes_per_s *= devices;
    costs.write_bytes_per_s *= devices;
    costs.queue_depth *= devices;
    return costs;
  }
  StorageInfo info() const {
    const TierCosts costs = this->costs();
    StorageInfo info = inner.info();
    info.emulated = true;
    info.read_mb_per_s = 1e-6 * costs.read_bytes_per_s;
    info.write_mb_per_s = 1e-6 * costs.write_bytes_per_s;
    return info;
  }
};

}  // namespace stoker
