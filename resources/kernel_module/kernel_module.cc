#include "resources/kernel_module/kernel_module.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/words.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/kernel_module/module_files.h"

namespace sparkplan::kernel_module {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModuleKind = "module";
constexpr std::uint32_t kFileMode = 0644;
constexpr const char* kPersistent = "persistent";
constexpr const char* kRunning = "running";
constexpr const char* kOptions = "options";
/// Some modules look for their hardware while they are loaded.
constexpr std::chrono::seconds kDeadline{30};

fs::path directory_of(const std::string& module) { return fs::path("/sys/module") / kernel_name(module); }

ArtifactId module_artifact(const std::string& module) { return {std::string(kModuleKind), kernel_name(module)}; }

Observation module_state(bool loaded) { return Present{Value::map({{"loaded", loaded}}), {}}; }

bool is_loaded(const Observation& module) {
  const auto* present = std::get_if<Present>(&module);
  return present != nullptr && present->value.boolean_or("loaded", false);
}

/// Part of the kernel itself; those without parameters are not in /sys/module.
/// Source: the kernel's Documentation/kbuild/kbuild.rst, modules.builtin.
Result<bool> is_built_in(const std::string& module, const NodeReader& node) {
  const auto release = node.read_file("/proc/sys/kernel/osrelease");
  if (!release && release.error().code == ErrorCode::kNotFound) return false;
  if (!release) return failure(release.error());
  const fs::path list = fs::path("/lib/modules") / trim(*release) / "modules.builtin";
  const auto text = node.read_file(list);
  if (!text && text.error().code == ErrorCode::kNotFound) return false;
  if (!text) return failure(text.error());
  const auto lines = split_lines(*text);
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    return kernel_name(fs::path(line).stem().string()) == kernel_name(module);
  });
}

Observation read_module(const std::string& module, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"no kernel is running there"};
  const auto status = node.status(directory_of(module));
  if (status) return module_state(true);
  if (status.error().code != ErrorCode::kNotFound) return status.error();
  const auto built_in = is_built_in(module, node);
  return built_in ? module_state(*built_in) : Observation(built_in.error());
}

/// What modprobe says when it fails, as an Error.
Error refusal(const std::string& module, const CommandOutput& output) {
  const auto lines = split_lines(output.standard_error);
  const std::string said = lines.empty() ? "exit status " + std::to_string(output.exit_status) : std::string(lines[0]);
  const bool missing = said.find("not found") != std::string::npos;
  return Error{missing ? ErrorCode::kNotFound : ErrorCode::kFailed,
               missing ? "the running kernel has no module " + module : "modprobe " + module + ": " + said,
               {},
               {},
               missing
                   ? "some modules come in packages of their own, such as linux-modules-extra-$(uname -r) on Ubuntu; "
                     "after an upgrade of the kernel, reboot first"
                   : "the kernel's log says more: journalctl -k"};
}

Result<CommandOutput> no_modprobe(Result<CommandOutput> output) {
  if (output || output.error().code != ErrorCode::kNotFound) return output;
  return failure(ErrorCode::kUnsupported, "there is no modprobe on this node", "install the package kmod");
}

