#pragma once

#include <memory>
#include <string>

#include "app/experiment/options.h"
#include "io/metrics/hub.h"

namespace stoker {

// The tiers, the data set and the decoder of an experiment, without its device. Opened by the
// constructor; Error and IoError as the components'. One thread at a time.
class ExperimentData {
 public:
  ExperimentData(const ExperimentOptions& options, const Notify& notify);

  const Hub& hub() const { return hub_; }
  const Tiers& tiers() const { return tiers_; }
  const Dataset& dataset() const { return *dataset_; }
  const Decoder& decoder() const { return *decoder_; }
  // The tier that the data set reads; empty: none.
  const std::string& tier() const { return tier_; }
  // Its files; null: it has none.
  const FileTree* files() const;

 private:
  Hub hub_;  // outlives what writes into it
  Tiers tiers_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Decoder> decoder_;
  std::string tier_;
};

}  // namespace stoker
