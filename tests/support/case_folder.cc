#include "tests/support/case_folder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/resource/artifact.h"
#include "tests/support/describe.h"
#include "tests/support/fake_apt.h"
#include "tests/support/fake_groups.h"
#include "tests/support/fake_modprobe.h"
#include "tests/support/fake_network_manager.h"
#include "tests/support/fake_networkd.h"
#include "tests/support/fake_ssh.h"
#include "tests/support/fake_storage.h"
#include "tests/support/fake_systemd.h"
#include "tests/support/fake_ufw.h"
#include "tests/support/resources_folder.h"

namespace sparkplan::test {
namespace {

tl::unexpected<Error> bad_case(std::string message) { return failure(ErrorCode::kInvalidInput, std::move(message)); }

/// Text, or a list of lines without their newlines.
Result<std::string> text_of_lines(const Value& value) {
  if (value.string() != nullptr) return *value.string();
  if (value.list_items() == nullptr) return bad_case("a content is text or a list of lines");
  std::string text;
  for (const Value& line : *value.list_items()) {
    if (line.string() == nullptr) return bad_case("a line is text");
    text += *line.string() + "\n";
  }
  return text;
}

Result<void> add_file(const std::string& path, const Value& value, FakeNode& node) {
  const Value* content = value.is_map() ? value.find("content") : &value;
  if (content == nullptr) return bad_case(path + " has no content");
  SPARK_TRY(std::string text, text_of_lines(*content));
  const auto mode = static_cast<std::uint32_t>(std::stoul(value.text_or("mode", "0644"), nullptr, 8));
  node.add_file(path, std::move(text), mode, static_cast<std::uint32_t>(value.integer_or("uid", 0)),
                static_cast<std::uint32_t>(value.integer_or("gid", 0)));
  return {};
}

Result<void> add_kernel_file(const std::string& path, const Value& value, FakeNode& node) {
  FakeNode::KernelFile file;
  file.value = value.string() != nullptr ? *value.string() : value.text_or("value", "");
  if (const Value* refusal = value.find("refuse_errno")) file.refuse_errno = static_cast<int>(*refusal->integer());
  if (value.find("maximum") != nullptr) file.maximum = value.integer_or("maximum", 0);
  if (value.find("read_error") != nullptr) file.read_error = value_named<ErrorCode>(value.text_or("read_error", ""));
  node.add_kernel_file(path.starts_with('/') ? path : "/proc/sys/" + path, std::move(file));
  return {};
}

Result<void> add_command(const std::string& line, const Value& value, FakeNode& node) {
  node.script(line, CommandOutput{static_cast<int>(value.integer_or("exit_status", 0)),
                                  value.text_or("standard_output", ""), value.text_or("standard_error", "")});
  return {};
}

Result<void> add_symlink(const std::string& path, const Value& value, FakeNode& node) {
  if (value.string() == nullptr) return bad_case(path + " needs a target");
  node.add_symlink(path, *value.string());
  return {};
}

Result<void> add_unit(const std::string& name, const Value& value, FakeNode& node) {
  if (value.boolean_or("enabled", false)) enable_unit(node, name);
  if (value.boolean_or("running", false)) start_unit(node, name);
  std::string lines;
  if (const Value* properties = value.find("properties")) {
    for (const MapEntry& one : *properties->entries()) lines += one.key + "=" + *one.value.string() + "\n";
  }
  if (!lines.empty()) set_unit_properties(node, name, lines);
  return {};
}

Result<void> add_kernel_module(const std::string& name, const Value& value, FakeNode& node) {
  if (value.boolean_or("loaded", false)) {
    load_module(node, name, static_cast<int>(value.integer_or("users", 0)));
  } else {
    add_module(node, name);
  }
  return {};
}

Result<void> add_storage(const Value& storage, FakeNode& node) {
  const Value none = Value::map();
  const auto entries = [&](const char* key) -> const Value::Map& {
    const Value* map = storage.find(key);
    return *(map == nullptr ? none : *map).entries();
  };
  install_fake_storage(node);
  for (const MapEntry& one : entries("devices")) node.put_file("/fake/devices/" + one.key, *one.value.string());
  for (const MapEntry& one : entries("servers")) node.put_file("/fake/servers/" + one.key, *one.value.string());
  for (const MapEntry& one : entries("connected")) {
    connect_subsystem(node, one.key, one.value.text_or("address", ""),
                      static_cast<int>(one.value.integer_or("port", 4420)), one.value.text_or("state", "live"));
  }
  if (const Value* mounts = storage.find("mounts")) {
    for (const Value& one : *mounts->list_items()) {
      add_mount(node, one.text_or("source", ""), one.text_or("target", ""), one.text_or("type", ""),
                one.text_or("options", "rw"));
    }
  }
  if (const Value* busy = storage.find("busy")) {
    std::string targets;
    for (const Value& one : *busy->list_items()) targets += *one.string() + "\n";
    node.put_file("/fake/busy", targets);
  }
  return {};
}

Result<void> add_packages(const Value& packages, FakeNode& node) {
  if (packages.entries() == nullptr) return bad_case("packages is no map");
  std::vector<FakePackage> all;
  for (const MapEntry& entry : *packages.entries()) {
    FakePackage package{entry.key, entry.value.text_or("version", ""), {}, {}};
    if (entry.value.find("installed") != nullptr) package.installed = entry.value.text_or("installed", "");
    if (const Value* needs = entry.value.find("needs")) {
      for (const Value& name : *needs->list_items()) package.needs.push_back(*name.string());
    }
    package.automatic = entry.value.boolean_or("automatic", false);
    package.held = entry.value.boolean_or("held", false);
    package.broken = entry.value.boolean_or("broken", false);
    all.push_back(std::move(package));
  }
  add_apt(node, all);
  return {};
}

Result<void> for_each_entry(const Value& observed, std::string_view key, FakeNode& node,
                            Result<void> (*add)(const std::string&, const Value&, FakeNode&)) {
  const Value* map = observed.find(key);
  if (map == nullptr) return {};
  if (map->entries() == nullptr) return bad_case(std::string(key) + " is no map");
  for (const MapEntry& entry : *map->entries()) SPARK_CHECK(add(entry.key, entry.value, node));
  return {};
}

Result<void> add_managed_resource(const MapEntry& entry, World& world) {
  SPARK_TRY(const ResourceId id, ResourceId::parse(entry.key));
  ManagedResource& managed = world.manifest.resources[id];
  if (const Value* last = entry.value.find("last_applied")) managed.last_applied = *last;
  const Value* artifacts = entry.value.find("artifacts");
  if (artifacts == nullptr) return {};
  for (const Value& text : *artifacts->list_items()) {
    SPARK_TRY(ArtifactId artifact, ArtifactId::parse(*text.string()));
    world.manifest.artifacts[artifact].type = id.type;
    managed.artifacts.push_back(std::move(artifact));
  }
  return {};
}

/// Marks each artifact as last written by sparkplan, except the artifacts named in "edited".
Result<void> add_managed_artifact(const MapEntry& entry, const Value& edited, const Registry& registry, World& world) {
  SPARK_TRY(const ArtifactId id, ArtifactId::parse(entry.key));
  ManagedArtifact& managed = world.manifest.artifacts[id];
  const ResourceType* type = registry.find(managed.type);
  if (type == nullptr) return bad_case("no resource lives in " + entry.key);
  if (!entry.value.is_null()) managed.original = Present{entry.value, {}};
  const Value::List& names = *edited.list_items();
  const bool by_us = std::find(names.begin(), names.end(), Value(entry.key)) == names.end();
  managed.written_digest = by_us ? digest(read_artifact(id, *type, world.node)) : "of something else";
  return {};
}

Result<void> add_manifest(const Value& value, const Registry& registry, World& world) {
  world.applied = true;
  world.manifest.node = world.self;
  const Value none = Value::map();
  const Value nothing = Value::list();
  const Value* resources = value.find("resources");
  const Value* artifacts = value.find("artifacts");
  const Value* edited = value.find("edited");
  for (const MapEntry& entry : *(resources == nullptr ? none : *resources).entries()) {
    SPARK_CHECK(add_managed_resource(entry, world));
  }
  for (const MapEntry& entry : *(artifacts == nullptr ? none : *artifacts).entries()) {
    SPARK_CHECK(add_managed_artifact(entry, edited == nullptr ? nothing : *edited, registry, world));
  }
  return {};
}

Result<void> add_users(const Value& users, FakeNode& node) {
  if (users.entries() == nullptr) return bad_case("users is no map");
  std::vector<FakeUser> accounts;
  for (const MapEntry& entry : *users.entries()) {
    FakeUser user{entry.key, static_cast<int>(entry.value.integer_or("uid", 1000)), 1000,
                  entry.value.text_or("home", "/home/" + entry.key)};
    user.gid = static_cast<int>(entry.value.integer_or("gid", user.uid));
    const Value* home = entry.value.find("home");
    const bool has_home = home == nullptr || !home->is_null();
    if (has_home && user.home.starts_with("/home/")) node.add_directory(user.home);
    if (entry.value.find("key") != nullptr) add_fake_key(node, user, entry.value.text_or("key", ""));
    accounts.push_back(std::move(user));
  }
  install_fake_accounts(node, std::move(accounts));
  install_fake_ssh_keygen(node);
  return {};
}

Result<void> add_exports(const Value& exports, World& world) {
  if (exports.entries() == nullptr) return bad_case("exports is no map");
  for (const MapEntry& node : *exports.entries()) {
    if (node.value.entries() == nullptr) return bad_case("the exports of " + node.key + " are no map");
    for (const MapEntry& type : *node.value.entries()) world.exports[node.key][type.key] = type.value;
  }
  return {};
}

Result<void> build_node(const Value& observed, const Registry& registry, World& world) {
  static const std::vector<std::string> known{"types",  "node",     "live",    "files",    "symlinks", "special",
                                              "kernel", "commands", "facts",   "manifest", "users",    "exports",
                                              "units",  "modules",  "storage", "packages"};
  for (const MapEntry& entry : *observed.entries()) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) return bad_case("unknown key " + entry.key);
  }
  world.self = observed.text_or("node", world.cluster.nodes.front().name.str());
  if (const Value* types = observed.find("types")) {
    for (const Value& type : *types->list_items()) world.types.push_back(*type.string());
  }
  if (const Value* facts = observed.find("facts")) {
    SPARK_TRY(world.facts, decode<Facts>(*facts));
  }
  world.facts.live = observed.boolean_or("live", true);
  if (world.facts.hostname.empty()) world.facts.hostname = world.self;
  world.node.set_live(world.facts.live);
  for (const LinkFacts& link : world.facts.links) world.node.add_link(link);
  world.node.set_connection_address(world.facts.ssh_server_address);
  install_fake_networkd(world.node);
  install_fake_network_manager(world.node);
  install_fake_modprobe(world.node);
  install_fake_gpasswd(world.node);
  install_fake_ufw(world.node);
  if (const Value* users = observed.find("users")) SPARK_CHECK(add_users(*users, world.node));
  if (const Value* packages = observed.find("packages")) SPARK_CHECK(add_packages(*packages, world.node));
  SPARK_CHECK(for_each_entry(observed, "files", world.node, add_file));
  SPARK_CHECK(for_each_entry(observed, "symlinks", world.node, add_symlink));
  SPARK_CHECK(for_each_entry(observed, "kernel", world.node, add_kernel_file));
  SPARK_CHECK(for_each_entry(observed, "commands", world.node, add_command));
  if (const Value* exports = observed.find("exports")) SPARK_CHECK(add_exports(*exports, world));
  if (observed.find("units") != nullptr) add_systemd(world.node);
  SPARK_CHECK(for_each_entry(observed, "units", world.node, add_unit));
  if (const Value* storage = observed.find("storage")) SPARK_CHECK(add_storage(*storage, world.node));
  SPARK_CHECK(for_each_entry(observed, "modules", world.node, add_kernel_module));
  if (const Value* special = observed.find("special")) {
    for (const Value& path : *special->list_items()) world.node.add_special(*path.string());
  }
  if (const Value* manifest = observed.find("manifest")) return add_manifest(*manifest, registry, world);
  return {};
}

