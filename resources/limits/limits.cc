#include "resources/limits/limits.h"

#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_entries_type.h"
#include "resources/limits/item.h"
#include "resources/limits/login.h"

namespace sparkplan::limits {
namespace {

bool are_soft_and_hard(const Value& one, const Value& other) {
  const std::string first = one.text_or("type", "both");
  const std::string second = other.text_or("type", "both");
  return first != "both" && second != "both" && first != second;
}

class LimitsType final : public TextEntriesType {
 public:
  LimitsType() : TextEntriesType(file_artifact(kOwnFile)) {
    info_.name = "limits";
    info_.section = "limits";
    info_.phase = Phase::kFiles;
    info_.summary = "limits of logins: locked memory, open files and so on";
    info_.files = {std::string(kOwnFile)};
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.checks_effect = true;
    info_.records = {.identity = {"domain", "item"}, .may_have_both = are_soft_and_hard};
    info_.reported.resource =
        Shape::map({{kHard, Shape::text(Shape::kMostLineBytes)}, {kSoft, Shape::text(Shape::kMostLineBytes)}});
    info_.reported.longest_name = kLongestWordName;
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const auto& [name, wanted] : wanted_limits(section)) {
      result.resources.push_back(make_resource(name.str(), encode(wanted.limit), wanted.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [text, value] : applied) {
      const std::optional<LimitName> name = parse_name(text);
      if (!name) return std::nullopt;
      for (Value& record : records_of(*name, decode_limit(value))) section.push_back(std::move(record));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  /// A soft or hard value that is no longer desired is removed, too.
  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    std::vector<FieldChange> changes;
    for (const std::string_view field : {kHard, kSoft}) {
      const Value* wanted = resource.desired.find(field);
      const Value* there = present.value.find(field);
      if (wanted == nullptr && there == nullptr) continue;
      if (wanted != nullptr && there != nullptr && *wanted == *there) continue;
      changes.push_back(
          {std::string(field), there == nullptr ? Value() : *there, wanted == nullptr ? Value() : *wanted});
    }
    return changes;
  }

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    return limits_not_effective(desired, node);
  }

 protected:
  std::string render(const ValuesByName& entries) const override {
    std::map<LimitName, Limit> limits;
    for (const auto& [text, value] : entries) {
      if (const auto name = parse_name(text)) limits[*name] = decode_limit(value);
    }
    return render_file(limits);
  }

  ValuesByName parse(std::string_view text) const override {
    ValuesByName entries;
    for (const auto& [name, limit] : limits_of(text)) entries[name.str()] = encode(limit);
    return entries;
  }

  Result<std::vector<ForeignClaim>> claims(const std::vector<std::string>& names, const ValuesByName& ours,
                                           const NodeReader& node) const override {
    SPARK_TRY(const std::vector<LimitsFile> others, limits_files(node));
    std::vector<ForeignClaim> claims;
    for (const std::string& text : names) {
      const auto own = ours.find(text);
      const Limit limit = own == ours.end() ? Limit() : decode_limit(own->second);
      if (const auto name = parse_name(text)) add_foreign_claims(*name, limit, others, claims);
    }
    return claims;
  }

 private:
  void add_foreign_claims(const LimitName& name, const Limit& ours, const std::vector<LimitsFile>& others,
                          std::vector<ForeignClaim>& foreign) const {
    const std::optional<Found> exempt = exempting({name.domain}, others);
    for (const bool soft : {true, false}) {
      ForeignClaim claim{{info_.name, name.str()}, std::string(soft ? kSoft : kHard), Value(), "", ""};
      if (exempt) {
        claim.source = exempt->source;
        claim.message = "exempts " + name.domain + " from all limits";
      } else if (const auto found = overriding(name, soft, others)) {
        claim.value = found->line->value;
        claim.source = found->source;
        claim.message = "sets it to " + found->line->value + " and is read later";
      } else {
        continue;
      }
      foreign.push_back(std::move(claim));
    }
    for (const Repetition& one : repetitions(name, ours, others)) {
      std::vector<std::string> lines;
      for (const int line : one.lines) lines.push_back(std::to_string(line));
      // If the last line wins with another value, a claim above reports that.
      foreign.push_back({{info_.name, name.str()},
                         "",
                         Value(),
                         one.path,
                         "is a foreign file that repeats this limit: line" +
                             std::string(lines.size() == 1 ? " " : "s ") + join(lines, ", ") + " can be removed",
                         true});
    }
  }
};

}  // namespace

std::optional<LimitName> parse_name(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || find_item(text.substr(colon + 1)) == nullptr) {
    return std::nullopt;
  }
  return LimitName{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

Value encode(const Limit& limit) {
  Value value = Value::map();
  if (limit.soft) value.set(kSoft, *limit.soft);
  if (limit.hard) value.set(kHard, *limit.hard);
  return value;
}

Limit decode_limit(const Value& value) { return {text_below(value, kSoft), text_below(value, kHard)}; }

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<LimitsType>(); }

}  // namespace sparkplan::limits
