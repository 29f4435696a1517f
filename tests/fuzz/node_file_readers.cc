#include "tests/fuzz/node_file_readers.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/facts/node_text.h"
#include "engine/agent/state/journal_reader.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/domain/nccl/nccl_variables.h"
#include "engine/domain/storage/fstab.h"
#include "engine/model/ipv4.h"
#include "engine/nccl/environment.h"
#include "engine/node/mount_table.h"
#include "engine/remote/ssh/host_keys.h"
#include "engine/remote/ssh/known_hosts.h"
#include "engine/resource/config_files.h"
#include "engine/resource/shell_environment.h"
#include "engine/resource/systemd_units.h"
#include "engine/wire/messages.h"
#include "resources/hosts/hosts.h"
#include "resources/kernel_module/module_files.h"
#include "resources/limits/limits.h"
#include "resources/limits/login.h"
#include "resources/mount/mount_unit.h"
#include "resources/nccl_env/nccl_env.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"
#include "resources/netplan/take_over.h"
#include "resources/netplan/taken_away.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "resources/ssh_trust/addresses.h"
#include "resources/ssh_trust/shared_home.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"
#include "resources/sysctl/sysctl.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/verification.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

void read_trust(std::string_view text) {
  const auto lines = ssh_trust::parse_authorized(text);
  const auto rendered = ssh_trust::render_authorized(lines);
  require(ssh_trust::render_authorized(ssh_trust::parse_authorized(rendered)) == rendered, "authorized keys change",
          rendered);
  const auto hosts = ssh_trust::render_known_hosts(ssh_trust::parse_known_hosts(text));
  require(ssh_trust::render_known_hosts(ssh_trust::parse_known_hosts(hosts)) == hosts, "known hosts change", hosts);
  (void)ssh_trust::node_of_mark(text);
  const auto config = ssh_trust::render_config(ssh_trust::parse_config(text));
  require(ssh_trust::render_config(ssh_trust::parse_config(config)) == config, "the configuration changes", config);
  const auto settings = ssh_trust::parse_server_settings(text);
  (void)ssh_trust::why_refused(settings, "nvidia", {"nvidia", "sudo"});
  (void)ssh_trust::includes_our_file(text);
  (void)is_revoked(text, "AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB");
}

void read_address(std::string_view text) {
  if (const auto address = ssh_trust::canonical_ip(text)) {
    require(ssh_trust::canonical_ip(*address) == address, "an address is not canonical", *address);
    (void)ssh_trust::is_global_unicast(*address);
  }
  (void)ssh_trust::has_zone(text);
  if (const auto address = parse_ipv4(text)) require(address->str() == text, "an address changes", text);
  if (const auto address = parse_ipv4_interface(text)) (void)address->network().str();
  if (const auto network = parse_ipv4_network(text)) (void)network->broadcast();
  (void)hosts::is_ipv4(text);
  (void)hosts::is_ipv6(text);
  (void)parse_bytes(text);
  (void)parse_rate(text);
  if (const auto duration = parse_duration(text)) {
    require(parse_duration(format_duration(*duration)) == *duration, "a duration changes", text);
  }
  if (const auto bytes = base64_decode(text)) require(base64_encode(*bytes) == text, "base64 changes", text);
  (void)number_in_text(text);
  (void)parse_nccl_version(text);
  (void)iso_date(std::string(text));
}

void read_mounts(std::string_view text) {
  const auto mounts = parse_mountinfo(text);
  for (const auto& mount : mounts) {
    (void)mount.read_only();
    (void)mounted_at(mounts, mount.target);
  }
  (void)parse_fstab(text);
  (void)ssh_trust::network_name(mounts, "/home/nvidia");
}

void read_settings(std::string_view text) {
  (void)sysctl::parse_file(text);
  if (const auto key = sysctl::parse_key(text)) {
    require(sysctl::parse_key(sysctl::dotted(*key)) == *key, "a key changes", text);
    const auto parts = split(key->path, '/');
    require(std::ranges::find(parts, "..") == parts.end() && !key->path.starts_with('/'), "a key leads elsewhere",
            text);
  }
  const auto value = sysctl::canonical_value(text);
  require(sysctl::canonical_value(value) == value, "a value is not canonical", value);
  const auto limits = limits::limits_of(text);
  require(limits::limits_of(limits::render_file(limits)) == limits, "limits change", limits::render_file(limits));
  (void)limits::parse_proc_limits(text);
  const auto modules = kernel_module::parse_load_file(text);
  (void)kernel_module::render_load_file(modules);
  (void)kernel_module::parse_options_file(text);
  (void)kernel_module::obstacles_in("/etc/modprobe.d/x.conf", text);
  (void)hosts::parse_hosts(text);
  (void)hosts::claimed_above(text, "spark-01-fabric", false);
  (void)key_file(text);
}

