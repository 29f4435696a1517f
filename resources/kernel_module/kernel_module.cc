#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/ahead/provision.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/kernel_module/module_files.h"

/// Kernel modules, loaded now and at every boot: `kernel_modules: [nvme-tcp]`.
namespace sparkplan::kernel_module {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModuleKind = "module";
constexpr std::uint32_t kFileMode = 0644;
constexpr const char* kPersistent = "persistent";
constexpr const char* kRunning = "running";
constexpr const char* kOptions = "options";
/// Some modules search for their hardware while they are loaded.
constexpr std::chrono::seconds kDeadline{30};
/// A plan does not wait longer for a dry run, which only reads the lists of modules.
constexpr std::chrono::seconds kForesightDeadline{5};

std::string name_of(const Value& item) { return item.is_map() ? item.text_or("name", "") : text_of(&item); }

fs::path directory_of(const std::string& module) { return fs::path("/sys/module") / kernel_name(module); }

ArtifactId module_artifact(const std::string& module) { return {std::string(kModuleKind), kernel_name(module)}; }

Observation module_state(bool loaded) { return Present{Value::map({{"loaded", loaded}}), {}}; }

bool is_loaded(const Observation& module) { return present_value(module).boolean_or("loaded", false); }

/// True for a module that is part of the kernel; without parameters it is not in /sys/module.
/// Source: the kernel's Documentation/kbuild/kbuild.rst, modules.builtin.
Result<bool> is_built_in(const std::string& module, const NodeReader& node) {
  SPARK_TRY(const auto release, if_there(node.read_file("/proc/sys/kernel/osrelease")));
  if (!release) return false;
  const fs::path list = fs::path("/lib/modules") / trim(*release) / "modules.builtin";
  SPARK_TRY(const std::string text, or_empty(node.read_file(list)));
  const auto lines = split_lines(text);
  return std::ranges::any_of(
      lines, [&](std::string_view line) { return kernel_name(fs::path(line).stem().string()) == kernel_name(module); });
}

Observation read_module(const std::string& module, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"no kernel is running there"};
  auto loaded = node.is_there(directory_of(module));
  if (loaded && !*loaded) loaded = is_built_in(module, node);
  return loaded ? module_state(*loaded) : Observation(loaded.error());
}

/// The failure of modprobe as an Error.
Error refusal(const std::string& module, const CommandOutput& output) {
  const auto lines = split_lines(output.standard_error);
  const std::string said = lines.empty() ? "exit status " + std::to_string(output.exit_status) : std::string(lines[0]);
  const bool missing = said.find("not found") != std::string::npos;
  return make_error(missing ? ErrorCode::kNotFound : ErrorCode::kFailed,
                    missing ? "the running kernel has no module " + module : "modprobe " + module + ": " + said,
                    missing ? "some modules have their own package, such as linux-modules-extra-$(uname -r) on Ubuntu; "
                              "after a kernel upgrade, reboot first"
                            : "see the kernel log: journalctl -k");
}

/// Why modprobe cannot load the module; nothing if it can. Errors: those of the program itself.
Result<std::optional<Error>> try_to_load(const std::string& module, std::chrono::seconds deadline,
                                         const NodeReader& node) {
  const std::vector<std::string> dry_run{"modprobe", "--dry-run", "--", module};
  SPARK_TRY(const CommandOutput output,
            needs_program(node.query(dry_run, deadline), "modprobe", "install the package kmod"));
  return output.exit_status == 0 ? std::nullopt : std::optional(refusal(module, output));
}

