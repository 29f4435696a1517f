#include "engine/agent/state/manifest_store.h"
#include "engine/core/json.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/agent/scratch_node.h"

namespace sparkplan {
namespace {

using test::node_at;
using test::ScratchDirectory;

const std::string kPath = "/var/lib/sparkplan/manifest.json";

Manifest some_manifest() {
  Manifest manifest;
  manifest.node = "spark-01";
  manifest.roster.cluster = "lab";
  manifest.roster.uuid = "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10";
  manifest.roster.generation = 3;
  manifest.roster.members.emplace_back().name = "spark-01";
  manifest.resources[{"sysctl", "vm.swappiness"}] = {Value::map({{"running", "10"}}), {{"file", "/etc/a"}}};
  manifest.artifacts[{"file", "/etc/a"}] = {"sysctl", "abc", Present{Value::map({{"content", "\xff"}}), {}}};
  manifest.artifacts[{"file", "/etc/b"}] = {"sysctl", "", Absent{}, "def"};
  manifest.last_run = "run";
  manifest.last_run_time = "2026-03-01T12:00:00Z";
  return manifest;
}

}  // namespace

TEST_CASE("a node that was never applied has no manifest") {
  const ScratchDirectory root;
  const auto manifest = read_manifest(node_at(root));
  REQUIRE(manifest);
  CHECK_FALSE(*manifest);
}

TEST_CASE("a written manifest is read back unchanged") {
  const ScratchDirectory root;
  auto node = node_at(root);
  REQUIRE(write_manifest(some_manifest(), node));
  const auto back = read_manifest(node);
  REQUIRE(back);
  REQUIRE(*back);
  CHECK(canonical_json(encode(**back)) == canonical_json(encode(some_manifest())));
}

TEST_CASE("the manifest and its directory are readable by root alone") {
  const ScratchDirectory root;
  auto node = node_at(root);
  REQUIRE(prepare_state_directory(node));
  REQUIRE(write_manifest(some_manifest(), node));
  CHECK(root.mode(kPath) == 0600);
  CHECK(root.mode("/var/lib/sparkplan") == 0700);
  CHECK(root.mode("/var/lib") == 0755);
}

TEST_CASE("temporary files of a killed agent are removed beside the manifest and managed files, and nothing else") {
  const ScratchDirectory root;
  auto node = node_at(root);
  REQUIRE(write_manifest(some_manifest(), node));
  const std::vector<std::string> unfinished{"/var/lib/sparkplan/.manifest.json.sparkplan-new", "/etc/.a.sparkplan-new"};
  for (const auto& file : unfinished) root.write(file, "half a fi");
  root.write("/etc/.somebody.sparkplan-new", "not ours");
  root.write("/etc/a", "ours");
  remove_unfinished_files(node);
  for (const auto& file : unfinished) CHECK_FALSE(root.exists(file));
  CHECK(root.read("/etc/.somebody.sparkplan-new") == "not ours");
  CHECK(root.read("/etc/a") == "ours");
  CHECK(read_manifest(node));
}

TEST_CASE("a manifest of a newer format is refused, and its version is named") {
  const ScratchDirectory root;
  auto node = node_at(root);
  Value newer = encode(some_manifest());
  newer.set("format_version", kManifestFormatVersion + 1);
  root.write(kPath, encode_json(newer));
  const auto manifest = read_manifest(node);
  REQUIRE_FALSE(manifest);
  CHECK(manifest.error().code == ErrorCode::kUnsupported);
  CHECK(manifest.error().describe().find(std::to_string(kManifestFormatVersion + 1)) != std::string::npos);
}

TEST_CASE("a damaged manifest is an error that names the file") {
  const ScratchDirectory root;
  const auto node = node_at(root);
  const auto whole = encode_json(encode(some_manifest()));
  for (const auto& text : {std::string(), std::string("{"), std::string("[]"), whole.substr(0, whole.size() / 2)}) {
    INFO(text);
    root.write(kPath, text);
    const auto manifest = read_manifest(node);
    REQUIRE_FALSE(manifest);
    CHECK(manifest.error().code == ErrorCode::kInvalidInput);
    CHECK(manifest.error().describe().find(kPath) != std::string::npos);
  }
}

TEST_CASE("a link at the manifest's path is not followed") {
  const ScratchDirectory root;
  root.write("/victim", "untouched");
  root.make_link(kPath, "/victim");
  auto node = node_at(root);
  CHECK(write_manifest(some_manifest(), node).error().code == ErrorCode::kRefused);
  CHECK(root.read("/victim") == "untouched");
}

}  // namespace sparkplan
