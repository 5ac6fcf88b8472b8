#pragma once

#include <vector>

#include "io/metrics/record/figures.h"

namespace stoker {

// The figures of a step's record that steps.csv, steps.jsonl and TensorBoard get every
// metrics.every_steps steps. Counters are those of the run so far, quotients those of the window.
// The names are the same in every row. Any thread; lives as long as the program.
inline const std::vector<const Figure*>& step_figures() {
  // What the trainer and the checkpoints publish is cheap enough for every step.
  static const std::vector<const Figure*> chosen =
      select_figures({"steps",
                      "epoch",
                      "images",
                      "wall_s",
                      "images_per_s",
                      "loss",
                      "learning_rate",
                      "exposed_io_share",
                      "io_share",
                      "device.idle_share",
                      "device.idle_share_by_cause.{cause}",
                      "segments_s.{segment}",
                      "segments_share.{segment}",
                      "evaluation.accuracy.{measure}",
                      "evaluation.auc",
                      "evaluation.iou",
                      "checkpoints.saved",
                      "checkpoints.failed",
                      "checkpoints.skipped",
                      "checkpoints.drained",
                      "checkpoints.drains_left",
                      "checkpoints.saved_step",
                      "checkpoints.durable_step",
                      "checkpoints.steps_at_risk"});
  return chosen;
}

}  // namespace stoker
