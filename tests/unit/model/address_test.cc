#include "engine/model/address.h"

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("host names and IPv6 addresses are recognised and have one canonical spelling") {
  for (const char* const text : {"spark-01", "spark.lab", "3com.net", "a", "Host."}) CHECK(is_host_name(text));
  for (const char* const text : {"", "-a", "a-", "a..b", "a_b", "1.2.3", "a b", "10.0.0.1"})
    CHECK_FALSE(is_host_name(text));
  CHECK_FALSE(is_host_name(std::string(64, 'a')));
  for (const char* const text : {"::1", "fe80::1%enP7s7", "FD00::a", "::ffff:10.0.0.1"}) CHECK(is_ipv6(text));
  for (const char* const text : {"", ":::", "fe80::1%", "fe80::1%a/b", "10.0.0.1", "[::1]", "12345::"})
    CHECK_FALSE(is_ipv6(text));
  CHECK(canonical_address("FE80:0::1%e") == "fe80::1%e");
  CHECK(canonical_address("Spark-01.Lab.") == "spark-01.lab");
}

TEST_CASE("an IP address is of version 4 or 6, and only version 6 is in brackets before a port") {
  for (const char* const text : {"10.0.0.9", "fd00::9", "fe80::1%enP7s7"}) CHECK(is_ip_address(text));
  for (const char* const text : {"", "store", "10.0.0", "10.0.0.9/24", "1234", "[fd00::9]"})
    CHECK_FALSE(is_ip_address(text));
  CHECK(is_version_6("fe80::1/64"));
  CHECK_FALSE(is_version_6("10.0.0.9/24"));
  CHECK(bracketed("fd00::9") == "[fd00::9]");
  CHECK(bracketed("10.0.0.9") == "10.0.0.9");
  CHECK(bracketed("store") == "store");
}

}  // namespace sparkplan
