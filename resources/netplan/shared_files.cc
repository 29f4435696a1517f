#include "resources/netplan/shared_files.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/netplan/adoption.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/take_over.h"

namespace sparkplan::netplan {
namespace {

/// The mode of a new file; an existing file keeps its mode.
constexpr std::uint32_t kAdoptedMode = 0600;

/// The most definitions of one file that are emptied. A machine has few managed interfaces, each with one or two.
constexpr std::size_t kMostKeys = 64;
/// The most bytes of files that are parsed to empty definitions. All netplan files of a machine have a few kilobytes.
constexpr std::size_t kMostParsed = 2 * kLargestNetplanText;

/// Definitions of one file that are taken over: "/etc/netplan/40-cx7.yaml:5" to the interface.
using Sources = std::map<std::string, std::string>;

/// By the file's path. The first of several interfaces has a definition that is for all of them.
std::map<std::string, Sources> taken_over(const StepsInput& input) {
  std::map<std::string, Sources> by_path;
  for (const Resource& resource : input.target) {
    const Value* wanted = resource.desired.find(kAlsoDefinedIn);
    if (wanted == nullptr || wanted->list_items() == nullptr || !wanted->list_items()->empty()) continue;
    const Present* present = input.seen(resource.id.name);
    if (present == nullptr) continue;
    for (std::string& source : texts_in(present->value.find(kAlsoDefinedIn))) {
      const auto colon = source.rfind(':');
      if (colon != std::string::npos) by_path[source.substr(0, colon)].emplace(std::move(source), resource.id.name);
    }
  }
  return by_path;
}

Result<KeysToEmpty> keys_in(const std::string& path, const std::string& text, const Sources& sources) {
  SPARK_TRY(const Value tree, parse_yaml(text));
  KeysToEmpty keys;
  for (const Definition& one : definitions_in(path, tree)) {
    if (const auto source = sources.find(one.source); source != sources.end()) keys.emplace(one.id, source->second);
    if (keys.size() > kMostKeys) {
      return failure(ErrorCode::kUnsupported,
                     "more than " + std::to_string(kMostKeys) + " of its definitions are for managed interfaces");
    }
  }
  return keys;
}

class SharedFiles {
 public:
  SharedFiles(const Stanzas& stanzas, const StepsInput& input, const TypeInfo& info)
      : stanzas_(stanzas), input_(input), info_(info), taken_over_(taken_over(input)) {}

  std::vector<Step> steps() {
    std::vector<Step> steps;
    for (const auto& [artifact, observed] : input_.observed.artifacts) {
      if (artifact.name == kOwnFile || !is_text_artifact(artifact)) continue;
      append(steps, step_of(artifact, observed));
    }
    return steps;
  }

 private:
  std::optional<Step> step_of(const ArtifactId& artifact, const Observation& now) {
    const auto text = content_of(now);
    if (!text) return std::nullopt;
    const auto sources = taken_over_.find(artifact.name);
    std::set<std::string> touched;
    std::string wanted = *text;
    if (sources != taken_over_.end()) {
      auto emptied = without(artifact.name, *text, sources->second, touched);
      if (!emptied) return not_emptied(artifact, emptied.error(), sources->second);
      wanted = *std::move(emptied);
    }
    restore(*text, wanted, touched);
    TextArtifact file{artifact, std::move(wanted), kAdoptedMode, "",
                      [touched](const Change& change) { return touched.contains(change.id.name); }};
    const Observation* found = input_.original(artifact);
    const auto original = found == nullptr ? std::nullopt : content_of(*found);
    if (original && file.content == original) file.content.reset();
    if (const auto file_now = decode_file_content(present_value(now))) file.mode = file_now->mode;
    return text_artifact_step(file, input_, info_);
  }

  /// The text without the definitions that are taken over. `touched` gets their interfaces.
  Result<std::string> without(const std::string& path, const std::string& text, const Sources& sources,
                              std::set<std::string>& touched) {
    if (auto elsewhere = why_not_emptied_at(path); !elsewhere.empty()) {
      return failure(ErrorCode::kUnsupported, std::move(elsewhere));
    }
    // A larger text is refused before it is parsed.
    if (text.size() <= kLargestNetplanText) parsed_ += text.size();
    if (parsed_ > kMostParsed) {
      return failure(ErrorCode::kUnsupported,
                     "the netplan files have more than " + std::to_string(kMostParsed >> 10) + " KiB together");
    }
    SPARK_TRY(const KeysToEmpty keys, keys_in(path, text, sources));
    SPARK_TRY(std::string emptied, with_emptied(text, keys));
    if (emptied == text) return emptied;
    for (const auto& [key, interface] : keys) touched.insert(interface);
    return emptied;
  }

  void restore(const std::string& text, std::string& wanted, std::set<std::string>& touched) const {
    std::set<std::string> keys;
    for (const auto& [key, interface] : emptied_in(text)) {
      if (stanzas_.contains(interface)) continue;
      keys.insert(key);
      touched.insert(interface);
    }
    if (!keys.empty()) wanted = with_restored(wanted, keys);
  }

  /// Nothing if no change needs the file.
  std::optional<Step> not_emptied(const ArtifactId& artifact, const Error& why, const Sources& sources) const {
    std::set<std::string> interfaces;
    for (const auto& [source, interface] : sources) interfaces.insert(interface);
    Step step = step_for(artifact, {}, info_);
    step.before = make_error(ErrorCode::kUnsupported,
                             artifact.name + " defines a managed interface too, and cannot be changed: " + why.message,
                             "remove the definition there by hand, or keep it with `fabric: {adopt: keep}`");
    step.resources.clear();
    for (const Change& change : input_.changes) {
      if (interfaces.contains(change.id.name)) step.resources.push_back(change.id);
    }
    return step.resources.empty() ? std::nullopt : std::optional(std::move(step));
  }

  const Stanzas& stanzas_;
  const StepsInput& input_;
  const TypeInfo& info_;
  std::map<std::string, Sources> taken_over_;
  std::size_t parsed_ = 0;
};

}  // namespace

std::vector<Step> shared_file_steps(const Stanzas& stanzas, const StepsInput& input, const TypeInfo& info) {
  return SharedFiles(stanzas, input, info).steps();
}

}  // namespace sparkplan::netplan
