#include <set>
#include <string>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

const Value* given(const Value& unit, std::string_view key) {
  const Value* value = unit.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

/// One layer may give the content and another the drop-in, so only merged units are checked.
void check_one_text(const Value& unit, const std::string& name, std::vector<Diagnostic>& findings) {
  const Value* drop_in = unit.find("drop_in");
  if (drop_in == nullptr || unit.find("content") == nullptr) return;
  findings.push_back(finding("units.content-and-drop-in", in_quotes(name) + " has both \"content\" and \"drop_in\"",
                             "a drop-in is for a unit that sparkplan does not manage; put its lines into \"content\"",
                             drop_in->where));
}

/// systemd ignores lines before the first section and only logs them.
void check_text(const Value& unit, const char* key, std::vector<Diagnostic>& findings) {
  const Value* text = given(unit, key);
  if (text == nullptr || text->string() == nullptr) return;
  const std::optional<Assignment> first = first_assignment(*text->string());
  if (!first) {
    findings.push_back(finding("systemd_unit.empty", std::string("\"") + key + "\" sets nothing",
                               "a unit file has sections and assignments, such as [Service] and ExecStart=/bin/true",
                               text->where));
  } else if (first->section.empty()) {
    findings.push_back(finding("systemd_unit.no-section", "\"" + first->key + "\" is outside of any section",
                               "begin with the section's name, such as [Service]", text->where));
  }
}

void check_enabled(const Value& unit, const std::string& name, std::vector<Diagnostic>& findings) {
  const Value* enabled = given(unit, "enabled");
  const Value* content = given(unit, "content");
  if (enabled == nullptr || content == nullptr || content->string() == nullptr) return;
  const bool* wanted = enabled->boolean();
  if (wanted == nullptr || !*wanted || can_be_enabled(*content->string())) return;
  findings.push_back(
      finding("systemd_unit.no-install-section", name + " cannot be enabled: its content does not say what wants it",
              "add [Install] with WantedBy=multi-user.target, or leave \"enabled\" out", enabled->where));
}

void check_template(const Value& unit, const std::string& name, std::vector<Diagnostic>& findings) {
  if (!is_template(name)) return;
  for (const char* key : {"enabled", "state"}) {
    if (const Value* value = given(unit, key)) {
      findings.push_back(
          finding("systemd_unit.template", name + " is a template, which can neither be enabled nor run itself",
                  "name an instance of it, such as " + std::string(name).insert(name.rfind('.'), "1"), value->where));
    }
  }
}

/// sparkplan could not reconnect to a node that it has cut off, not even to repair it.
void check_connection(const Value& unit, const std::string& name, std::vector<Diagnostic>& findings) {
  if (!carries_the_connection(name)) return;
  const char* const hint = "leave it out here; if you must stop it, use the node's console";
  const Value* state = given(unit, "state");
  if (state != nullptr && state->string() != nullptr && *state->string() == "stopped") {
    findings.push_back(finding("systemd_unit.carries-connection",
                               name + " carries the connection to the node and cannot be stopped", hint, state->where));
  }
  const Value* enabled = given(unit, "enabled");
  if (enabled != nullptr && enabled->boolean() != nullptr && !*enabled->boolean()) {
    findings.push_back(finding("systemd_unit.carries-connection",
                               name + " carries the connection to the node and cannot be disabled", hint,
                               enabled->where));
  }
}

/// Each of these targets ends everything on the node, at every apply.
void check_target(const Value& unit, const std::string& name, std::vector<Diagnostic>& findings) {
  static const std::set<std::string> kEndings{
      "reboot.target",    "poweroff.target", "halt.target",        "kexec.target",   "shutdown.target", "exit.target",
      "emergency.target", "rescue.target",   "soft-reboot.target", "suspend.target", "hibernate.target"};
  const Value* state = given(unit, "state");
  if (state == nullptr || state->string() == nullptr || *state->string() != "started" || !kEndings.contains(name))
    return;
  findings.push_back(finding("systemd_unit.ends-the-system", name + " is not a state that a node can be kept in",
                             "reboot the node with its own tools", state->where));
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  for (const Value& unit : items_of(section)) {
    const Value* name = unit.find("name");
    if (name == nullptr || name->string() == nullptr) continue;
    if (!is_unit_name(*name->string())) {
      findings.push_back(finding("systemd_unit.name", "\"" + *name->string() + "\" is not a unit name",
                                 "write NAME.service, or NAME@INSTANCE.service", name->where));
    }
    check_one_text(unit, *name->string(), findings);
    check_text(unit, "content", findings);
    check_text(unit, "drop_in", findings);
    check_enabled(unit, *name->string(), findings);
    check_template(unit, *name->string(), findings);
    check_connection(unit, *name->string(), findings);
    check_target(unit, *name->string(), findings);
  }
  return findings;
}

}  // namespace sparkplan::systemd_unit
