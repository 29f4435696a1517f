#include "tests/support/fake_apt.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

using Call = FakeNode::Call;

const std::string kSources = "/fake/apt/";
const std::string kStatus = "/var/lib/dpkg/status";
const std::string kStates = "/var/lib/apt/extended_states";

/// The state of one package in dpkg and apt.
struct Entry {
  std::string version;
  std::string state = "installed";
  std::vector<std::string> needs;
  bool automatic = false;
  bool held = false;
};
using Database = std::map<std::string, Entry>;

struct Offer {
  std::string version;
  std::vector<std::string> needs;
  bool broken = false;
};

std::optional<Offer> offer_of(const FakeNode& node, const std::string& name) {
  const auto text = node.text_of(kSources + name);
  if (!text) return std::nullopt;
  auto words = words_of(*text);
  Offer offer{words[0], {words.begin() + 2, words.end()}, words[1] == "broken"};
  return offer;
}

Database read(const FakeNode& node) {
  Database database;
  std::string name;
  const std::string status = node.text_of(kStatus).value_or("");
  for (const std::string_view line : split_lines(status)) {
    const auto words = words_of(line);
    if (words.size() < 2 || line.starts_with(' ')) continue;
    if (words[0] == "Package:") name = words[1];
    if (words[0] == "Status:") database[name].state = words[3];
    if (words[0] == "Status:") database[name].held = words[1] == "hold";
    if (words[0] == "Version:") database[name].version = words[1];
    if (words[0] != "Depends:") continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      database[name].needs.push_back(words[i].substr(0, words[i].find(',')));
    }
  }
  const std::string states = node.text_of(kStates).value_or("");
  for (const std::string_view line : split_lines(states)) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == "Package:") database[words[1]].automatic = true;
  }
  return database;
}

void write(const Database& database, FakeNode& node) {
  std::string status = "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21.22\n\n";
  std::string states;
  for (const auto& [name, entry] : database) {
    if (name == "dpkg") continue;
    status += "Package: " + name + "\nStatus: " + (entry.held ? "hold" : "install") + " ok " + entry.state +
              "\nArchitecture: amd64\n";
    if (!entry.needs.empty()) status += "Depends: " + join(entry.needs, ", ") + "\n";
    status += "Version: " + entry.version + "\nDescription: a package\n Status: not a field\n\n";
    if (entry.automatic) states += "Package: " + name + "\nArchitecture: amd64\nAuto-Installed: 1\n\n";
  }
  node.put_file(kStatus, status);
  if (states.empty()) {
    node.erase(kStates);
  } else {
    node.put_file(kStates, states);
  }
}

CommandOutput apt_failed(const std::string& text) { return {100, {}, text + "\n"}; }

/// Adds the package to `found`, after the packages that it needs.
void collect(const FakeNode& node, const Database& database, const std::string& name, std::vector<std::string>& found) {
  const auto offer = offer_of(node, name);
  if (!offer || std::find(found.begin(), found.end(), name) != found.end()) return;
  for (const std::string& needed : offer->needs) {
    if (!database.contains(needed)) collect(node, database, needed, found);
  }
  found.push_back(name);
}

/// Without this flag, apt refuses to change a held package.
bool may_change_held(const Call& call) {
  return std::find(call.argv.begin(), call.argv.end(), "--allow-change-held-packages") != call.argv.end();
}
const char* const kHeldWouldChange =
    "E: Held packages were changed and -y was used without --allow-change-held-packages.";

