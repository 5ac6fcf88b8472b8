#include "app/tools/checkpoint/files/zip.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// Names of lengths that need all paddings.
void write_entries(const std::string& path, size_t count) {
  AtomicFile file(path);
  ZipWriter zip(file);
  for (size_t i = 0; i < count; ++i) zip.add(std::string(i + 1, 'n'), std::string(3 * i, 'z'));
  zip.finish();
  file.commit();
}

TEST(Zip, what_is_written_is_read_and_aligned) {
  const TemporaryDirectory here;
  write_entries(here / "z", 70);
  const InputFile file(here / "z");
  const auto entries = read_zip(file);
  ASSERT_EQ(entries.size(), 70u);
  for (const auto& [name, entry] : entries) {
    EXPECT_EQ(entry.offset % 64, 0u) << name;
    EXPECT_EQ(file.text(entry.offset, entry.bytes), std::string(3 * (name.size() - 1), 'z'));
  }
  EXPECT_EQ(entries.at("nn").crc32, 0xc3273dcau);  // Python's zlib.crc32(b"zzz")
}

// Too many entries for the record of a small zip.
TEST(Zip, more_entries_than_16_bits_count_are_read_by_the_zip64_record) {
  const TemporaryDirectory here;
  {
    AtomicFile file(here / "z");
    ZipWriter zip(file);
    for (int i = 0; i < 65'600; ++i) zip.add(std::to_string(i), "");
    zip.finish();
    file.commit();
  }
  EXPECT_EQ(read_zip(InputFile(here / "z")).size(), 65'600u);
}

TEST(Zip, every_truncation_is_refused) {
  const TemporaryDirectory here;
  write_entries(here / "z", 5);
  const std::string whole = here.read("z");
  for (size_t size = 0; size < whole.size(); ++size) {
    here.write("cut", whole.substr(0, size));
    EXPECT_EQ(code_of([&] { read_zip(InputFile(here / "cut")); }), ExitCode::storage) << size;
  }
}

// Whatever a byte is changed to, the reader returns entries within the file, or refuses it.
TEST(Zip, no_changed_byte_leads_out_of_the_file) {
  const TemporaryDirectory here;
  write_entries(here / "z", 5);
  const std::string whole = here.read("z");
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      here.write("changed", changed);
      const InputFile file(here / "changed");
      try {
        for (const auto& [name, entry] : read_zip(file)) file.need(entry.offset, entry.bytes);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::storage);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

// The directory of two entries of the same place.
TEST(Zip, entries_in_each_other_and_names_that_occur_twice_are_refused) {
  const TemporaryDirectory here;
  {
    AtomicFile file(here / "twice");
    ZipWriter zip(file);
    zip.add("a", "one");
    zip.add("a", "two");
    zip.finish();
    file.commit();
  }
  EXPECT_NE(error_of([&] { read_zip(InputFile(here / "twice")); }).find("entry a occurs twice"),
            std::string::npos);
  write_entries(here / "z", 2);
  std::string whole = here.read("z");
  const size_t second = whole.rfind("PK\x01\x02");
  whole.replace(second + 42, 4, std::string(4, '\0'));  // where the first one is
  here.write("same", whole);
  EXPECT_NE(error_of([&] { read_zip(InputFile(here / "same")); }).find("lie in each other"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
