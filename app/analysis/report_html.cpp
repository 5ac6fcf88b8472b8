#include <stoker_version.h>

#include <nlohmann/json.hpp>

#include "app/analysis/report_page.h"

namespace stoker {

std::string report_html(nlohmann::json data) {
  constexpr std::string_view kPlace = "{{data}}";
  data["version"] = STOKER_VERSION;
  std::string text;
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    // In JSON it only stands in texts; an element or a comment could begin with it.
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  std::string page(report_page());
  return page.replace(page.find(kPlace), kPlace.size(), text);
}

}  // namespace stoker
