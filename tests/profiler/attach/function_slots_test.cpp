#include "io/profiler/attach/function_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/profiler/attach/elf_bytes.h"

namespace stoker {
namespace {

using testing::UnorderedElementsAre;

const FunctionNames kNames{{"read", 0}, {"pread64", 1}, {"close", 2}};

FunctionSlots slots_in(const std::vector<std::byte>& file) {
  const auto object = ElfObject::of_file(file);
  return object ? find_function_slots(*object, kNames) : FunctionSlots{};
}

using Row = std::tuple<uint64_t, uint32_t, bool, uint64_t>;
std::vector<Row> rows(const FunctionSlots& found) {
  std::vector<Row> rows;
  for (const FunctionSlot& slot : found.slots) {
    rows.emplace_back(slot.address, slot.function, slot.may_be_unbound, slot.definition);
  }
  return rows;
}

constexpr uint64_t slot(uint64_t number) { return ElfBytes::kBase + ElfBytes::kSlots + 8 * number; }

// Of either machine: two names that are wanted, one that is not, and one that the object defines.
struct Types {
  uint16_t machine;
  uint32_t address, data, jump, relative, irelative;
};
constexpr Types kAarch64{EM_AARCH64, 1025, 257, 1026, 1027, 1032};
constexpr Types kX86{EM_X86_64, 6, 1, 7, 8, 37};

ElfBytes object_of(const Types& types) {
  ElfBytes object(types.machine);
  const uint32_t read = object.add_symbol("read", 0);
  const uint32_t pread = object.add_symbol("pread64", 0);
  const uint32_t other = object.add_symbol("reader", 0);
  const uint32_t close = object.add_symbol("close", ElfBytes::kBase + 0x750);
  object.add_relocation(types.address, read, slot(0));
  object.add_relocation(types.data, pread, slot(1));
  object.add_relocation(types.data, pread, slot(2), 8);
  object.add_relocation(types.relative, 0, slot(3), 0x1000);
  object.add_relocation(types.irelative, read, slot(4), 0x1000);
  object.add_jump(types.jump, read, slot(5));
  object.add_jump(types.jump, other, slot(6));
  object.add_jump(types.jump, close, slot(7));
  return object;
}

class FunctionSlotsTest : public testing::TestWithParam<Types> {};

TEST_P(FunctionSlotsTest, are_those_of_jumps_addresses_and_data_of_both_machines) {
  const FunctionSlots found = slots_in(object_of(GetParam()).bytes());
  EXPECT_THAT(rows(found), UnorderedElementsAre(Row(slot(0), 0, false, 0),
                                                Row(slot(1), 1, false, 0), Row(slot(5), 0, true, 0),
                                                Row(slot(7), 2, true, ElfBytes::kBase + 0x750)));
  EXPECT_EQ(found.relocations, 8);
  EXPECT_EQ(found.damaged, 0);
}

TEST_P(FunctionSlotsTest, outside_of_the_object_are_left_out) {
  ElfBytes object = object_of(GetParam());
  const uint32_t read = 1;
  for (const uint64_t address : {uint64_t{0}, ElfBytes::kBase - 8, slot(0) + 1,
                                 ElfBytes::kBase + 0x800, ~uint64_t{7}, ~uint64_t{0}}) {
    object.add_jump(GetParam().jump, read, address);
  }
  object.add_jump(GetParam().jump, 0x7fffffff, slot(8));
  const FunctionSlots found = slots_in(object.bytes());
  EXPECT_EQ(found.slots.size(), 4);
  EXPECT_EQ(found.damaged, 7);
}

INSTANTIATE_TEST_SUITE_P(machines, FunctionSlotsTest, testing::Values(kAarch64, kX86),
                         [](const auto& info) {
                           return info.param.machine == EM_AARCH64 ? "aarch64" : "x86_64";
                         });

TEST(DamagedElf, tables_that_lead_out_of_the_file_are_empty) {
  for (const size_t entry : {0, 1, 3, 5}) {  // addresses
    ElfBytes object = object_of(kAarch64);
    constexpr std::array<int64_t, 6> kTags{DT_SYMTAB, DT_STRTAB, 0, DT_RELA, 0, DT_JMPREL};
    for (const uint64_t address : {uint64_t{0}, ElfBytes::kBase + 0x7f8, ~uint64_t{0}}) {
      object.set_dynamic(entry, kTags[entry], address);
      EXPECT_LT(slots_in(object.bytes()).slots.size(), 4) << entry << " at " << address;
    }
  }
  for (const auto& [entry, tag] : {std::pair{2, DT_STRSZ}, {4, DT_RELASZ}, {6, DT_PLTRELSZ}}) {
    ElfBytes object = object_of(kAarch64);
    object.set_dynamic(static_cast<size_t>(entry), tag, ~uint64_t{0});
    const FunctionSlots found = slots_in(object.bytes());
    EXPECT_LT(found.slots.size(), 4);
    EXPECT_GT(found.damaged, 0);
  }
}

TEST(DamagedElf, a_file_that_ends_early_gives_no_slot_outside_of_it) {
  const std::vector<std::byte> whole = object_of(kAarch64).bytes();
  for (size_t size = 0; size < whole.size(); size += 13) {
    EXPECT_TRUE(
        slots_in({whole.begin(), whole.begin() + static_cast<int64_t>(size)}).slots.empty());
  }
}

TEST(DamagedElf, is_no_object_where_segments_lead_out_of_the_file) {
  for (const uint64_t bytes : {uint64_t{0x801}, ~uint64_t{0}}) {
    ElfBytes object = object_of(kAarch64);
    object.set_segment(0, {PT_LOAD, PF_R | PF_W, 0, ElfBytes::kBase, 0, bytes, bytes, 0x1000});
    EXPECT_FALSE(ElfObject::of_file(object.bytes()));
    object.set_segment(0, {PT_LOAD, PF_R | PF_W, bytes, ElfBytes::kBase, 0, 8, 8, 0x1000});
    EXPECT_FALSE(ElfObject::of_file(object.bytes()));
  }
}

TEST(DamagedElf, a_name_without_an_end_is_no_name) {
  ElfBytes object(EM_AARCH64);
  const uint32_t read = object.add_symbol("read", 0);
  object.add_jump(kAarch64.jump, read, slot(0));
  object.set_dynamic(2, DT_STRSZ, 1 + 4);  // without read's zero
  EXPECT_TRUE(slots_in(object.bytes()).slots.empty());
}

TEST(ElfObject, of_another_kind_is_none) {
  const std::vector<std::byte> whole = object_of(kAarch64).bytes();
  for (const size_t at : {size_t{0}, size_t{EI_CLASS}, size_t{EI_DATA}, size_t{18}, size_t{54}}) {
    std::vector<std::byte> other = whole;
    other[at] = std::byte{99};
    EXPECT_FALSE(ElfObject::of_file(other)) << at;
  }
}

}  // namespace
}  // namespace stoker