CommandOutput install(const Call& call, Database database, const std::string& wanted, bool simulate) {
  const auto equals = wanted.find('=');
  const std::string name = wanted.substr(0, equals);
  const auto offer = offer_of(call.node, name);
  if (!offer) return apt_failed("E: Unable to locate package " + name);
  const std::string version = equals == std::string::npos ? offer->version : wanted.substr(equals + 1);
  const bool other = version != offer->version;
  if (other && !call.node.text_of(kSources + name + "=" + version))
    return apt_failed("E: Version '" + version + "' for '" + name + "' was not found");
  const auto known = database.find(name);
  if (known != database.end() && known->second.state == "installed" && known->second.version == version) {
    known->second.automatic = false;
    if (!simulate) write(database, *call.writable);
    return {};
  }
  const bool held = known != database.end() && known->second.held;
  if (held && !may_change_held(call)) return apt_failed(kHeldWouldChange);
  std::vector<std::string> names;
  collect(call.node, database, name, names);
  CommandOutput output;
  for (const std::string& one : names) {
    const Offer its = *offer_of(call.node, one);
    output.standard_output += "Inst " + one + " (" + its.version + " lab [amd64])\n";
    if (simulate) continue;
    database[one] = {its.version, its.broken ? "half-configured" : "installed", its.needs, one != name};
    if (one == name) database[one].version = version;
    if (one == name) database[one].held = held;
    if (!its.broken) continue;
    output.exit_status = 100;
    output.standard_error = "dpkg: error processing package " + one + " (--configure):\n installed " + one +
                            " package post-installation script subprocess returned error exit status 3\n"
                            "E: Sub-process /usr/bin/dpkg returned an error code (1)\n";
  }
  if (!simulate) write(database, *call.writable);
  return output;
}

CommandOutput remove(const Call& call, Database database, const std::string& name, bool simulate) {
  std::set<std::string> going{name};
  for (bool more = true; more;) {
    more = false;
    for (const auto& [other, entry] : database) {
      const bool needs = std::any_of(entry.needs.begin(), entry.needs.end(),
                                     [&](const std::string& needed) { return going.contains(needed); });
      if (needs && going.insert(other).second) more = true;
    }
  }
  for (const std::string& one : going) {
    const auto known = database.find(one);
    if (known != database.end() && known->second.held) return apt_failed(kHeldWouldChange);
  }
  CommandOutput output;
  for (const std::string& one : going) {
    output.standard_output += "Remv " + one + " [1]\n";
    database.erase(one);
  }
  if (!simulate) write(database, *call.writable);
  return output;
}

Result<CommandOutput> apt(const Call& call) {
  std::vector<std::string> words;
  bool simulate = false;
  for (const std::string& word : call.argv) {
    simulate = simulate || word == "--simulate";
    const auto equals = word.find('=');
    const bool variable =
        equals != std::string::npos && equals == word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    const bool setting = variable || word.starts_with("-");
    if (!setting || word == "--") words.push_back(word);
  }
  // env, PROGRAM, COMMAND, --, NAME
  if (!simulate && call.writable == nullptr) return apt_failed("asked to change something by a query");
  if (!simulate && call.node.text_of("/fake/apt-locked")) {
    return apt_failed("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)");
  }
  Database database = read(call.node);
  if (words[2] == "update") return CommandOutput{};
  if (words[2] == "install") return install(call, database, words.back(), simulate);
  if (words[2] == "remove") return remove(call, database, words.back(), simulate);
  if (words[1] == "apt-mark") {
    Entry& entry = database[words.back()];
    if (words[2] == "auto") entry.automatic = true;
    if (words[2] == "hold") entry.held = true;
    if (words[2] == "unhold") entry.held = false;
    write(database, *call.writable);
    return CommandOutput{};
  }
  return apt_failed("E: Invalid operation " + words[2]);
}

}  // namespace

void add_apt(FakeNode& node, const std::vector<FakePackage>& packages) {
  Database database;
  for (const FakePackage& package : packages) {
    if (package.installed)
      database[package.name] = {*package.installed, "installed", package.needs, package.automatic, package.held};
    if (package.version.empty()) continue;
    if (package.installed) node.put_file(kSources + package.name + "=" + *package.installed, "");
    node.put_file(kSources + package.name,
                  package.version + (package.broken ? " broken " : " fine ") + join(package.needs, " "));
  }
  write(database, node);
  node.add_program("env", apt);
}

}  // namespace sparkplan::test
