#include "engine/core/ids.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

TEST_CASE("Host names are node names, in either case, with one label or more") {
  for (const auto* text : {"a", "spark-01", "Spark-01", "1node", "42", "rack1.lab.example"}) {
    INFO(text);
    const auto name = NodeName::parse(text);
    REQUIRE(name);
    CHECK(name->str() == text);
  }
}

TEST_CASE("Characters special to a shell, a path or ssh are refused in a node name") {
  for (const auto* text : {"-oProxyCommand=x", "-", "a-", "../a", "a/b", "a b", "a;b", "$(a)", "a_b", "a*", "user@host",
                           "a:22", "[::1]", "a\n", "é"}) {
    INFO(text);
    const auto name = NodeName::parse(text);
    REQUIRE_FALSE(name);
    CHECK(name.error().code == ErrorCode::kInvalidInput);
  }
  CHECK_FALSE(NodeName::parse(std::string_view("a\0b", 3)));
}

TEST_CASE("Empty labels and dashes at the ends of a label are refused") {
  for (const auto* text : {"", ".", ".a", "a.", "a..b", "a.-b", "a-.b"}) {
    INFO(text);
    CHECK_FALSE(NodeName::parse(text));
  }
}

TEST_CASE("A node name has at most 63 characters") {
  CHECK(NodeName::parse(std::string(63, 'a')));
  CHECK_FALSE(NodeName::parse(std::string(64, 'a')));
}

TEST_CASE("A refused name is printed without control characters") {
  const auto name = NodeName::parse("a\x1b[2J");
  REQUIRE_FALSE(name);
  CHECK(name.error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("A resource id splits at the first slash") {
  const auto id = ResourceId::parse("netplan/a/b");
  REQUIRE(id);
  CHECK(id->type == "netplan");
  CHECK(id->name == "a/b");
  CHECK(id->str() == "netplan/a/b");
}

TEST_CASE("A resource id requires both parts") {
  for (const auto* text : {"", "/", "sysctl", "sysctl/", "/name"}) {
    INFO(text);
    const auto id = ResourceId::parse(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("A resource id with a path as its name is shown without two slashes") {
  CHECK(ResourceId{"file", "/etc/motd"}.words() == "file /etc/motd");
  CHECK(ResourceId{"file", "/etc/motd"}.str() == "file//etc/motd");
  CHECK(ResourceId{"sysctl", "vm.swappiness"}.words() == "sysctl/vm.swappiness");
}

TEST_CASE("An artifact id splits at the first colon") {
  const auto id = ArtifactId::parse("file:/etc/a:b");
  REQUIRE(id);
  CHECK(id->kind == "file");
  CHECK(id->name == "/etc/a:b");
  CHECK(id->str() == "file:/etc/a:b");
}

TEST_CASE("An artifact id requires both parts") {
  for (const auto* text : {"", ":", "file", "file:", ":name"}) {
    INFO(text);
    const auto id = ArtifactId::parse(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().code == ErrorCode::kInvalidInput);
  }
}

}  // namespace
}  // namespace sparkplan
