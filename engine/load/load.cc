#include "engine/load/load.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/core/digest.h"
#include "engine/core/tree.h"
#include "engine/load/fabric.h"
#include "engine/load/files_beside.h"
#include "engine/load/findings.h"
#include "engine/load/schema.h"
#include "engine/load/semantic_checks.h"
#include "engine/load/unresolved_node.h"
#include "engine/load/yaml_document.h"
#include "engine/load/yaml_text.h"

namespace sparkplan {
namespace {

// A type's validate() gets only sections that match its schema, so invalid ones are skipped.
void validate_types(const UnresolvedCluster& draft, const Registry& registry, const SchemaOutcome& outcome,
                    Findings& findings) {
  for (const auto& node : draft.nodes) {
    const std::string node_pointer = "/nodes/" + std::to_string(node.index) + "/";
    for (const auto& [key, body] : node.sections) {
      if (outcome.is_broken("/" + key) || outcome.is_broken(node_pointer + key)) continue;
      for (const auto* type : registry.of_section(key)) {
        for (auto& diagnostic : type->validate(body)) {
          if (!diagnostic.where.known()) diagnostic.where = body.where;
          findings.add(std::move(diagnostic));
        }
      }
    }
  }
}

bool by_place(const Diagnostic& a, const Diagnostic& b) {
  return std::tie(a.where.line, a.where.column, a.severity) < std::tie(b.where.line, b.where.column, b.severity);
}

/// The first kMostFindings of one file, errors before all others, and how many more there are. `is_cut`: there are more
/// than `findings` has.
std::vector<Diagnostic> first_of(std::vector<Diagnostic> findings, bool is_cut) {
  if (findings.size() <= kMostFindings) return findings;
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Diagnostic& one) { return one.severity == Severity::kError; });
  const auto more = findings.size() - kMostFindings;
  Diagnostic last = findings[kMostFindings];
  findings.resize(kMostFindings);
  std::stable_sort(findings.begin(), findings.end(), by_place);
  last.code = "file.more-findings";
  last.message = std::string(is_cut ? "and at least " : "and ") + std::to_string(more) +
                 " more findings; the first of them is here";
  last.hint = "correct the others first";
  last.notes.clear();
  findings.push_back(std::move(last));
  return findings;
}

// Errors of an earlier pass (YAML, schema) are the cause, so later findings about the same place are dropped. All
// errors of one pass about one place are kept.
std::vector<Diagnostic> tidy(const std::vector<Findings*>& passes, const std::string& file) {
  std::vector<Diagnostic> kept;
  std::set<SourceRange> errors;
  std::set<std::tuple<SourceRange, std::string, std::string>> said;
  bool is_cut = false;
  for (Findings* pass : passes) {
    is_cut = is_cut || pass->is_cut();
    std::vector<Diagnostic> findings = pass->take();
    std::set<SourceRange> of_this_pass;
    for (Diagnostic& diagnostic : findings) {
      if (errors.contains(diagnostic.where)) continue;
      if (diagnostic.severity == Severity::kError) of_this_pass.insert(diagnostic.where);
      diagnostic.file = file;
      if (!said.emplace(diagnostic.where, diagnostic.code, diagnostic.message).second) continue;
      kept.push_back(std::move(diagnostic));
    }
    errors.merge(of_this_pass);
  }
  std::erase_if(kept, [&](const Diagnostic& diagnostic) {
    return diagnostic.severity != Severity::kError && errors.contains(diagnostic.where);
  });
  std::stable_sort(kept.begin(), kept.end(), by_place);
  return first_of(std::move(kept), is_cut);
}

/// The digest also covers the texts of the files that cluster.yaml names.
std::string digest_of(const Value& root, const TextsByName& beside) {
  if (beside.empty()) return digest(root);
  Value texts = Value::map();
  for (const auto& [name, text] : beside) texts.set(name, text);
  return digest(Value::map({{"cluster", root}, {"beside", std::move(texts)}}));
}

}  // namespace

LoadedCluster load_cluster(std::string_view text, std::string file_name, const Registry& registry,
                           const ReadBeside& read_beside) {
  LoadedCluster loaded;
  loaded.source = std::string(text);
  Findings yaml;
  const YamlDocument document = read_yaml(text, yaml);
  if (document.usable && document.root.is_null() && yaml.all().empty()) {
    yaml.error({1, 1, 2}, "yaml.empty", "the file is empty",
               "run sparkplan init to write one; the smallest has version, name and nodes");
  }
  if (!document.usable || document.root.is_null()) {
    loaded.diagnostics = tidy({&yaml}, file_name);
    return loaded;
  }
  Findings schema;
  const SchemaOutcome outcome = check_schema(document.root, registry, schema);
  // Many checks compare each node with others, or each record for each node.
  if (items_of(document.root.find("nodes")).size() > kMostNodes) {
    loaded.diagnostics = tidy({&yaml, &schema}, file_name);
    return loaded;
  }
  Findings semantic;
  Findings merged;
  UnresolvedCluster draft = unresolved_cluster(document.root, registry, merged);
  if (draft.is_too_large()) {
    loaded.diagnostics = tidy({&yaml, &schema, &merged}, file_name);
    return loaded;
  }
  check_nodes(draft, outcome, semantic);
  check_sections(draft, semantic);
  FabricFile fabric = read_fabric(document.root, draft.nodes, semantic);
  check_fabric_shape(draft, outcome, fabric, semantic);
  resolve_fabric(draft, fabric, semantic);
  check_fabric(draft, fabric, semantic);
  resolve_interfaces(draft, semantic);
  check_storage(draft, merged);
  check_content(draft, semantic);
  check_owned_paths(draft, merged);
  loaded.beside = put_in_files_beside(draft, registry, read_beside, merged);
  if (!draft.is_too_large()) validate_types(draft, registry, outcome, merged);
  loaded.diagnostics = tidy({&yaml, &schema, &semantic, &merged}, file_name);
  if (has_errors(loaded.diagnostics)) return loaded;
  auto cables = cabled_nodes(fabric, draft.nodes);
  loaded.cluster = Cluster{document.root.text_or("name", ""),       std::move(file_name),
                           digest_of(document.root, loaded.beside), draft.profile,
                           finish_nodes(std::move(draft)),          std::move(cables)};
  return loaded;
}

Result<LoadedCluster> load_cluster_file(const std::string& path, const Registry& registry) {
  SPARK_TRY(const std::string text, read_regular_file(path, kLongestFile + 1));
  return load_cluster(text, path, registry, files_in_directory_of(path));
}

}  // namespace sparkplan