class KernelModuleType final : public ResourceType {
 public:
  KernelModuleType() {
    info_.name = "kernel_module";
    info_.section = "kernel_modules";
    info_.phase = Phase::kKernelModules;
    info_.summary = "kernel modules, loaded now and at boot";
    info_.files = {std::string(kLoadFile), std::string(kOptionsFile)};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.checks_effect = true;
    info_.foresees = true;
    info_.reported.resource =
        Shape::map({{kOptions, Shape::text()}, {kPersistent, Shape::boolean()}, {kRunning, Shape::boolean()}});
    info_.reported.longest_name = kLongestWordName;
    info_.reported.artifacts = {{std::string(kModuleKind), Shape::map({{"loaded", Shape::boolean(), true}})}};
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const Value& item : items_of(section)) {
      Value wanted = Value::map({{kOptions, item.text_or(kOptions, "")}, {kPersistent, true}, {kRunning, true}});
      result.resources.push_back(make_resource(name_of(item), std::move(wanted), item.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
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
    std::map<std::string, const Value*> seen;
    for (const Value& item : items_of(section)) {
      const std::string name = name_of(item);
      const auto [first, fresh] = seen.emplace(kernel_name(name), &item);
      if (fresh) continue;
      findings.push_back(finding("kernel_module.twice",
                                 name + " is listed twice: the kernel treats - and _ as the same",
                                 "keep one of the two", item.where));
      findings.back().notes.push_back({"the first", first->second->where});
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
      append(steps, text_artifact_step(file_artifact(path), content, kFileMode, input, info_));
    };
    // A module reads its parameters when it is loaded, so the options file comes first.
    add_file(kOptionsFile, options.empty() ? std::nullopt : std::optional(render_options_file(options)));
    for (const Change& change : input.changes) append(steps, module_step(change.id, running, input));
    add_file(kLoadFile, modules.empty() ? std::nullopt : std::optional(render_load_file(modules)));
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    return read_module(artifact.name, node);
  }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    const auto wanted = ahead.find(info_.name);
    if (wanted == ahead.end() || !node.live() || may_bring_modules(ahead)) return {};
    std::vector<Ineffective> found;
    for (const auto& [name, value] : wanted->second) {
      if (is_loaded(read_module(name, node))) continue;
      const auto refused = try_to_load(name, kForesightDeadline, node);
      if (!refused) break;  // Apply reports it; the next module would take as long.
      if (*refused) found.push_back({name, "kernel_module.not-there", (*refused)->message, (*refused)->hint});
    }
    return found;
  }

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (step.artifact.kind != kModuleKind || !is_loaded(step.after)) continue;
      const auto refused = try_to_load(step.artifact.name, kDeadline, node);
      if (!refused) {
        objections.push_back({step.artifact, refused.error()});
      } else if (*refused) {
        objections.push_back({step.artifact, **refused});
      }
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (is_loaded(read_module(artifact.name, node)) == is_loaded(after)) return {};
    return is_loaded(after) ? load(artifact.name, node) : unload_if_unused(artifact.name, node);
  }

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    std::vector<Ineffective> ineffective;
    for (const auto& [module, value] : desired) {
      for (const std::string& option : words_of(value.text_or(kOptions, ""))) {
        const auto equals = option.find('=');
        const std::string name = option.substr(0, equals);
        const std::string wanted = equals == std::string::npos ? "Y" : option.substr(equals + 1);
        // Some parameters are not shown, or not readable.
        const auto shown = node.read_file(directory_of(module) / "parameters" / name);
        if (!shown || same_parameter(*shown, wanted)) continue;
        ineffective.push_back(
            {module, "kernel_module.option-later",
             module + " was loaded with " + name + "=" + std::string(trim(*shown)) + ", not " + wanted,
             "options take effect when the module is loaded: reboot, or unload it first"});
      }
    }
    return ineffective;
  }

 private:
  static Result<void> load(const std::string& module, Node& node) {
    const std::vector<std::string> argv{"modprobe", "--", module};
    SPARK_TRY(const CommandOutput output,
              needs_program(node.run(argv, kDeadline), "modprobe", "install the package kmod"));
    if (output.exit_status != 0) return failure(refusal(module, output));
    if (is_loaded(read_module(module, node))) return {};
    return failure(ErrorCode::kVerifyFailed, "modprobe reports success, but " + module + " is not loaded",
                   "a line `install " + module + "` in /etc/modprobe.d may run another command instead");
  }

  /// A module in use stays until the next boot.
  static Result<void> unload_if_unused(const std::string& module, Node& node) {
    const auto users = node.read_file(directory_of(module) / "refcnt");
    if (!users || trim(*users) != "0") return {};
    // modprobe -r would also unload the modules that this one needed, even if they are desired.
    const std::vector<std::string> argv{"rmmod", "--", module};
    SPARK_CHECK(needs_program(node.run(argv, kDeadline), "rmmod", "install the package kmod"));
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

  /// Loads the module. A module that is no longer desired, and was not loaded before sparkplan, is unloaded.
  std::optional<Step> module_step(const ResourceId& id, const std::set<std::string>& running,
                                  const StepsInput& input) const {
    const ArtifactId artifact = module_artifact(id.name);
    const bool wanted = running.contains(artifact.name);
    return own_step(artifact, wanted ? std::optional(module_state(true)) : std::nullopt, id, input, info_);
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<KernelModuleType>(); }

}  // namespace sparkplan::kernel_module
