#include "app/process/failure.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "io/core/system/standard_streams.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// The verbs that hints begin with.
constexpr std::string_view kVerbs[] = {
    "add",    "allow",  "augment", "begin",  "build",     "check",  "choose",  "continue",
    "drop",   "end",    "finish",  "free",   "give",      "go",     "install", "keep",
    "leave",  "look",   "lower",   "make",   "measure",   "mend",   "mount",   "name",
    "put",    "raise",  "rebuild", "repair", "normalise", "number", "restore", "resume",
    "repeat", "run",    "say",     "see",    "set",       "start",  "stop",    "switch",
    "try",    "unpack", "use",     "wait",   "convert",   "fetch",  "import",  "load",
    "save",   "take"};
// Those that are operations of files, too, whose errors begin with them: "write a/b: No space left
// on device". An article or a pronoun tells them apart.
constexpr std::string_view kOperations[] = {"copy", "list", "read", "remove", "rename", "write"};
constexpr std::string_view kObjects[] = {"a",    "all", "another", "it",   "its",
                                         "some", "one", "the",     "them", "what"};

template <size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::ranges::find(words, word) != std::end(words);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

bool begins_hint(std::string_view text) {
  const std::string_view verb = first_word(text);
  if (verb.size() == text.size()) return false;
  const std::string_view rest = text.substr(verb.size() + 1), object = first_word(rest);
  if (is_one_of(verb, kOperations)) return is_one_of(object, kObjects);
  const bool noun = object == "of" || object == "is";  // "the end of ..."
  return is_one_of(verb, kVerbs) && !noun;
}

// Where a hint begins in a message of one line; npos: it has none.
size_t find_hint(std::string_view text) {
  for (size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
    const bool part = at > 0 && (text[at - 1] == ':' || text[at - 1] == ';');
    if (part && begins_hint(text.substr(at + 1))) return at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

std::string error_text(const std::string& what) {
  const std::string text = printable(what, LineBreaks::kept);
  const auto lines = [](std::string_view thing, std::string_view hint) {
    return "error: " + std::string(thing) + "\nhint: " + std::string(hint) + "\n";
  };
  if (text.find('\n') == std::string::npos) {
    const std::string_view all = text;
    if (const size_t hint = find_hint(all); hint != std::string_view::npos) {
      return lines(all.substr(0, hint - 2), all.substr(hint));
    }
    const size_t meant = all.rfind(" (did you mean '");
    if (meant != std::string_view::npos && all.ends_with("'?)")) {
      return lines(all.substr(0, meant), all.substr(meant + 2, all.size() - meant - 3));
    }
  }
  return "error: " + text + "\n";
}

void end_now(const Error& error) {
  // Whoever hangs may hold the lock of a stream.
  write_stderr(error_text(error.what()));
  std::_Exit(static_cast<int>(error.code()));
}

void end_within(std::chrono::milliseconds time, const Error& error) {
  const auto end = [time, error] {
    pthread_setname_np(pthread_self(), "end-within");
    std::this_thread::sleep_for(time);
    end_now(error);
  };
  try {
    std::thread(end).detach();  // the process may end before it
  } catch (const std::system_error&) {
    // No thread could be started. The process is then left to end by itself.
  }
}

}  // namespace stoker
