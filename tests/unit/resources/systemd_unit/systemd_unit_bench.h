#pragma once

#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "resources/systemd_unit/unit_text.h"
#include "tests/support/catch.h"
#include "tests/support/fake_systemd.h"

namespace sparkplan::systemd_unit {

using test::FakeNode;
using Words = std::vector<std::string>;

inline const std::string kTune = "tune.service";
inline const std::string kTunePath = "/etc/systemd/system/tune.service";
inline const std::string kRunning = "[Service]\nExecStart=/usr/bin/tune\n";
inline const std::string kOneshot = "[Service]\nType=oneshot\nExecStart=/usr/bin/tune\n";

inline const ResourceType& type() { return *builtin_registry().find("systemd_unit"); }

/// A node with systemd and, if a path is given, one file.
inline FakeNode node_with(const std::string& path, const std::string& text) {
  FakeNode node;
  test::add_systemd(node);
  if (!path.empty()) node.add_file(path, text);
  return node;
}

/// The desired or earlier state of a unit.
inline Observation unit(std::initializer_list<MapEntry> fields) { return Present{Value::map(fields), {}}; }

inline Result<void> make(const Observation& after, FakeNode& node) {
  return apply_artifact({"unit", kTune}, after, type(), node);
}

inline Observation seen(const std::string& name, const FakeNode& node) {
  return type().observe({{name}}, node).resources.at(name);
}

inline Value value_of(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? Value() : present->value;
}

/// The codes from validating one unit.
inline Words codes(const Value& one) {
  Words found;
  for (const Diagnostic& diagnostic : type().validate(Value::list({one}))) found.push_back(diagnostic.code);
  return found;
}

inline Value named(std::initializer_list<MapEntry> more, const char* name = "tune.service") {
  Value value = Value::map(more);
  return value.set("name", name);
}

}  // namespace sparkplan::systemd_unit
