#include "engine/agent/state/roster_text.h"

#include "engine/agent/state/manifest_store.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/wire/facts_messages.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/agent/scratch_node.h"

namespace sparkplan {
namespace {

using test::node_at;
using test::ScratchDirectory;

std::string found_in(const std::string& text) {
  const auto part = find_roster_text(text);
  return part ? text.substr(part->begin, part->size) : "nothing";
}

Manifest awkward_manifest() {
  Manifest manifest;
  manifest.node = "roster";  // Also a value, not only a key.
  manifest.roster = Roster{"lab \"{\\", "uuid", 3, {}};
  manifest.roster.members.emplace_back().name = "n1";
  manifest.roster.members.emplace_back().name = "n2";
  manifest.roster.members.back().root = "/srv/\xc3\xa4 }\"";
  manifest.resources[{"sysctl", "roster"}] = {Value::map({{"roster", Value::map()}}), {}};
  return manifest;
}

}  // namespace

TEST_CASE("roster text: it is found by its key in the outermost map only") {
  CHECK(found_in(R"({"roster": {"a": "}"}, "b": 1})") == R"({"a": "}"})");
  CHECK(found_in(R"({"x": {"roster": {"a": 1}}, "roster" : {"b": {}}})") == R"({"b": {}})");
  CHECK(found_in(R"({"x": "roster", "roster": {}})") == "{}");
  CHECK(found_in(R"({"x": [{"roster": {}}]})") == "nothing");
}

TEST_CASE("roster text: nothing is found in a text that is cut or has no map there") {
  const std::string whole = R"({"roster": {"a": "\"}", "b": [{}]}})";
  REQUIRE(found_in(whole) == R"({"a": "\"}", "b": [{}]})");
  for (std::size_t size = 0; size < whole.size() - 1; ++size) CHECK(found_in(whole.substr(0, size)) == "nothing");
  CHECK(found_in(R"({"roster": [1]})") == "nothing");
  CHECK(found_in(R"({"roster"})") == "nothing");
  CHECK(found_in("}}{{\"\\") == "nothing");
}

TEST_CASE("roster text: blanks are removed outside strings only") {
  CHECK(without_blanks("{ \"a b\\\" \" :\n\t[1, 2] }") == "{\"a b\\\" \":[1,2]}");
}

TEST_CASE("a manifest with an offered roster is read without it") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const Manifest whole = awkward_manifest();
  REQUIRE(write_manifest(whole, node));
  const auto known = read_manifest(node, {sha256("x"), digest_of(whole.roster)});
  REQUIRE(known);
  CHECK(known->known_roster == digest_of(whole.roster));
  REQUIRE(known->manifest);
  CHECK(known->manifest->roster == Roster{});
  Manifest expected = whole;
  expected.roster = Roster{};
  CHECK(canonical_json(encode(*known->manifest)) == canonical_json(encode(expected)));
}

TEST_CASE("a manifest with another roster than the offered ones is read whole") {
  const ScratchDirectory root;
  auto node = node_at(root);
  CHECK_FALSE(read_manifest(node, {sha256("x")})->manifest);
  REQUIRE(write_manifest(awkward_manifest(), node));
  for (const auto& offered : {std::vector<std::string>{}, std::vector<std::string>{sha256("x")}}) {
    const auto read = read_manifest(node, offered);
    REQUIRE(read);
    CHECK(read->known_roster.empty());
    CHECK(read->manifest->roster == awkward_manifest().roster);
  }
}

TEST_CASE("a damaged manifest is an error although its roster is known") {
  const ScratchDirectory root;
  auto node = node_at(root);
  REQUIRE(write_manifest(awkward_manifest(), node));
  const std::string text = root.read("/var/lib/sparkplan/manifest.json");
  const std::vector<std::string> offered{digest_of(awkward_manifest().roster)};
  for (const std::string& damaged : {text + "x", text.substr(0, text.size() - 3)}) {
    root.write("/var/lib/sparkplan/manifest.json", damaged);
    const auto read = read_manifest(node, offered);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::kInvalidInput);
  }
}

}  // namespace sparkplan
