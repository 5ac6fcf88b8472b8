#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stoker {

// Figures of a run, by name. What was not measured is absent.
using Figures = std::map<std::string, double>;

// Every number in the result of a run, by its place: "segments_s.compute". In addition:
//   - an object with a "median" is a figure itself: "images_per_s" = "images_per_s.median";
//   - of lists only "results" and "evaluations" are taken: an element is named by its name, type or
//     threads, else by its place, and the only element of "results" has no name of its own, so that
//     "results.0.images_per_s" is "images_per_s";
// "conditions" are not figures. `names`: further ones, as SweepOptions::figures; a path that a run
// does not have gives no figure.
Figures flatten(const nlohmann::json& output, const std::map<std::string, std::string>& names);

// A figure for people, with its unit where the name tells it: "1,234 images/s", "I/O share 12 %".
std::string figure_text(const std::string& name, double value);

}  // namespace stoker