/// desired_state(), restricted to the types of the case.
DesiredState desired_in(const World& world, const ClusterView& view, const Registry& registry) {
  if (world.types.empty()) return desired_state(view, world.facts, registry);
  DesiredState all;
  for (const std::string& name : world.types) {
    const ResourceType* type = registry.find(name);
    const auto section = type == nullptr ? view.self.sections.end() : view.self.sections.find(type->info().section);
    if (section == view.self.sections.end()) continue;
    Desired part = type->desired(view, section->second, world.facts);
    std::move(part.resources.begin(), part.resources.end(), std::back_inserter(all.resources));
    std::move(part.diagnostics.begin(), part.diagnostics.end(), std::back_inserter(all.diagnostics));
    std::move(part.about_several.begin(), part.about_several.end(), std::back_inserter(all.about_several));
    if (part.refused) all.refused = std::move(part.refused);
    if (part.incomplete) all.incomplete_types.insert(name);
    all.unresolved.merge(part.unresolved);
  }
  return all;
}

const NodeSpec* self_of(const World& world) {
  const auto found = std::find_if(world.cluster.nodes.begin(), world.cluster.nodes.end(),
                                  [&](const NodeSpec& node) { return node.name.str() == world.self; });
  return found == world.cluster.nodes.end() ? nullptr : &*found;
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(ErrorCode::kNotFound, "no such file: " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<CaseFolder> all_cases(const Registry& registry) {
  std::vector<CaseFolder> cases;
  for (const auto& type : registry.types()) {
    const std::filesystem::path folder = resources_folder() / type->info().name / "cases";
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      cases.push_back({type->info().name, entry.path().filename().string(), entry.path()});
    }
  }
  std::sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.title() < b.title(); });
  return cases;
}