class KernelModuleType final : public ResourceType {
 public:
  explicit KernelModuleType(std::string schema_json) {
    info_.name = "kernel_module";
    info_.section = "kernel_modules";
    info_.phase = Phase::kKernelModules;
    info_.summary = "kernel modules, loaded now and at boot";
    info_.schema_json = std::move(schema_json);
    info_.files = {std::string(kLoadFile), std::string(kOptionsFile)};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.checks_effect = true;
    info_.reported.resource =
        Shape::map({{kOptions, Shape::text()}, {kPersistent, Shape::boolean()}, {kRunning, Shape::boolean()}});
    info_.reported.artifacts = {{std::string(kModuleKind), Shape::map({{"loaded", Shape::boolean(), true}})}};
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    if (section.list_items() == nullptr) return result;
    for (const Value& item : *section.list_items()) {
      Resource resource;
      resource.id = {info_.name, item.is_map() ? item.text_or("name", "") : *item.string()};
      const std::string options = item.is_map() ? item.text_or(kOptions, "") : "";
      resource.desired = Value::map({{kOptions, options}, {kPersistent, true}, {kRunning, true}});
      resource.where = item.where;
      resource.reversible = Reversible::kBestEffort;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [name, value] : applied) {
      const std::string options = value.text_or(kOptions, "");
      section.push_back(options.empty() ? Value(name) : Value::map({{"name", name}, {kOptions, options}}));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    std::vector<Diagnostic> findings;
    if (section.list_items() == nullptr) return findings;
    std::map<std::string, const Value*> seen;
    for (const Value& item : *section.list_items()) {
      const std::string name = item.is_map() ? item.text_or("name", "") : *item.string();
      const auto [first, fresh] = seen.emplace(kernel_name(name), &item);
      if (fresh) continue;
      Diagnostic finding;
      finding.code = "kernel_module.twice";
      finding.message = name + " is listed twice: to the kernel - and _ are the same";
      finding.hint = "leave one of the two";
      finding.where = item.where;
      finding.notes.push_back({"the first", first->second->where});
      findings.push_back(std::move(finding));
    }
    return findings;
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId load_file = file_artifact(kLoadFile);
    const ArtifactId options_file = file_artifact(kOptionsFile);
    const Observation& load = observed.artifacts[load_file] = sparkplan::read_artifact(load_file, *this, node);
    const Observation& options = observed.artifacts[options_file] = sparkplan::read_artifact(options_file, *this, node);
    const auto obstacles = read_obstacles(node);
    for (const std::string& name : request.names) {
      if (name == kWholeFileName) continue;
      const Observation running = read_module(name, node);
      if (!std::holds_alternative<NotApplicable>(running)) observed.artifacts[module_artifact(name)] = running;
      observed.resources[name] = combine(name, load, options, running);
      if (!obstacles) observed.resources[name] = obstacles.error();
      if (obstacles) add_claims(name, *obstacles, observed.foreign);
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::set<std::string> modules;
    std::map<std::string, std::string> options;
    std::set<std::string> running;
    for (const Resource& resource : input.target) {
      if (resource.desired.boolean_or(kPersistent, false)) modules.insert(resource.id.name);
      if (resource.desired.boolean_or(kRunning, false)) running.insert(kernel_name(resource.id.name));
      if (const auto text = resource.desired.text_or(kOptions, ""); !text.empty()) options[resource.id.name] = text;
    }
    std::vector<Step> steps;
    const auto add_file = [&](std::string_view path, const std::optional<std::string>& content) {
      auto step = text_artifact_step(file_artifact(path), content, kFileMode, input, info_);
      if (step) steps.push_back(*std::move(step));
    };
    // A module takes its parameters when it is loaded.
    add_file(kOptionsFile, options.empty() ? std::nullopt : std::optional(render_options_file(options)));
    for (const Change& change : input.changes) {
      if (auto step = module_step(change.id, running, input)) steps.push_back(*std::move(step));
    }
    add_file(kLoadFile, modules.empty() ? std::nullopt : std::optional(render_load_file(modules)));
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    return read_module(artifact.name, node);
  }

  std::vector<Objection> prepare(std::span<const Step> steps, Node& node) const override {
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (step.artifact.kind != kModuleKind || !is_loaded(step.after)) continue;
      const std::vector<std::string> dry_run{"modprobe", "--dry-run", "--", step.artifact.name};
      const auto output = no_modprobe(node.query(dry_run, kDeadline));
      if (!output) {
        objections.push_back({step.artifact, output.error()});
      } else if (output->exit_status != 0) {
        objections.push_back({step.artifact, refusal(step.artifact.name, *output)});
      }
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (is_loaded(read_module(artifact.name, node)) == is_loaded(after)) return {};
    return is_loaded(after) ? load(artifact.name, node) : unload_if_unused(artifact.name, node);
  }

  std::vector<Ineffective> check_effect(const std::map<std::string, Value>& desired,
                                        const NodeReader& node) const override {
    std::vector<Ineffective> ineffective;
    for (const auto& [module, value] : desired) {
      for (const std::string& option : words_of(value.text_or(kOptions, ""))) {
        const auto equals = option.find('=');
        const std::string name = option.substr(0, equals);
        const std::string wanted = equals == std::string::npos ? "Y" : option.substr(equals + 1);
        // Not every parameter is shown, and not to everybody.
        const auto shown = node.read_file(directory_of(module) / "parameters" / name);
        if (!shown || same_parameter(*shown, wanted)) continue;
        ineffective.push_back(
            {module, "kernel_module.option-later",
             module + " was loaded with " + name + "=" + std::string(trim(*shown)) + ", not " + wanted,
             "a module takes its options when it is loaded: reboot, or unload it first"});
      }
    }
    return ineffective;
  }

 private:
  static Result<void> load(const std::string& module, Node& node) {
    const std::vector<std::string> argv{"modprobe", "--", module};
    SPARK_TRY(const CommandOutput output, no_modprobe(node.run(argv, kDeadline)));
    if (output.exit_status != 0) return failure(refusal(module, output));
    if (is_loaded(read_module(module, node))) return {};
    return failure(ErrorCode::kVerifyFailed, "modprobe is content, and " + module + " is not loaded",
                   "a line `install " + module + "` in /etc/modprobe.d may do something else instead");
  }

  /// One that somebody uses stays until the next boot.
  static Result<void> unload_if_unused(const std::string& module, Node& node) {
    const auto users = node.read_file(directory_of(module) / "refcnt");
    if (!users || trim(*users) != "0") return {};
    // Not modprobe, which takes along what the module needed, whoever wants that.
    const std::vector<std::string> argv{"rmmod", "--", module};
    SPARK_CHECK(no_modprobe(node.run(argv, kDeadline)));
    return {};
  }

  static Observation combine(const std::string& name, const Observation& load, const Observation& options,
                             const Observation& running) {
    for (const Observation* part : {&load, &options, &running}) {
      if (const auto* error = std::get_if<Error>(part)) return *error;
    }
    const auto listed = parse_load_file(content_of(load).value_or(""));
    const auto parameters = parse_options_file(content_of(options).value_or(""));
    const auto own = parameters.find(name);
    Present present{
        Value::map({{kOptions, own == parameters.end() ? "" : own->second}, {kPersistent, listed.contains(name)}}), {}};
    if (const auto* reason = std::get_if<NotApplicable>(&running)) {
      present.not_applicable[kRunning] = reason->reason;
    } else {
      present.value.set(kRunning, is_loaded(running));
    }
    return present;
  }

  void add_claims(const std::string& name, const std::vector<Obstacle>& obstacles,
                  std::vector<ForeignClaim>& claims) const {
    for (const Obstacle& obstacle : obstacles) {
      if (obstacle.module != kernel_name(name)) continue;
      claims.push_back(
          {{info_.name, name}, kPersistent, Value(), obstacle.source, "keeps it from being loaded at boot"});
    }
  }

  /// Loads it; one that is no longer wanted, and was not loaded before sparkplan came, is unloaded.
  std::optional<Step> module_step(const ResourceId& id, const std::set<std::string>& running,
                                  const StepsInput& input) const {
    const ArtifactId artifact = module_artifact(id.name);
    const auto observed = input.observed.artifacts.find(artifact);
    if (observed == input.observed.artifacts.end() || !std::holds_alternative<Present>(observed->second)) {
      return std::nullopt;
    }
    const auto original = input.originals.find(artifact);
    Observation after = observed->second;
    if (running.contains(artifact.name)) {
      after = module_state(true);
    } else if (original != input.originals.end()) {
      after = original->second;
    }
    if (same_state(observed->second, after)) return std::nullopt;
    Step step;
    step.type = info_.name;
    step.artifact = artifact;
    step.phase = info_.phase;
    step.before = observed->second;
    step.after = std::move(after);
    step.resources = {id};
    step.group = info_.name;
    step.reversible = Reversible::kBestEffort;
    return step;
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const KernelModuleType>(std::move(schema_json));
}

}  // namespace sparkplan::kernel_module
