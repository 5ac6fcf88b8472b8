#include "io/core/config/registry.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace stoker {

struct Animal {
  static constexpr const char* kKind = "animal";
  struct Info {
    int64_t legs = 0;
  };
  struct Inputs {
    std::string suffix;
  };
  virtual ~Animal() = default;
  virtual std::string sound() const = 0;
};
template <>
Registry<Animal>& Registry<Animal>::global() {
  static Registry registry;
  return registry;
}

namespace {

struct Dog final : Animal {
  struct Options {
    int64_t barks = 1;
    bool leash = false;
    template <class V>
    void visit(V& v) {
      v("barks", barks, "how often");
      v("leash", leash, same_results("led by one"));
    }
    Info info() const { return {4}; }
  };
  Dog(Options options, const Inputs& inputs) : options(options), inputs(inputs) {}
  std::string sound() const override {
    return std::string(static_cast<size_t>(options.barks), 'w') + inputs.suffix;
  }
  Options options;
  Inputs inputs;
};

struct Loud final : Animal {
  struct Options {
    Component<Animal> inner;
    template <class V>
    void visit(V& v) {
      v.required("inner", inner, "what is louder");
    }
  };
  Loud(Options options, const Inputs& inputs) : inner(options.inner.create(inputs)) {}
  std::string sound() const override { return inner->sound() + "!"; }
  std::unique_ptr<Animal> inner;
};

struct Fish final : Animal {
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Fish(Options, const Inputs&) {}
  std::string sound() const override { return ""; }
};

STOKER_REGISTER(Animal, "dog", Dog);
STOKER_REGISTER(Animal, "fish", Fish);
STOKER_REGISTER(Animal, "loud", Loud);

Component<Animal> parse(const std::string& text) {
  const Node node = parse_yaml(text, "t.yaml");
  return Registry<Animal>::global().parse(Section(node, "", "animal", nullptr));
}

std::string animal_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

TEST(Registry, builds_what_the_type_names) {
  EXPECT_EQ(parse("{type: dog, barks: 3}").create({"?"})->sound(), "www?");
}

TEST(Registry, components_nest) {
  const Component<Animal> both =
      parse("{type: loud, inner: {type: loud, inner: {type: dog, barks: 2}}}");
  EXPECT_EQ(both.create({""})->sound(), "ww!!");
}

TEST(Registry, errors_inside_a_nested_component_have_its_path) {
  EXPECT_EQ(animal_error("{type: loud, inner: {type: dog, bark: 2}}"),
            "t.yaml:1:33: animal.inner: unknown key 'bark' (did you mean 'barks'?)");
}

TEST(Registry, unknown_and_missing_types_suggest) {
  EXPECT_EQ(animal_error("{type: dgo}"),
            "t.yaml:1:8: animal: unknown animal 'dgo' (did you mean 'dog'?)");
  EXPECT_EQ(animal_error("{type: dogg}"),
            "t.yaml:1:8: animal: unknown animal 'dogg' (did you mean 'dog'?)");
  EXPECT_EQ(animal_error("{barks: 1}"),
            "t.yaml:1:1: animal: missing key 'type' (known: dog, fish, loud)");
  EXPECT_EQ(animal_error("dog"),
            "t.yaml:1:1: 'animal' must be a mapping with a type, e.g. {type: dog}");
}

struct Zoo {
  Component<Animal> animal = default_component<Animal>("dog");
  std::map<std::string, Component<Animal>> cages;
  template <class V>
  void visit(V& v) {
    v("animal", animal, "the only one");
    v("cages", cages, "or some");
  }
};

Zoo zoo(const std::string& text, const std::string& override_text = "cages={}") {
  Node node = parse_yaml(text, "t.yaml");
  apply_override(node, override_text);
  Zoo result;
  read_struct(Section(node, "", "", nullptr), result);
  return result;
}

TEST(Registry, without_a_type_a_component_is_of_its_defaults) {
  EXPECT_EQ(zoo("animal: {barks: 2}").animal.create({"?"})->sound(), "ww?");
  EXPECT_EQ(zoo("animal:").animal.create({"?"})->sound(), "w?");
  EXPECT_EQ(zoo("{}", "animal.barks=3").animal.create({"?"})->sound(), "www?");
  EXPECT_EQ(zoo("animal: {type: fish}").animal.type(), "fish");
  EXPECT_EQ(error_of([] { zoo("animal: {tpye: fish}"); }),
            "t.yaml:1:10: animal: unknown key 'tpye' (did you mean 'type'?)");
  EXPECT_EQ(error_of([] { zoo("animal: fish"); }),
            "t.yaml:1:9: 'animal' must be a mapping with a type, e.g. {type: dog}");
}

TEST(Registry, a_slip_in_an_overrides_name_makes_nothing_new) {
  const std::string text = "cages: {rex: {type: dog}}";
  EXPECT_EQ(zoo(text, "cages.rex.barks=2").cages.at("rex").create({"?"})->sound(), "ww?");
  EXPECT_EQ(zoo(text, "cages.rexi={type: fish}").cages.size(), 2u);
  EXPECT_EQ(error_of([&] { zoo(text, "cages.rxe.barks=2"); }),
            "override 'cages.rxe.barks=2': cages.rxe: it does not exist (did you mean 'rex'?); to "
            "define it, give 'type'");
  EXPECT_EQ(
      error_of([&] { zoo(text, "cages.rxe.type=loud"); }),
      "override 'cages.rxe.type=loud': cages.rxe: it does not exist (did you mean 'rex'?); to "
      "define it, give 'inner'");
  EXPECT_EQ(error_of([&] { zoo(text, "cages.lassie.barks=2"); }),
            "override 'cages.lassie.barks=2': cages.lassie: missing key 'type' (known: dog, fish, "
            "loud)");
}

TEST(Registry, a_slip_in_the_key_type_is_named) {
  EXPECT_EQ(animal_error("{barks: 1, tpye: dog}"),
            "t.yaml:1:12: animal: unknown key 'tpye' (did you mean 'type'?)");
}

TEST(Registry, a_dump_reads_back_and_has_all_defaults) {
  const std::string text = to_yaml(parse("{type: loud, inner: {type: dog}}").dump());
  EXPECT_EQ(text, "type: loud\ninner:\n  type: dog\n  barks: 1\n  leash: false");
  EXPECT_EQ(to_yaml(parse(text).dump()), text);
}

TEST(Registry, a_default_component_has_all_defaults) {
  EXPECT_EQ(default_component<Animal>("dog").create({"."})->sound(), "w.");
}

TEST(Registry, a_component_says_what_it_is_before_it_is_built_through_wrappers_too) {
  EXPECT_EQ(parse("{type: dog}").info().legs, 4);
  EXPECT_EQ(parse("{type: loud, inner: {type: loud, inner: {type: dog}}}").info().legs, 4);
  EXPECT_EQ(parse("{type: fish}").info().legs, 0);
}

TEST(Registry, a_wrapper_shows_what_it_is_around) {
  const Component<Animal> both = parse("{type: loud, inner: {type: dog}}");
  EXPECT_EQ(both.inner().type(), "dog");
  EXPECT_FALSE(both.inner().inner());
}

TEST(Registry, options_are_for_those_who_know_their_type) {
  const Component<Animal> dog = parse("{type: dog, barks: 3}");
  ASSERT_NE(dog.options<Dog::Options>(), nullptr);
  EXPECT_EQ(dog.options<Dog::Options>()->barks, 3);
  EXPECT_EQ(dog.options<Loud::Options>(), nullptr);
}

TEST(Registry, a_component_is_changed_as_on_the_command_line) {
  EXPECT_EQ(changed(parse("{type: dog}"), {"barks=2"}).create({"?"})->sound(), "ww?");
  EXPECT_EQ(changed(parse("{type: dog, barks: 2}"), {"type=fish"}).type(), "fish");
  EXPECT_EQ(error_of([] { changed(parse("{type: dog}"), {"bark=2"}); }),
            "override 'bark=2': animal: unknown key 'bark' (did you mean 'barks'?)");
}

TEST(Registry, a_new_type_drops_what_it_does_not_know) {
  std::vector<std::string> notes;
  ConfigContext context;
  context.note = [&](const std::string& note) { notes.push_back(note); };
  const auto animal = [&](const std::string& text, const std::vector<std::string>& overrides) {
    notes.clear();
    Node root = parse_yaml("animal: " + text, "t.yaml");
    for (const std::string& assignment : overrides) apply_override(root, assignment);
    Zoo result;
    read_struct(Section(root, "", "", &context), result);
    return to_yaml(result.animal.dump());
  };
  EXPECT_EQ(animal("{type: dog, barks: 2, leash: true}", {"animal.type=fish"}), "type: fish");
  EXPECT_EQ(notes, std::vector<std::string>{
                       "animal.type=fish: dropped 'barks', 'leash', which fish does not know"});
  // What has its default is not worth a word.
  EXPECT_EQ(animal("{type: dog, barks: 1}", {"animal.type=fish"}), "type: fish");
  EXPECT_TRUE(notes.empty());
  // The default's type stood there before.
  EXPECT_EQ(animal("{barks: 2}", {"animal.type=fish"}), "type: fish");
  EXPECT_EQ(notes.size(), 1u);
  // Overrides go in their order; the last type counts.
  EXPECT_EQ(animal("{type: fish}", {"animal.type=dog", "animal.barks=3"}),
            "type: dog\nbarks: 3\nleash: false");
  EXPECT_EQ(animal("{type: dog}", {"animal.barks=3", "animal.type=fish", "animal.type=dog"}),
            "type: dog\nbarks: 1\nleash: false");
  EXPECT_EQ(
      error_of([&] {
        animal("{type: dog}", {"animal.type=fish", "animal.barks=3"});
      }),
      "override 'animal.barks=3': animal: unknown key 'barks' (the animal type 'dog' has it)");
  EXPECT_EQ(error_of([&] { animal("{type: dog, barsk: 2}", {"animal.type=fish"}); }),
            "t.yaml:1:21: animal: unknown key 'barsk' (known: type)");
  EXPECT_EQ(error_of([&] { animal("{type: dog, barks: 2}", {"animal.type=fihs"}); }),
            "override 'animal.type=fihs': animal: unknown animal 'fihs' (did you mean 'fish'?)");
}

TEST(Registry, a_wrapper_keeps_what_stood_there_and_is_taken_away_again) {
  const auto type = [](const std::string& text, const std::vector<std::string>& overrides) {
    Node root = parse_yaml("animal: " + text, "t.yaml");
    for (const std::string& assignment : overrides) apply_override(root, assignment);
    Zoo result;
    read_struct(Section(root, "", "", nullptr), result);
    return to_yaml(result.animal.dump());
  };
  const std::string dog = "{type: dog, barks: 2}";
  const std::string loud = "{type: loud, inner: {type: dog, barks: 2}}";
  EXPECT_EQ(type(dog, {"animal.type=loud"}), type(loud, {}));
  EXPECT_EQ(type("{barks: 2}", {"animal.type=loud"}), type(loud, {}));
  EXPECT_EQ(type(dog, {"animal.type=loud", "animal.inner.barks=2"}), type(loud, {}));
  EXPECT_EQ(type(loud, {"animal.type=dog"}), type(dog, {}));
  EXPECT_EQ(type(loud, {"animal.type=fish"}), "type: fish");
  EXPECT_EQ(type(loud, {"animal.inner.type=fish"}), "type: loud\ninner:\n  type: fish");
}

TEST(Registry, an_unknown_key_names_the_type_that_has_it) {
  EXPECT_EQ(animal_error("{type: fish, barks: 1}"),
            "t.yaml:1:14: animal: unknown key 'barks' (the animal type 'dog' has it)");
}

TEST(Registry, a_new_component_says_all_that_it_needs) {
  EXPECT_EQ(error_of([] { zoo("{}", "cages.lassie.type=loud"); }),
            "override 'cages.lassie.type=loud': cages.lassie: missing key 'inner': add "
            "cages.lassie.inner=...");
}

TEST(Registry, options_that_change_no_result_are_known_by_their_paths) {
  EXPECT_EQ(parse("{type: loud, inner: {type: dog}}").same_result_keys("a."),
            std::vector<std::string>{"a.inner.leash"});
}

TEST(Registry, a_second_registration_is_reported_with_both_files) {
  Registry<Animal> registry;
  registry.add({{"dog", "a.cpp"}, nullptr, nullptr});
  registry.add({{"dog", "b.cpp"}, nullptr, nullptr});
  const Node node = parse_yaml("{type: dog}", "t.yaml");
  EXPECT_EQ(error_of([&] { registry.parse(Section(node, "", "animal", nullptr)); }),
            "animal 'dog' is registered by both a.cpp and b.cpp: rename one, or take one from "
            "plugins:");
}

}  // namespace
}  // namespace stoker