Result<World> open_case(const CaseFolder& folder, const Registry& registry) {
  SPARK_TRY(const std::string yaml, read_text(folder.folder / "cluster.yaml"));
  const ReadBeside read_beside = [&](const std::string& name) { return read_text(folder.folder / name); };
  LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", registry, read_beside);
  if (!loaded.cluster) {
    std::string findings;
    for (const Diagnostic& one : loaded.diagnostics) findings += render(one, loaded.source) + "\n";
    return bad_case(folder.title() + ": " + findings);
  }
  World world;
  world.cluster = *std::move(loaded.cluster);
  world.findings = std::move(loaded.diagnostics);
  SPARK_TRY(const std::string json, read_text(folder.folder / "observed.json"));
  SPARK_TRY(const Value observed, parse_plain_json(json));
  if (observed.entries() == nullptr) return bad_case("observed.json is no map");
  SPARK_CHECK(build_node(observed, registry, world));
  if (self_of(world) == nullptr) return bad_case("no node " + world.self + " in cluster.yaml");
  return world;
}

Look look_at(const World& world, const Registry& registry) {
  Look look;
  const NodeSpec& self = *self_of(world);
  std::map<std::string, NodeExports> exports = world.exports;
  for (const auto& type : registry.types()) {
    const auto section = self.sections.find(type->info().section);
    const Result<Value> value = type->exports(section == self.sections.end() ? Value() : section->second, world.node);
    if (value && !value->is_null()) exports[world.self][type->info().name] = *value;
  }
  const ClusterView view{world.cluster, self, exports};
  DesiredState desired = desired_in(world, view, registry);
  look.desired = std::move(desired.resources);
  look.refused = std::move(desired.refused);
  look.incomplete_types = desired.incomplete_types;
  look.unresolved = desired.unresolved;
  look.diagnostics = world.findings;
  for (const auto* part : {&desired.about_several, &desired.diagnostics}) {
    look.diagnostics.insert(look.diagnostics.end(), part->begin(), part->end());
  }

  const Manifest* manifest = world.applied ? &world.manifest : nullptr;
  for (const auto& [name, names] : names_to_observe(look.desired, manifest)) {
    if (const ResourceType* type = registry.find(name)) {
      look.observed.types[name] = type->observe(ObserveRequest{names}, world.node);
    }
  }
  NodePlanInput input;
  input.desired = look.desired;
  input.observed = &look.observed;
  input.manifest = manifest;
  input.incomplete_types = look.incomplete_types;
  input.unresolved = look.unresolved;
  look.plan = plan_node(input, registry);
  if (auto refused = refusal(look.plan, world.facts, registry); refused && !look.refused) {
    look.refused = std::move(refused);
  }
  return look;
}

Value describe(const Look& look) {
  Value description = describe_plan(look.plan, look.diagnostics);
  if (look.refused) description.set("refused", look.refused->describe());
  return description;
}

std::string compare_with_golden(const CaseFolder& folder, const Value& actual) {
  const std::filesystem::path path = folder.folder / "plan.json";
  const std::string text = encode_json(actual, 2) + "\n";
  const char* accept = std::getenv("SPARKPLAN_ACCEPT");
  if (accept != nullptr && std::string_view(accept) == "1") {
    std::ofstream(path, std::ios::binary) << text;
    return {};
  }
  const Result<std::string> golden = read_text(path);
  if (!golden) return golden.error().describe() + "; SPARKPLAN_ACCEPT=1 writes it";
  return unified_diff(folder.title() + "/plan.json", *golden, text);
}

}  // namespace sparkplan::test
