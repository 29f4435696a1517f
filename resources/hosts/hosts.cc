#include "resources/hosts/hosts.h"

#include <algorithm>
#include <utility>

#include "engine/core/finding.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"

namespace sparkplan::hosts {
namespace {

constexpr std::uint32_t kModeOfNewFile = 0644;
constexpr const char* kField = "address";

/// The value below "suffix" as written; null for the default.
const Value* suffix_value(const Value& section) {
  const Value* suffix = section.find("suffix");
  return suffix == nullptr || suffix->is_null() ? nullptr : suffix;
}

/// Empty when it is no suffix, which validate() reports.
std::optional<std::string> suffix_of(const Value& section) {
  const Value* value = suffix_value(section);
  if (value == nullptr) return std::string(kDefaultSuffix);
  if (value->string() == nullptr || !is_suffix(*value->string())) return std::nullopt;
  return *value->string();
}

class HostsType final : public ResourceType {
 public:
  explicit HostsType(std::string schema_json) {
    info_.name = "hosts";
    info_.section = "hosts";
    info_.phase = Phase::kFiles;
    info_.summary = "names of the fabric addresses of all nodes";
    info_.schema_json = std::move(schema_json);
    info_.files = {std::string(kHostsFile) + " (marked block)"};
    info_.reported.resource = Shape::map({{kField, Shape::text(Shape::kMostLineBytes)}});
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    const std::optional<std::string> suffix = suffix_of(section);
    if (section.is_null() || !suffix) return result;
    Names names = names_of(view.cluster, *suffix);
    result.diagnostics = std::move(names.diagnostics);
    const Value* written = suffix_value(section);
    for (auto& [name, address] : names.addresses) {
      Resource resource;
      resource.id = {info_.name, name};
      resource.desired = Value::map({{kField, std::move(address)}});
      resource.where = written == nullptr ? section.where : written->where;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& view, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    if (applied.empty()) return std::nullopt;
    const std::string& first = applied.begin()->first;
    for (const NodeSpec& node : view.cluster.nodes) {
      if (!first.starts_with(node.name.str())) continue;
      const std::string suffix = first.substr(node.name.str().size());
      if (!is_suffix(suffix)) continue;
      const auto names = names_of(view.cluster, suffix).addresses;
      const auto is_named = [&](const auto& one) { return names.contains(one.first); };
      if (!std::all_of(applied.begin(), applied.end(), is_named)) continue;
      return Value::map({{"suffix", suffix}});
    }
    return std::nullopt;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    if (section.is_null() || suffix_of(section)) return {};
    return {finding("hosts.suffix", "a host name cannot end like this",
                    "letters, digits, \"-\" and \".\", ending in a letter or digit, such as -fabric",
                    suffix_value(section)->where)};
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId artifact = block_artifact(kHostsFile);
    const Observation& block = observed.artifacts[artifact] = sparkplan::read_artifact(artifact, *this, node);
    const Result<std::string> text = whole_file(node);
    std::map<std::string, std::string> ours;
    for (Entry& entry : parse_hosts(content_of(block).value_or(""))) {
      ours.emplace(std::move(entry.name), std::move(entry.address));
    }
    for (const std::string& name : request.names) {
      if (name == kWholeFileName) continue;
      Observation& result = observed.resources[name] = Absent{};
      if (const auto* error = std::get_if<Error>(&block)) {
        result = *error;
        continue;
      }
      if (!text) {
        result = text.error();
        continue;
      }
      const auto entry = ours.find(name);
      if (entry != ours.end()) result = Present{Value::map({{kField, entry->second}}), {}};
      const std::string address = entry == ours.end() ? std::string() : entry->second;
      if (auto claim = foreign_claim(name, *text, address)) observed.foreign.push_back(*std::move(claim));
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<std::string, std::string> addresses;
    for (const Resource& resource : input.target) {
      if (resource.desired.find(kField) != nullptr) {
        addresses[resource.id.name] = resource.desired.text_or(kField, "");
      }
    }
    std::optional<std::string> content;
    if (!addresses.empty()) content = render_block(addresses);
    std::vector<Step> steps;
    if (auto step = text_artifact_step(block_artifact(kHostsFile), content, kModeOfNewFile, input, info_)) {
      steps.push_back(*std::move(step));
    }
    return steps;
  }

 private:
  static Result<std::string> whole_file(const NodeReader& node) {
    Result<std::string> text = node.read_file(kHostsFile, kLargestFileWithBlock);
    if (!text && text.error().code == ErrorCode::kNotFound) return std::string();
    return text;
  }

  /// A line that says what our block says defeats nothing. Before there is a block, only lines with
  /// IPv4 addresses count: a fabric has no others.
  std::optional<ForeignClaim> foreign_claim(const std::string& name, std::string_view text,
                                            const std::string& our_address) const {
    const std::optional<Entry> entry = claimed_above(text, name, is_ipv6(our_address));
    if (!entry || entry->address == our_address) return std::nullopt;
    return ForeignClaim{{info_.name, name},
                        kField,
                        entry->address,
                        std::string(kHostsFile) + ":" + std::to_string(entry->line),
                        "gives it " + entry->address + " and stands above our block"};
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const HostsType>(std::move(schema_json));
}

}  // namespace sparkplan::hosts
