#include "resources/limits/limits.h"

#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/limits/config_files.h"
#include "resources/limits/effect.h"
#include "resources/limits/item.h"

namespace sparkplan::limits {
namespace {

constexpr std::uint32_t kFileMode = 0644;

std::optional<std::string> text_below(const Value& value, std::string_view key) {
  if (value.find(key) == nullptr) return std::nullopt;
  return value.text_or(key, "");
}

class LimitsType final : public ResourceType {
 public:
  explicit LimitsType(std::string schema_json) {
    info_.name = "limits";
    info_.section = "limits";
    info_.phase = Phase::kFiles;
    info_.summary = "limits of logins: locked memory, open files and so on";
    info_.schema_json = std::move(schema_json);
    info_.files = {std::string(kOwnFile)};
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.checks_effect = true;
    info_.reported.resource =
        Shape::map({{kHard, Shape::text(Shape::kMostLineBytes)}, {kSoft, Shape::text(Shape::kMostLineBytes)}});
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const auto& [name, wanted] : wanted_limits(section)) {
      Resource resource;
      resource.id = {info_.name, name.str()};
      resource.desired = encode(wanted.limit);
      resource.where = wanted.where;
      resource.impact = Impact::kNeedsRelogin;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
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

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId artifact = file_artifact(kOwnFile);
    const Observation& file = observed.artifacts[artifact] = sparkplan::read_artifact(artifact, *this, node);
    const Result<std::vector<ConfigFile>> others = config_files(node);
    const std::map<LimitName, Limit> ours = limits_of(content_of(file).value_or(""));
    for (const std::string& text : request.names) {
      if (text == kWholeFileName) continue;
      const std::optional<LimitName> name = parse_name(text);
      Observation& result = observed.resources[text] = Absent{};
      if (const auto* error = std::get_if<Error>(&file)) {
        result = *error;
      } else if (!others) {
        result = others.error();
      } else if (name) {
        if (const auto found = ours.find(*name); found != ours.end()) result = Present{encode(found->second), {}};
        add_foreign_claims(*name, ours, *others, observed.foreign);
      }
    }
    return observed;
  }

  /// A soft or hard value that nobody asks for any more goes, too.
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

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<LimitName, Limit> limits;
    for (const Resource& resource : input.target) {
      const std::optional<LimitName> name = parse_name(resource.id.name);
      const Limit limit = decode_limit(resource.desired);
      if (name && limit != Limit{}) limits[*name] = limit;
    }
    std::optional<std::string> content;
    if (!limits.empty()) content = render_file(limits);
    std::vector<Step> steps;
    if (auto step = text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_)) {
      steps.push_back(*std::move(step));
    }
    return steps;
  }

  std::vector<Ineffective> check_effect(const std::map<std::string, Value>& desired,
                                        const NodeReader& node) const override {
    return limits_not_effective(desired, node);
  }

 private:
  void add_foreign_claims(const LimitName& name, const std::map<LimitName, Limit>& all_ours,
                          const std::vector<ConfigFile>& others, std::vector<ForeignClaim>& foreign) const {
    const std::optional<Found> exempt = exempting({name.domain}, others);
    for (const bool soft : {true, false}) {
      ForeignClaim claim{{info_.name, name.str()}, std::string(soft ? kSoft : kHard), Value(), "", ""};
      if (exempt) {
        claim.source = exempt->source;
        claim.message = "takes " + name.domain + " out of all limits";
      } else if (const auto found = overriding(name, soft, others)) {
        claim.value = found->line->value;
        claim.source = found->source;
        claim.message = "sets it to " + found->line->value + " and is read later";
      } else {
        continue;
      }
      foreign.push_back(std::move(claim));
    }
    const auto ours = all_ours.find(name);
    for (const Repetition& one : repetitions(name, ours == all_ours.end() ? Limit() : ours->second, others)) {
      std::vector<std::string> lines;
      for (const int line : one.lines) lines.push_back(std::to_string(line));
      // Where the last of them wins, and says otherwise, there is a claim about that above.
      foreign.push_back({{info_.name, name.str()},
                         "",
                         Value(),
                         one.path,
                         "says it more than once, and is somebody else's: line" +
                             std::string(lines.size() == 1 ? " " : "s ") + join(lines, ", ") + " can go",
                         true});
    }
  }

  TypeInfo info_;
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

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const LimitsType>(std::move(schema_json));
}

}  // namespace sparkplan::limits
