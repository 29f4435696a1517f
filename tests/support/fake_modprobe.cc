#include "tests/support/fake_modprobe.h"

#include <algorithm>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

using Call = FakeNode::Call;

const std::string kKnown = "/fake/modules/";

std::string kernel_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string directory_of(const std::string& name) { return "/sys/module/" + name + "/"; }

CommandOutput modprobe_failed(const std::string& text) { return {1, {}, "modprobe: FATAL: " + text + "\n"}; }

/// Applies "options NAME KEY=VALUE ..." of all files below /etc/modprobe.d.
void set_parameters(FakeNode& node, const std::string& name) {
  for (const auto& [path, entry] : node.snapshot()) {
    if (!path.starts_with("/etc/modprobe.d/")) continue;
    const std::string text = node.text_of(path).value_or("");
    for (const std::string_view line : split_lines(text)) {
      const auto words = words_of(line);
      if (words.size() < 3 || words[0] != "options" || kernel_name(words[1]) != name) continue;
      for (std::size_t i = 2; i < words.size(); ++i) {
        const auto equals = words[i].find('=');
        if (equals == std::string::npos) continue;
        node.put_file(directory_of(name) + "parameters/" + words[i].substr(0, equals), words[i].substr(equals + 1));
      }
    }
  }
}

Result<CommandOutput> modprobe(const Call& call) {
  const auto& argv = call.argv;
  const std::string name = kernel_name(argv.back());
  if (!call.node.text_of(kKnown + name))
    return modprobe_failed("Module " + argv.back() + " not found in directory /lib/modules");
  if (argv[1] == "--dry-run") return CommandOutput{};
  if (call.writable == nullptr) return modprobe_failed("asked to change something by a query");
  if (argv[0] == "rmmod") {
    if (call.node.text_of(directory_of(name) + "refcnt") != "0")
      return modprobe_failed("Module " + name + " is in use.");
    for (const auto& [path, entry] : call.node.snapshot()) {
      if (path.starts_with(directory_of(name))) call.writable->erase(path);
    }
    return CommandOutput{};
  }
  load_module(*call.writable, name);
  set_parameters(*call.writable, name);
  return CommandOutput{};
}

}  // namespace

void install_fake_modprobe(FakeNode& node) {
  node.add_program("modprobe", modprobe);
  node.add_program("rmmod", modprobe);
}

void add_module(FakeNode& node, const std::string& name) { node.put_file(kKnown + name, ""); }

void load_module(FakeNode& node, const std::string& name, int users) {
  add_module(node, name);
  node.put_file(directory_of(name) + "refcnt", std::to_string(users));
}

}  // namespace sparkplan::test
