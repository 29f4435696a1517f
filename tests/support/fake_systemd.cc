#include "tests/support/fake_systemd.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

using Words = std::vector<std::string>;
using Call = FakeNode::Call;

const std::string kMemory = "/fake/systemd/";
const std::string kWants = "/etc/systemd/system/multi-user.target.wants/";
constexpr std::array<const char*, 5> kDirectories{"/etc/systemd/system/", "/run/systemd/system/",
                                                  "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/",
                                                  "/lib/systemd/system/"};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

CommandOutput succeeded(std::string text = {}) { return {0, std::move(text), {}}; }
CommandOutput systemctl_failed(std::string text) { return {1, {}, std::move(text)}; }

bool has(const FakeNode& node, const std::string& path) { return node.text_of(path).has_value(); }

bool is_link(const FakeNode& node, const std::string& path) {
  const FakeNode::Snapshot all = node.snapshot();
  const auto found = all.find(path);
  return found != all.end() && found->second.starts_with("link ");
}

/// The effective unit file; empty if the unit has none.
std::string fragment_of(const FakeNode& node, const std::string& name) {
  for (const char* directory : kDirectories) {
    if (has(node, directory + name)) return directory + name;
  }
  return {};
}

/// In the order in which systemd reads them: by file name.
Words drop_ins_of(const FakeNode& node, const std::string& name) {
  std::map<std::string, std::string> by_name;
  const FakeNode::Snapshot all = node.snapshot();
  for (const char* directory : kDirectories) {
    const std::string inside = directory + name + ".d/";
    for (auto file = all.lower_bound(inside); file != all.end() && file->first.starts_with(inside); ++file) {
      by_name.emplace(file->first.substr(inside.size()), file->first);
    }
  }
  Words paths;
  for (const auto& [file, path] : by_name) paths.push_back(path);
  return paths;
}

std::string text_on_disk(const FakeNode& node, const std::string& name) {
  std::string text = node.text_of(fragment_of(node, name)).value_or("");
  for (const std::string& path : drop_ins_of(node, name)) text += "# " + path + "\n" + node.text_of(path).value_or("");
  return text;
}

/// The text that systemd has in memory for a loaded unit.
std::string text_in_memory(const FakeNode& node, const std::string& name) {
  return node.text_of(kMemory + "loaded/" + name).value_or(text_on_disk(node, name));
}

std::string file_state(const FakeNode& node, const std::string& name) {
  if (fragment_of(node, name).empty()) return {};
  if (is_enabled(node, name)) return "enabled";
  return contains(text_on_disk(node, name), "[Install]") ? "disabled" : "static";
}

CommandOutput show_file_states(const Call& call, const Words& names) {
  std::string text;
  for (const std::string& name : names) {
    const std::string state = file_state(call.node, name);
    if (state.empty()) return {1, text, "Failed to get unit file state for " + name + ": No such file or directory\n"};
    text += state + "\n";
  }
  return {contains(text, "enabled") ? 0 : 1, text, {}};
}

void forget(FakeNode& node, const std::string& name, const Words& what) {
  for (const std::string& one : what) node.erase(kMemory + one + "/" + name);
}

void reload(FakeNode& node) {
  const std::string inside = kMemory + "loaded/";
  const FakeNode::Snapshot all = node.snapshot();
  for (auto file = all.lower_bound(inside); file != all.end() && file->first.starts_with(inside); ++file) {
    const std::string name = file->first.substr(inside.size());
    if (fragment_of(node, name).empty() && !is_running(node, name)) {
      node.erase(file->first);
    } else {
      node.put_file(file->first, text_on_disk(node, name));
    }
  }
}

CommandOutput start(FakeNode& node, const std::string& name) {
  const std::string text = text_in_memory(node, name);
  if (text.empty()) return systemctl_failed("Failed to start " + name + ": Unit " + name + " not found.\n");
  forget(node, name, {"running", "finished", "failed", "loaded"});
  const bool fails = contains(text, "ExecStart=/fake/fails");
  if (fails || contains(text, "ExecStart=/fake/dies")) {
    node.put_file(kMemory + "failed/" + name, text);
    return fails ? systemctl_failed("Job for " + name + " failed because the control process exited with error code.\n")
                 : succeeded();
  }
  if (contains(text, "ExecStart=/fake/ends")) return succeeded();
  node.put_file(kMemory + (contains(text, "Type=oneshot") ? "finished/" : "running/") + name, text);
  if (!contains(text, "Type=oneshot")) node.put_file(kMemory + "loaded/" + name, text);
  return succeeded();
}

CommandOutput change(FakeNode& node, const std::string& verb, const std::string& name) {
  if (verb == "start" && is_running(node, name)) return succeeded();
  if (verb == "start" || verb == "restart") return start(node, name);
  if (verb == "stop") forget(node, name, {"running", "loaded"});
  if (verb == "reset-failed") forget(node, name, {"failed"});
  if (verb == "disable" || verb == "reenable") node.erase(kWants + name);
  if (verb == "enable" || verb == "reenable") {
    if (fragment_of(node, name).empty())
      return systemctl_failed("Failed to enable unit: Unit file " + name + " does not exist.\n");
    if (contains(text_on_disk(node, name), "WantedBy=")) enable_unit(node, name);
  }
  return succeeded();
}

