#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The seam to the command-line library: what declares or runs commands includes this, and not the
// library, which takes seconds to compile.

namespace stoker {

struct ByteSize;

// One argument of a command, to say more about it. Valid as long as its CommandLine.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument& required();
  // What a number may be; a list's every number.
  Argument& range(int64_t lowest, int64_t highest);
  Argument& between(double lowest, double highest);
  Argument& positive();
  Argument& not_negative();
  Argument& one_of(const std::vector<std::string>& words);
  // A list takes one word each time it is given, where it would take all that follow.
  Argument& one_each();
  Argument& at_most(int words);  // of a list
  Argument& shown_as(const std::string& type);
  // Where it is not given and this variable is.
  Argument& or_environment(const std::string& variable);
  Argument& excludes(const Argument& other);
  Argument& needs(const Argument& other);

 private:
  CLI::Option* option_;
};

// What declares a command's arguments. A copy means the same command. Variables that arguments are
// read into must live until the command has run: run() keeps what its function captures.
class Command {
 public:
  // A command below this one.
  Command add(const std::string& name, const std::string& help) const;
  // The same; one of the commands below it has to be given.
  Command add_group(const std::string& name, const std::string& help) const;
  void footer(const std::string& text) const;

  // An option ("--rounds", "-q,--quiet") or, without dashes, a positional argument. The help shows
  // the variable's value as the default, unless it is empty. T: std::string, int64_t, uint64_t,
  // double, ByteSize (512KiB, 1m; not 0), optional<int64_t, double or ByteSize>, and lists:
  // vector<std::string> takes the words that follow, vector<int64_t> one word (1,2,4).
  template <class T>
  Argument argument(const std::string& name, T& value, const std::string& help) const;
  Argument flag(const std::string& name, bool& value, const std::string& help) const;
  // a.b=value, any number of them.
  Argument overrides(std::vector<std::string>& value, const std::string& of = "file") const;
  // CONFIG [a.b=c ...]
  void config(ConfigArguments& value) const;

  // What the command does; its result is the program's. Errors leave it as exceptions.
  void run(std::function<ExitCode()> work) const;

 private:
  friend class CommandLine;
  struct State;
  Command(CLI::App* app, State* state) : app_(app), state_(state) {}

  CLI::App* app_;
  State* state_;
};

// A whole command line. One thread.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root() const;
  // Parses and runs the command. Usage errors are printed, and are ExitCode::config; help is
  // printed, too. Throws what the command throws.
  ExitCode run(int argc, char** argv);
  // Parses and runs nothing. Error(ExitCode::config) where `words` are not as they have to be.
  void check(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command::State> state_;
};

}  // namespace stoker
