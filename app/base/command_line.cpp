#include "app/base/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kOverrides = "OVERRIDES";

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

// T: ByteSize, or optional.
template <class T>
CLI::Option* add_size(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  const auto parse = [name, &value](const std::string& text) {
    ByteSize size;
    if (!Scalar<ByteSize>::parse(text, size) || size.bytes == 0) {
      throw Error(ExitCode::config,
                  fmt::format("{} must be {}, got '{}'", name, Scalar<ByteSize>::expected, text));
    }
    value = size;
  };
  return app.add_option_function<std::string>(name, parse, help);
}

CLI::Option* add_option(CLI::App& app, const std::string& name, ByteSize& value,
                        const std::string& help) {
  return add_size(app, name, value, help)->default_str(Scalar<ByteSize>::format(value));
}

CLI::Option* add_option(CLI::App& app, const std::string& name, std::optional<ByteSize>& value,
                        const std::string& help) {
  return add_size(app, name, value, help)
      ->default_str(value ? Scalar<ByteSize>::format(*value) : "");
}

template <class T>
CLI::Option* add_option(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  CLI::Option* option = app.add_option(name, value, help);
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>) {
    const auto expand = [](std::string& word) {
      word = with_home(word);
      return std::string();
    };
    option->transform(CLI::Validator(expand, ""));
  }
  if constexpr (std::is_arithmetic_v<T>) {
    option->capture_default_str();
  } else if constexpr (std::is_same_v<T, std::string> || IsList<T>::value) {
    if (!value.empty()) option->capture_default_str();
  }
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    option->delimiter(',')->allow_extra_args(false);
  }
  return option;
}

// Refuses what is not a number within the bounds: "must be at least 0, got '-1'". CLI11's own rules
// print bounds with all digits, 309 of them for the largest double. T: what the number is read as.
// in_help: what the help shows.
template <class T>
CLI::Validator number_within(T lowest, T highest, const std::string& words,
                             const std::string& in_help) {
  const auto wrong = [=](const std::string& given) {
    T value{};
    const bool good =
        CLI::detail::lexical_cast(given, value) && value >= lowest && value <= highest;
    return good ? std::string() : fmt::format("must be {}, got '{}'", words, given);
  };
  return CLI::Validator(wrong, in_help);
}

template <class T>
CLI::Validator number_from(T lowest, T highest) {
  return number_within(
      lowest, highest, fmt::format("from {} to {}", lowest, highest),
      fmt::format("{} in [{} - {}]", std::is_integral_v<T> ? "INT" : "FLOAT", lowest, highest));
}

constexpr double kMost = std::numeric_limits<double>::max();

// The command that was given, with all of its words: "stoker bench read".
std::pair<const CLI::App*, std::string> given_command(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string words = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return {command, words};
}

// What an unknown option may mean as keys of the experiment: " (give loader.workers=4)". `value`:
// the word behind it.
std::string key_hint(const std::string& name, const std::string& value,
                     const CommandLine::KeysOf& keys_of) {
  std::string word = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  std::ranges::replace(word, '-', '_');
  std::vector<std::string> keys = keys_of(word);
  for (std::string& key : keys) key += "=" + value;
  return keys.empty() ? "" : fmt::format(" (give {})", fmt::join(keys, " or "));
}

// Throws the error for a command line with words that the command does not know. Names the unknown
// option and suggests a known one, or a key of the experiment.
[[noreturn]] void fail_unknown_option(const CLI::App& app, const CLI::ExtrasError& error,
                                      const std::vector<std::string>& words,
                                      const CommandLine::KeysOf& keys_of) {
  std::vector<std::string> known;
  bool takes_keys = false;
  for (const CLI::Option* option : given_command(app).first->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    takes_keys = takes_keys || option->get_name() == kOverrides;
  }
  for (const std::string& word : app.remaining(true)) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    if (!name.starts_with('-')) continue;
    std::string hint = did_you_mean(name, known);
    if (hint.empty() && takes_keys && keys_of) {
      const auto next = std::ranges::find(words, word) + 1;
      const bool follows = equals == word.size() && next < words.end() && !next->starts_with('-');
      const std::string value = equals < word.size() ? word.substr(equals + 1) : "VALUE";
      hint = key_hint(name, follows ? *next : value, keys_of);
    }
    if (hint.empty()) hint = suggestion(name, known);
    throw Error(ExitCode::config, fmt::format("unknown option '{}'{}", name, hint));
  }
  throw Error(ExitCode::config, error.what());
}

}  // namespace

struct Command::State {
  ExitCode result = ExitCode::ok;
  bool only_check = false;
};

Argument Argument::required() const { return Argument(option_->required()); }

Argument Argument::range(int64_t lowest, int64_t highest) const {
  return Argument(option_->check(number_from(lowest, highest)));
}

Argument Argument::between(double lowest, double highest) const {
  return Argument(option_->check(number_from(lowest, highest)));
}

Argument Argument::positive() const {
  return Argument(option_->check(
      number_within(std::numeric_limits<double>::min(), kMost, "a number above 0", "POSITIVE")));
}

Argument Argument::not_negative() const {
  return Argument(
      option_->check(number_within(0.0, kMost, "a number of at least 0", "NONNEGATIVE")));
}

