#include "engine/resource/resource_type.h"

#include <algorithm>
#include <utility>

namespace sparkplan {
namespace {

/// A desired field and what is there, compared from the desired side: fields that nobody asked for
/// are somebody else's. Lists are one value: which of their items moved says nothing to a reader.
void compare(const std::string& path, const Value& desired, const Value* present, const Present& observed,
             std::vector<FieldChange>& changes) {
  if (observed.not_applicable.contains(path)) return;
  const Value::Map* fields = desired.entries();
  const bool descend = fields != nullptr && (present == nullptr || present->is_null() || present->is_map());
  if (!descend || (fields->empty() && !path.empty())) {
    if (present != nullptr && desired == *present) return;
    changes.push_back({path, present == nullptr ? Value() : *present, desired});
    return;
  }
  for (const MapEntry& field : *fields) {
    const Value* there = present == nullptr ? nullptr : present->find(field.key);
    compare(path.empty() ? field.key : path + "." + field.key, field.value, there, observed, changes);
  }
}

}  // namespace

const Resource* StepsInput::target_of(const ResourceId& id) const {
  const auto found = std::find_if(target.begin(), target.end(), [&](const Resource& one) { return one.id == id; });
  return found == target.end() ? nullptr : &found->get();
}

Value ClusterView::export_or_unknown(const NodeName& node, std::string_view type, std::string_view key) const {
  if (const auto of_node = exports.find(node.str()); of_node != exports.end()) {
    if (const auto of_type = of_node->second.find(std::string(type)); of_type != of_node->second.end()) {
      const Value* value = of_type->second.find(key);
      if (value != nullptr && !value->is_null()) return *value;
    }
  }
  const std::string what(key);
  return Value::Unknown{"known after " + node.str() + " has made its " + what,
                        node.str() + "/" + std::string(type) + "/" + what};
}

std::optional<Value> ResourceType::section_from(const ClusterView& /*view*/,
                                                const std::map<std::string, Value>& /*applied*/,
                                                const Facts& /*own*/) const {
  return std::nullopt;
}

std::vector<Diagnostic> ResourceType::validate(const Value& /*section*/) const { return {}; }

Result<Value> ResourceType::exports(const Value& /*section*/, const NodeReader& /*node*/) const { return Value(); }

std::vector<FieldChange> ResourceType::diff(const Resource& resource, const Present& present) const {
  std::vector<FieldChange> changes;
  compare("", resource.desired, &present.value, present, changes);
  std::sort(changes.begin(), changes.end(), [](const FieldChange& a, const FieldChange& b) { return a.path < b.path; });
  return changes;
}

std::optional<Error> ResourceType::refuses(const std::vector<Change>& /*changes*/, const Facts& /*own*/) const {
  return std::nullopt;
}

Observation ResourceType::read_artifact(const ArtifactId& artifact, const NodeReader& /*node*/) const {
  return Error{ErrorCode::kBug, "type " + info().name + " has no artifacts of kind " + artifact.kind, {}, {}, {}};
}

std::vector<Objection> ResourceType::prepare(std::span<const Step> /*steps*/, Node& /*node*/) const { return {}; }

std::vector<Ineffective> ResourceType::check_effect(const std::map<std::string, Value>& /*desired*/,
                                                    const NodeReader& /*node*/) const {
  return {};
}

Result<void> ResourceType::apply(const ArtifactId& artifact, const Observation& /*after*/, Node& /*node*/) const {
  return failure(ErrorCode::kBug, "type " + info().name + " has no artifacts of kind " + artifact.kind);
}

}  // namespace sparkplan
