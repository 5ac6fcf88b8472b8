#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/tools/report/bootstrap.h"

namespace stoker {

// A figure through the windows of a run of any length, in bounded memory: where there are very many
// windows, neighbours are one piece together, which leaves level() as it is. A value.
class Course {
 public:
  // One more window.
  void add(const Piece& window);
  // All windows in their order, in not many more than kMostPieces pieces.
  std::vector<Piece> pieces() const;
  // How many windows were added.
  size_t windows() const { return windows_; }
  // Pearson's correlation of neighbouring windows. 0 if all are equal, or if there are few.
  double autocorrelation() const;

  static constexpr size_t kMostPieces = 2048;

 private:
  std::vector<Piece> pieces_;
  size_t per_piece_ = 1;  // windows
  Piece open_;            // the piece that is not full
  size_t in_open_ = 0;    // windows
  size_t windows_ = 0;
  // Of the values as they differ from the first one.
  double first_ = 0, last_ = 0;
  double sum_ = 0, squares_ = 0, products_ = 0;
};

// A figure to follow: a column of steps.csv. summed: the ranks' values are added up, else averaged.
struct FollowedFigure {
  std::string column;
  bool summed = false;
};

// How these figures went in the run of these ranks' directories, one course for each, in their
// order: a window is a row of steps.csv beside the first, of all ranks together. A window in which
// a rank has no row of that step, or no such figure, is left out. Reads the files row by row.
// Errors as Table::read().
std::vector<Course> courses_of(const std::vector<std::string>& ranks,
                               const std::vector<FollowedFigure>& figures);

}  // namespace stoker
