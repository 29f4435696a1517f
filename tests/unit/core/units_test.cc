#include "engine/core/units.h"

#include <limits>
#include <random>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

template <class T>
bool is_refused(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::kInvalidInput;
}

TEST_CASE("Binary units are powers of 1024, and decimal units are powers of 1000") {
  CHECK(parse_bytes("256MiB") == 268435456);
  CHECK(parse_bytes("1KiB") == 1024);
  CHECK(parse_bytes("1GiB") == 1073741824);
  CHECK(parse_bytes("1TiB") == 1099511627776);
  CHECK(parse_bytes("1kB") == 1000);
  CHECK(parse_bytes("2MB") == 2000000);
  CHECK(parse_bytes("3GB") == 3000000000);
  CHECK(parse_bytes("4TB") == 4000000000000);
}

TEST_CASE("A single letter is a power of 1024") {
  CHECK(parse_bytes("64k") == 65536);
  CHECK(parse_bytes("64K") == 65536);
  CHECK(parse_bytes("1M") == 1048576);
}

TEST_CASE("A number without a unit is in bytes") {
  CHECK(parse_bytes("9000") == 9000);
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("7B") == 7);
  CHECK(parse_bytes(" 256 MiB ") == 268435456);
}

TEST_CASE("A fraction of a unit is refused unless it gives whole bytes") {
  CHECK(parse_bytes("1.5GB") == 1500000000);
  CHECK(parse_bytes("0.5KiB") == 512);
  CHECK(parse_bytes("1.000B") == 1);
  CHECK(parse_bytes("0.0009765625KiB") == 1);
  CHECK(is_refused(parse_bytes("1.5")));
  CHECK(is_refused(parse_bytes("0.3KiB")));
  CHECK(is_refused(parse_bytes("1.0001kB")));
}

TEST_CASE("Sizes above 2^53 bytes are exact") {
  CHECK(parse_bytes("9007199254740993") == 9007199254740993);
  CHECK(parse_bytes("9007199254.740993GB") == 9007199254740993000);
}

TEST_CASE("Sizes above int64 are refused, and the largest int64 is accepted") {
  CHECK(parse_bytes("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(is_refused(parse_bytes("9223372036854775808")));
  CHECK(parse_bytes("8388607TiB"));
  CHECK(is_refused(parse_bytes("8388608TiB")));
  CHECK(is_refused(parse_bytes("99999999999999999999999")));
}

TEST_CASE("An invalid size is refused") {
  for (const auto* text :
       {"", " ", "MiB", "-1", "+1", "1e3", "0x10", "1.", ".5", "1..5", "1MiBx", "1 2", "1mb", "1PiB", "1Mi B"}) {
    INFO(text);
    CHECK(is_refused(parse_bytes(text)));
  }
}

TEST_CASE("Durations are sums from large units to small ones") {
  CHECK(parse_duration("90s") == milliseconds(90000));
  CHECK(parse_duration("5m") == milliseconds(300000));
  CHECK(parse_duration("1h30m") == milliseconds(5400000));
  CHECK(parse_duration("200ms") == milliseconds(200));
  CHECK(parse_duration("1h1m1s1ms") == milliseconds(3661001));
  CHECK(parse_duration("0.5s") == milliseconds(500));
}

TEST_CASE("A number without a unit is in seconds") {
  CHECK(parse_duration("30") == milliseconds(30000));
  CHECK(parse_duration("0") == milliseconds(0));
}

TEST_CASE("An invalid duration is refused") {
  for (const auto* text : {"", "s", "-5s", "5x", "5 s m", "30m1h", "1m1m", "1h30", "1.0005s", "1d", "5S", "1e3s"}) {
    INFO(text);
    CHECK(is_refused(parse_duration(text)));
  }
}

TEST_CASE("Durations that overflow are refused") {
  CHECK(is_refused(parse_duration("9223372036854775807s")));
  CHECK(is_refused(parse_duration("2562047788015h9223372036854775807ms")));
  CHECK(parse_duration("9223372036854775807ms") == milliseconds::max());
}

TEST_CASE("A duration is written in the largest units without fractions") {
  CHECK(format_duration(milliseconds(90000)) == "1m30s");
  CHECK(format_duration(milliseconds(1500)) == "1500ms");
  CHECK(format_duration(milliseconds(3600000)) == "1h");
  CHECK(format_duration(milliseconds(3601000)) == "1h1s");
  CHECK(format_duration(milliseconds(0)) == "0s");
  CHECK(format_duration(milliseconds(-90000)) == "-1m30s");
  CHECK(format_duration(milliseconds::min()) == "-9223372036854775808ms");
}

TEST_CASE("Any duration is restored from its text") {
  std::mt19937_64 engine(11);
  for (int i = 0; i < 1000; ++i) {
    const milliseconds duration(static_cast<std::int64_t>(engine() >> (engine() % 60 + 1)) / (i % 2 == 0 ? 1 : 1000) *
                                (i % 2 == 0 ? 1 : 1000));
    INFO(format_duration(duration));
    REQUIRE(parse_duration(format_duration(duration)) == duration);
  }
}

TEST_CASE("Sizes of one message are written in whole megabytes") {
  CHECK(format_megabytes(0) == "0 MB");
  CHECK(format_megabytes(1'999'999) == "1 MB");
  CHECK(format_megabytes(150'000'000'000) == "150000 MB");
}

TEST_CASE("Rates are in bits per second, and a capital B means bytes") {
  CHECK(parse_rate("200Gb/s") == 200e9);
  CHECK(parse_rate("21.875 GB/s") == 175e9);
  CHECK(parse_rate("1b/s") == 1);
  CHECK(parse_rate("1KiB/s") == 8192);
  CHECK(parse_rate("100 Mb/s") == 1e8);
}

TEST_CASE("An invalid rate is refused") {
  for (const auto* text :
       {"", "200", "200Gb", "Gb/s", "-1Gb/s", "200Gb/h", "200Xb/s", "200 G b/s", "1e5Gb/s", "nan b/s"}) {
    INFO(text);
    CHECK(is_refused(parse_rate(text)));
  }
  CHECK(is_refused(parse_rate(std::string(400, '9') + "Gb/s")));
}

}  // namespace
}  // namespace sparkplan