Result<CommandOutput> systemctl(const Call& call) {
  const std::string& verb = call.argv.at(1);
  const auto names_begin = std::find(call.argv.begin(), call.argv.end(), "--");
  const Words names(names_begin == call.argv.end() ? names_begin : std::next(names_begin), call.argv.end());
  if (verb == "is-enabled") return show_file_states(call, names);
  static const std::set<std::string> verbs{"start",   "stop",     "restart",      "enable",
                                           "disable", "reenable", "reset-failed", "daemon-reload"};
  if (call.writable == nullptr || !verbs.contains(verb)) {
    return failure(ErrorCode::kBug, "systemctl " + verb + " is no question");
  }
  if (verb == "daemon-reload") {
    reload(*call.writable);
    return succeeded();
  }
  for (const std::string& name : names) {
    CommandOutput output = change(*call.writable, verb, name);
    if (output.exit_status != 0) return output;
  }
  return succeeded();
}

/// env VARIABLE... systemd-analyze verify OPTION... UNIT...
Result<CommandOutput> analyze(const Call& call) {
  std::string directory;
  std::string findings;
  for (const std::string& word : call.argv) {
    constexpr std::string_view kPath = "SYSTEMD_UNIT_PATH=";
    if (word.starts_with(kPath)) directory = word.substr(kPath.size(), word.size() - kPath.size() - 1);
    if (word.starts_with("-") || word.find('=') != std::string::npos) continue;
    const std::string unit_file = word.starts_with('/') ? word : directory + "/" + word;
    for (const std::string& path : {unit_file, unit_file + ".d/90-sparkplan.conf"}) {
      const std::string text = call.node.text_of(path).value_or("");
      int number = 0;
      for (const std::string_view line : split_lines(text)) {
        ++number;
        if (!line.starts_with("Bogus")) continue;
        findings += path + ":" + std::to_string(number) + ": Unknown key '" +
                    std::string(line.substr(0, line.find('='))) + "' in section [Service], ignoring.\n";
      }
    }
  }
  return CommandOutput{findings.empty() ? 0 : 1, {}, findings};
}

}  // namespace

bool is_enabled(const FakeNode& node, const std::string& name) { return is_link(node, kWants + name); }

void enable_unit(FakeNode& node, const std::string& name) { node.add_symlink(kWants + name, fragment_of(node, name)); }

bool is_running(const FakeNode& node, const std::string& name) { return has(node, kMemory + "running/" + name); }

std::string running_text(const FakeNode& node, const std::string& name) {
  return node.text_of(kMemory + "running/" + name).value_or("");
}

void start_unit(FakeNode& node, const std::string& name) { static_cast<void>(start(node, name)); }

void set_unit_properties(FakeNode& node, const std::string& name, const std::string& lines) {
  node.put_file(kMemory + "properties/" + name, lines);
}

UnitProperties unit_properties(const FakeNode& node, const std::string& name) {
  const std::string text = text_in_memory(node, name);
  const bool in_memory = has(node, kMemory + "loaded/" + name);
  UnitProperties shown{{"Id", name},
                       {"ActiveState", "inactive"},
                       {"SubState", "dead"},
                       {"LoadState", "loaded"},
                       {"Result", "success"},
                       {"RemainAfterExit", "no"},
                       {"MainPID", "0"},
                       {"ConditionTimestampMonotonic", "0"},
                       {"ExecMainExitTimestampMonotonic", "0"}};
  shown["Type"] = contains(text, "Type=oneshot") ? "oneshot" : "simple";
  shown["UnitFileState"] = file_state(node, name);
  shown["FragmentPath"] = fragment_of(node, name);
  shown["DropInPaths"] = join(drop_ins_of(node, name), " ");
  shown["NeedDaemonReload"] = in_memory && text != text_on_disk(node, name) ? "yes" : "no";
  if (shown["FragmentPath"].empty() && !in_memory) shown["LoadState"] = "not-found";
  if (is_link(node, "/etc/systemd/system/" + name)) shown["LoadState"] = "masked";
  if (is_running(node, name)) {
    shown["ActiveState"] = "active";
    shown["SubState"] = "running";
    shown["MainPID"] = "100";
  } else if (has(node, kMemory + "failed/" + name)) {
    shown["ActiveState"] = shown["SubState"] = "failed";
    shown["Result"] = "exit-code";
  } else if (has(node, kMemory + "finished/" + name)) {
    shown["ExecMainExitTimestampMonotonic"] = "1000000";
  }
  const std::string others = node.text_of(kMemory + "properties/" + name).value_or("");
  for (const std::string_view line : split_lines(others)) {
    const std::size_t equals = line.find('=');
    shown[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  return shown;
}

void add_systemd(FakeNode& node) {
  node.set_unit_reader(unit_properties);
  node.add_program("systemctl", systemctl);
  node.add_program("env", analyze);
  node.add_program("rmdir", [](const Call&) -> Result<CommandOutput> { return succeeded(); });
  node.add_program("journalctl", [](const Call& call) -> Result<CommandOutput> {
    const std::string name = call.argv.at(1).substr(std::string("--unit=").size());
    return succeeded(has(call.node, kMemory + "failed/" + name) ? "starting\ncannot open /dev/fake\n" : "");
  });
}

}  // namespace sparkplan::test