Argument Argument::one_of(const std::vector<std::string>& words) const {
  const auto missing = [words](const std::string& given) {
    if (std::ranges::find(words, given) != words.end()) return std::string();
    return "there is no '" + given + "'" + suggestion(given, words);
  };
  return Argument(
      option_->check(CLI::Validator(missing, fmt::format("{{{}}}", fmt::join(words, ",")))));
}

Argument Argument::one_each() const { return Argument(option_->allow_extra_args(false)); }

Argument Argument::at_most(int words) const { return Argument(option_->expected(0, words)); }

Argument Argument::shown_as(const std::string& type) const {
  return Argument(option_->type_name(type));
}

Argument Argument::or_environment(const std::string& variable) const {
  return Argument(option_->envname(variable));
}

Argument Argument::excludes(const Argument& other) const {
  return Argument(option_->excludes(other.option_));
}

Argument Argument::needs(const Argument& other) const {
  return Argument(option_->needs(other.option_));
}

Command Command::add(const std::string& name, const std::string& help) const {
  return {app_->add_subcommand(name, help), state_};
}

Command Command::add_group(const std::string& name, const std::string& help) const {
  const Command group = add(name, help);
  group.app_->require_subcommand(1);
  return group;
}

std::optional<Command> Command::find(const std::string& name) const {
  const auto found = app_->get_subcommands([&](CLI::App* one) { return one->get_name() == name; });
  if (found.empty()) return std::nullopt;
  return Command(found.front(), state_);
}

void Command::footer(const std::string& text) const { app_->footer(text); }

template <class T>
Argument Command::argument(const std::string& name, T& value, const std::string& help) const {
  return Argument(add_option(*app_, name, value, help));
}

template Argument Command::argument(const std::string&, std::string&, const std::string&) const;
template Argument Command::argument(const std::string&, int64_t&, const std::string&) const;
template Argument Command::argument(const std::string&, uint64_t&, const std::string&) const;
template Argument Command::argument(const std::string&, double&, const std::string&) const;
template Argument Command::argument(const std::string&, ByteSize&, const std::string&) const;
template Argument Command::argument(const std::string&, std::optional<ByteSize>&,
                                    const std::string&) const;
template Argument Command::argument(const std::string&, std::optional<int64_t>&,
                                    const std::string&) const;
template Argument Command::argument(const std::string&, std::optional<double>&,
                                    const std::string&) const;
template Argument Command::argument(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Argument Command::argument(const std::string&, std::vector<int64_t>&,
                                    const std::string&) const;

Argument Command::flag(const std::string& name, bool& value, const std::string& help) const {
  return Argument(app_->add_flag(name, value, help));
}

Argument Command::overrides(std::vector<std::string>& value, const std::string& of) const {
  const std::string help = "Sets the key a.b to this value instead of what the " + of +
                           " says. May be given several times.";
  return argument(kOverrides, value, help).shown_as("a.b=c");
}

void Command::config(ConfigArguments& value) const {
  argument("CONFIG", value.config, "The experiment, a YAML file.").required();
  overrides(value.overrides);
  flag("--json", value.json, "Print the result as JSON.");
}

void Command::run(std::function<ExitCode()> work) const {
  app_->callback([state = state_, work = std::move(work)] {
    if (!state->only_check) state->result = work();
  });
}

CommandLine::CommandLine(const std::string& name, const std::string& help,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(help)), state_(std::make_unique<Command::State>()) {
  app_->name(name);
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const { return {app_.get(), state_.get()}; }

ExitCode CommandLine::run(const std::vector<std::string>& words) {
  check_commands(words);
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ExtrasError& error) {
    fail_unknown_option(*app_, error, words, keys_of_);
  } catch (const CLI::Success& asked) {  // help, or the version
    if (!state_->only_check) app_->exit(asked);
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::config,
                fmt::format("{}: see `{} --help`", error.what(), given_command(*app_).second));
  }
  return state_->result;
}

// CLI11 would take a mistyped command for an argument, and ask for a command.
void CommandLine::check_commands(const std::vector<std::string>& words) const {
  const CLI::App* at = app_.get();
  for (const std::string& word : words) {
    std::vector<std::string> known;
    const CLI::App* next = nullptr;
    for (const CLI::App* command : at->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(command->get_name());
      if (command->get_name() == word) next = command;
    }
    if (known.empty() || word.starts_with('-')) return;
    const auto positional = [](const CLI::Option* option) { return option->get_positional(); };
    if (next == nullptr && !at->get_options(positional).empty()) return;
    if (next == nullptr) {
      throw Error(ExitCode::config, "unknown command '" + word + "'" + suggestion(word, known));
    }
    at = next;
  }
}

void CommandLine::check(const std::vector<std::string>& words) {
  state_->only_check = true;
  run(words);
}

std::map<std::string, AddCommand>& registered_commands() {
  static std::map<std::string, AddCommand> commands;
  return commands;
}

OtherHalf& other_half() {
  static OtherHalf half;
  return half;
}

std::vector<std::string> directories_of_ranks(const std::string& directory) {
  std::vector<std::string> all{directory};
  for (int rank = 1;; ++rank) {
    const std::string other = fmt::format("{}/rank-{}", directory, rank);
    if (!std::filesystem::is_directory(other)) return all;
    all.push_back(other);
  }
}

}  // namespace stoker
