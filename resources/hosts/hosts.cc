#include "resources/hosts/hosts.h"

#include <algorithm>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_entries_type.h"

namespace sparkplan::hosts {
namespace {

constexpr const char* kField = "address";

/// The value below "suffix" as written; null for the default.
const Value* suffix_value(const Value& section) {
  const Value* suffix = section.find("suffix");
  return suffix == nullptr || suffix->is_null() ? nullptr : suffix;
}

/// Nothing for an invalid suffix, which validate() reports.
std::optional<std::string> suffix_of(const Value& section) {
  const Value* value = suffix_value(section);
  if (value == nullptr) return std::string(kDefaultSuffix);
  if (value->string() == nullptr || !is_suffix(*value->string())) return std::nullopt;
  return *value->string();
}

class HostsType final : public TextEntriesType {
 public:
  HostsType() : TextEntriesType(block_artifact(kHostsFile)) {
    info_.name = "hosts";
    info_.section = "hosts";
    info_.phase = Phase::kFiles;
    info_.summary = "names of the fabric addresses of all nodes";
    info_.files = {std::string(kHostsFile) + " (marked block)"};
    info_.reported.resource = Shape::map({{kField, Shape::text(Shape::kMostLineBytes)}});
    info_.reported.longest_name = kLongestWordName;
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    const std::optional<std::string> suffix = suffix_of(section);
    if (section.is_null() || !suffix) return result;
    Names names = names_of(view.cluster, *suffix);
    for (Diagnostic& one : names.diagnostics) {
      auto& findings = one.severity == Severity::kError ? result.diagnostics : result.about_several;
      findings.push_back(std::move(one));
    }
    const Value* written = suffix_value(section);
    for (auto& [name, address] : names.addresses) {
      result.resources.push_back(make_resource(name, Value::map({{kField, std::move(address)}}),
                                               written == nullptr ? section.where : written->where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& view, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    if (applied.empty()) return std::nullopt;
    const std::string& first = applied.begin()->first;
    for (const NodeSpec& node : view.cluster.nodes) {
      if (!first.starts_with(node.name.str())) continue;
      const std::string suffix = first.substr(node.name.str().size());
      if (!is_suffix(suffix)) continue;
      const auto names = names_of(view.cluster, suffix).addresses;
      const auto is_named = [&](const auto& one) { return names.contains(one.first); };
      if (!std::ranges::all_of(applied, is_named)) continue;
      return Value::map({{"suffix", suffix}});
    }
    return std::nullopt;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    if (section.is_null() || suffix_of(section)) return {};
    return {finding("hosts.suffix", "a host name cannot end like this",
                    "use letters, digits, \"-\" and \".\", and end in a letter or digit, such as -fabric",
                    suffix_value(section)->where)};
  }

 protected:
  std::string render(const ValuesByName& entries) const override {
    std::map<std::string, std::string> addresses;
    for (const auto& [name, value] : entries) addresses[name] = value.text_or(kField, "");
    return render_block(addresses);
  }

  ValuesByName parse(std::string_view text) const override {
    ValuesByName entries;
    for (Entry& entry : parse_hosts(text)) {
      entries.emplace(std::move(entry.name), Value::map({{kField, std::move(entry.address)}}));
    }
    return entries;
  }

  /// A line with the same address as ours is no conflict. Before the block exists, our address is not known here: a
  /// line with an IPv4 address counts first, as fabric addresses are IPv4, then one with an IPv6 address, as a
  /// management address can be.
  Result<std::vector<ForeignClaim>> claims(const std::vector<std::string>& names, const ValuesByName& ours,
                                           const NodeReader& node) const override {
    SPARK_TRY(const std::string text, file_with_block(kHostsFile, node));
    std::vector<ForeignClaim> claims;
    for (const std::string& name : names) {
      const auto own = ours.find(name);
      const std::string address = own == ours.end() ? "" : own->second.text_or(kField, "");
      std::optional<Entry> entry = claimed_above(text, name, is_ipv6(address));
      if (!entry && address.empty()) entry = claimed_above(text, name, true);
      if (!entry || entry->address == address) continue;
      claims.push_back({{info_.name, name},
                        kField,
                        entry->address,
                        std::string(kHostsFile) + ":" + std::to_string(entry->line),
                        "gives it " + entry->address + " and comes before our block"});
    }
    return claims;
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<HostsType>(); }

}  // namespace sparkplan::hosts
