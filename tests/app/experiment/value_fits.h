#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

namespace stoker {

// What the oracle says of a mutant.
enum class Expected { wrong, right, either };

// Is the text a number as the type says, such as "integer from 1 to 1024"?
inline Expected number_fits(const std::string& type, const std::string& text) {
  const bool integer = type.starts_with("integer");
  const char* digits = integer ? "0123456789" : "0123456789.e+-";
  if (text.find_first_not_of(digits) != text.npos) return Expected::wrong;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0') return Expected::wrong;
  if (text.size() > 1 && text[0] == '0' && std::isdigit(text[1]) != 0) return Expected::wrong;
  const auto bound = [&](const std::string& before, double none) {
    const size_t at = type.find(before);
    return at == type.npos ? none : std::stod(type.substr(at + before.size()));
  };
  const double least = std::max(bound(" from ", -1e300), bound(" of at least ", -1e300));
  const double most = std::min(bound(" to ", 1e300), bound(" of at most ", 1e300));
  const bool fits = value >= least && value <= most && (!integer || value < 9e18);
  return fits ? Expected::either : Expected::wrong;  // another value may contradict it
}

// May such a text stand in the place of a value of this type?
inline Expected fits(const std::string& type, const std::string& text) {
  if (type == "text") return Expected::right;
  if (type.starts_with("integer") || type.starts_with("number")) return number_fits(type, text);
  if (type == "auto or a number from 1 to 1024") {
    return text == "auto" ? Expected::right : number_fits("integer from 1 to 1024", text);
  }
  return Expected::either;
}

}  // namespace stoker