void read_shell(std::string_view text) {
  for (const auto& assignment : parse_shell_assignments(text)) {
    require(is_variable_name(assignment.name), "no variable name", assignment.name);
  }
  const std::vector<ConfigFile> files{{"/etc/profile.d/z.sh", std::string(text)}};
  (void)last_assignment("PATH", files);
  const auto quoted = "export A=" + shell_quote(text);
  if (text.find('\n') == std::string_view::npos && text.find('\0') == std::string_view::npos) {
    const auto again = parse_shell_assignments(quoted);
    require(again.size() == 1 && again[0].value == text, "a quoted text is another one", quoted);
  }
  (void)nccl_env::parse_profile(text);
  (void)nccl_env::parse_conf(text);
  (void)nccl_env::set_above(text, "NCCL_DEBUG");
  (void)nccl::other_variables(text, {{"NCCL_DEBUG", "INFO"}});
  (void)nccl::available_memory(text);
  (void)assignment_in(text);
  (void)nccl_file_variables(text);
}

void read_units(std::string_view text) {
  for (const auto& assignment : systemd_unit::parse_unit(text)) require(assignment.line > 0, "no line");
  (void)systemd_unit::dependencies_among({"network.target"}, text);
  (void)systemd_unit::can_be_enabled(text);
  (void)systemd_unit::defeating(text, text);
  (void)systemd_unit::is_unit_name(text);
  (void)systemd_unit::may_cut_off("x.service", text);
  (void)systemd_unit::findings_about({"x.service", std::string(text), false}, text, "/run/sparkplan/try-1");
  const auto rendered = systemd_unit::render(text);
  require(systemd_unit::is_ours(rendered), "a unit that sparkplan wrote is not recognised", rendered);
  const auto unit = mount::parse_unit(text);
  (void)unit.read_only();
  (void)nvme_tcp::server_in(text);
  (void)unit_setting(text, "Unit", "After");
  (void)unit_command_word(text);
  require(with_specifiers(without_specifiers(text)) == text, "specifiers change", text);
  const auto path = escaped_unit_path("/" + std::string(text));
  require(path.find('/') == std::string::npos && !has_line_break(path), "the name of a unit is none", path);
}

void read_netplan(std::string_view text) {
  const auto tree = netplan::parse_yaml(text);
  if (!tree) return require_printable(printable(tree.error().describe()), "an error about YAML");
  const std::string file = "/etc/netplan/50-theirs.yaml";
  netplan::ForeignFiles files;
  files.definitions = netplan::definitions_in(file, *tree);
  const auto again = netplan::decode_foreign_files(netplan::encode(files));
  require(again.definitions == files.definitions, "definitions change on their way");
  (void)netplan::definitions_of("enp1s0f1np1", {}, files);
  (void)netplan::holds_secrets(*tree);
  (void)netplan::why_not_taken_over(file, text, *tree, "enp1s0f1np1");
  for (const auto& [key, interface] : netplan::emptied_in(text)) (void)netplan::with_restored(text, {key});
  if (const auto emptied = netplan::with_emptied(text, {{"enp1s0f1np1", "enp1s0f1np1"}})) {
    require(netplan::parse_yaml(*emptied).has_value(), "an emptied file is no YAML any more", *emptied);
    if (netplan::emptied_in(text).empty()) {
      require(netplan::with_restored(*emptied, {"enp1s0f1np1"}) == text, "what was emptied does not come back",
              *emptied);
    }
  }
  if (const auto stanzas = netplan::parse_file(text)) {
    for (const auto& [name, stanza] : *stanzas) {
      require(netplan::decode_stanza(netplan::encode(stanza)) == stanza, "a stanza changes on its way", name);
    }
  }
}

void read_network(std::string_view text) {
  (void)netplan::profile_in("/etc/NetworkManager/system-connections/x.nmconnection", text);
  (void)netplan::terse_words(text);
  (void)network_profile_in("x.nmconnection", text);
}

void read_journal(std::string_view text) {
  const auto journal = parse_journal("run-1", text);
  if (!journal) return require_printable(printable(journal.error().describe()), "an error about a journal");
  (void)journal->changed_something();
  Journals journals;
  journals.runs.push_back(*journal);
  journals.runs.push_back(*journal);
  (void)undone_runs(journals);
  const Value reply = encode(history_of(journals, true));
  require(decode<HistoryReply>(reply).has_value(), "a history cannot be read", encode_json(reply));
}

}  // namespace

const Readers& node_file_readers() {
  static const Readers all{
      {"address", read_address}, {"journal", read_journal}, {"mounts", read_mounts},
      {"netplan", read_netplan}, {"network", read_network}, {"settings", read_settings},
      {"shell", read_shell},     {"trust", read_trust},     {"units", read_units},
  };
  return all;
}

}  // namespace sparkplan::fuzz
