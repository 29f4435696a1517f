// The headers of a tar archive are checked before its parts are read.
#include "engine/copy/images/tar_headers.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/copy/tar_files.h"

namespace sparkplan::copy {
namespace {

using test::end;
using test::entry;
using test::filled;
using test::header;
using test::with_checksum;

Result<std::vector<TarEntry>> read_tar(const std::string& bytes) {
  return test::with_file(bytes, [](int file) { return tar_entries(file); });
}

}  // namespace

TEST_CASE("tar: a file has its place and its size, also in an extended header or above 8 GiB") {
  const std::string record = "12 size=700\n";
  const std::string bytes = entry("first", std::string(600, 'a')) + entry("pax", record, 'x') +
                            header("second", 0, '0') + filled(std::string(700, 'b')) + end();
  const auto entries = read_tar(bytes);
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].offset == 512);
  CHECK((*entries)[0].size == 600);
  CHECK((*entries)[1].name == "second");
  CHECK((*entries)[1].size == 700);
  CHECK(bytes[static_cast<std::size_t>((*entries)[1].offset)] == 'b');
  // A binary size, as of a file that octal digits cannot hold.
  std::string binary = header("large", 0, '0');
  binary.replace(124, 12, std::string(1, '\x80') + std::string(10, '\0') + '\x05');
  const auto small = read_tar(with_checksum(binary) + filled("bytes") + end());
  REQUIRE(small);
  CHECK(small->front().size == 5);
}

TEST_CASE("tar: a size beyond the file is refused") {
  CHECK_FALSE(read_tar(header("a", 1 << 20, '0') + end()));
  CHECK_FALSE(read_tar(entry("pax", "28 size=9223372036854775807\n", 'x') + header("a", 0, '0') + end()));
  for (const char first : {'\x80', '\xff'}) {
    std::string binary = header("a", 0, '0');
    binary.replace(124, 12, std::string(1, first) + std::string(11, '\xff'));
    CHECK_FALSE(read_tar(with_checksum(binary) + end()));
  }
  std::string no_number = header("a", 0, '0');
  no_number.replace(124, 11, "0000000009x");
  CHECK_FALSE(read_tar(with_checksum(no_number) + end()));
}

TEST_CASE("tar: the extended headers of an archive are bounded together, because no sign of life comes meanwhile") {
  const std::string text = "comment=" + std::string((1 << 20) - 32, 'a') + "\n";
  const std::string record = std::to_string(text.size() + 8) + " " + text;
  REQUIRE(record.size() == text.size() + 8);
  const std::string file = entry("pax", record, 'x') + entry("a", "");
  CHECK(read_tar(file + file + end()));
  std::string many;
  for (int i = 0; i < 17; ++i) many += file;
  CHECK_FALSE(read_tar(many + end()));
}

TEST_CASE("tar: links to files, sparse files, long names and other kinds are refused") {
  for (const char type : {'1', '3', '4', '6', '7', 'g', 'K', 'L', 'S', 'X'}) {
    INFO(type);
    CHECK_FALSE(read_tar(entry("a", "", type) + end()));
  }
  CHECK_FALSE(read_tar(entry("a", "content", '2') + end()));
  for (const std::string record : {"17 path=manifest\n", "21 linkpath=manifest\n", "22 GNU.sparse.major=1\n"}) {
    INFO(record);
    CHECK_FALSE(read_tar(entry("pax", record, 'x') + entry("a", "") + end()));
  }
  std::string in_two_parts = header("a", 0, '0');
  in_two_parts.replace(345, 6, "folder");
  CHECK_FALSE(read_tar(with_checksum(in_two_parts) + end()));
}

TEST_CASE("tar: a mode of another kind, or a target without a link, is refused") {
  // A reader in Go takes a file with the mode of a link for a link.
  const auto with_mode = [](const std::string& mode, char type) {
    std::string block = header("a", 0, type);
    block.replace(100, mode.size(), mode);
    return with_checksum(block) + end();
  };
  CHECK(read_tar(with_mode("0100644", '0')));
  CHECK(read_tar(with_mode("0040755", '5')));
  CHECK(read_tar(with_mode("0120777", '2')));
  CHECK(read_tar(with_mode("0004755", '0')));
  for (const std::string mode :
       {"0120644", "0040644", "0060644", "0020644", "0010644", "0140644", "1000644", "000064x"}) {
    INFO(mode);
    CHECK_FALSE(read_tar(with_mode(mode, '0')));
  }
  CHECK_FALSE(read_tar(with_mode("0100777", '2')));
  std::string with_target = header("a", 0, '0');
  with_target.replace(157, 5, "other");
  CHECK_FALSE(read_tar(with_checksum(with_target) + end()));
}

TEST_CASE("tar: an archive that is also a compressed one is refused") {
  // Engines decompress what begins with one of these marks. An extended header could have any name.
  const std::string record = "12 size=700\n";
  const auto named = [&](const std::string& name) {
    return entry(name, record, 'x') + header("second", 0, '0') + filled(std::string(700, 'b'));
  };
  CHECK(read_tar(named("PaxHeaders.0/second") + end()));
  for (const std::string mark : {"\x1f\x8b\x08\x04", "BZh91AY",
                                 "\xfd"
                                 "7zXZ",
                                 "\x28\xb5\x2f\xfd", "P*M\x18", ""}) {
    CHECK_FALSE(read_tar(named(mark) + end()));
  }
  const std::string honest = named("PaxHeaders.0/second") + end();
  CHECK(read_tar(honest + std::string(10'240, '\0')));
  CHECK_FALSE(read_tar(honest + std::string(512, '\0') + "behind"));
  CHECK_FALSE(read_tar(honest + std::string((1 << 20) + 512, '\0')));
}

TEST_CASE("tar: broken headers and ends are refused") {
  CHECK(read_tar(""));
  CHECK(read_tar(end()));
  CHECK(read_tar(entry("a", "content")));
  CHECK_FALSE(read_tar("short"));
  CHECK_FALSE(read_tar(std::string(512, 'x')));
  CHECK_FALSE(read_tar(std::string(512, '\0') + entry("hidden", "")));
  std::string changed = header("a", 0, '0');
  changed[0] = 'b';
  CHECK_FALSE(read_tar(changed + end()));
  std::string without_magic = header("a", 0, '0');
  without_magic.replace(257, 5, "tsrau");
  CHECK_FALSE(read_tar(with_checksum(without_magic) + end()));
  const std::string file = entry("a", std::string(600, 'a'));
  CHECK_FALSE(read_tar(file.substr(0, file.size() - 1)));
  for (const std::string record :
       {"size=1\n", "9 size=1\n\n", "99 size=1\n", "9 size=-1", "3 \n", "4 =\n", "11 size=-1\n", "11 size=0x\n"}) {
    INFO(record);
    CHECK_FALSE(read_tar(entry("pax", record, 'x') + entry("a", "") + end()));
  }
  CHECK_FALSE(read_tar(entry("pax", "", 'x') + end()));
  CHECK_FALSE(read_tar(entry("pax", "", 'x') + entry("pax", "", 'x') + entry("a", "") + end()));
}

}  // namespace sparkplan::copy
