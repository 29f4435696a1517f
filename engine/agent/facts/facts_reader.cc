#include "engine/agent/facts/facts_reader.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/agent/kernel/netlink.h"
#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/node/ssh_session.h"
#include "engine/core/text.h"
#include "engine/domain/nccl/nccl_variables.h"

namespace sparkplan {
namespace {

/// The value of KEY in os-release and similar files; empty without the key.
std::string assigned(const std::string& text, std::string_view key) {
  for (const auto line : split_lines(text)) {
    if (auto setting = assignment_in(line); setting && setting->first == key) return std::move(setting->second);
  }
  return "";
}

void read_operating_system(const NodeReader& node, Facts& facts) {
  auto text = node.read_file("/etc/os-release");
  if (!text) text = node.read_file("/usr/lib/os-release");
  if (text) {
    facts.os_id = assigned(*text, "ID");
    facts.os_name = assigned(*text, "PRETTY_NAME");
    facts.os_version = assigned(*text, "VERSION_ID");
  }
  if (const auto dgx = node.read_file("/etc/dgx-release")) facts.product = assigned(*dgx, "DGX_NAME");
}

/// The release of NCCL, from the name of the file that the link libnccl.so.2 points to. Only directories with that link
/// are read. Two releases are both named, because either may be used: "2.28.9 and 2.30.7".
std::string nccl_version(const NodeReader& node) {
  constexpr std::string_view kPrefix = "libnccl.so.";
  for (const std::string directory : {"/usr/lib/aarch64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}) {
    if (!node.status(directory + "/libnccl.so.2")) continue;
    const auto names = node.list_directory(directory);
    if (!names) continue;
    std::vector<std::string> found;
    for (const std::string& name : *names) {
      if (name.starts_with(kPrefix) && parse_nccl_version(name.substr(kPrefix.size()))) {
        found.push_back(name.substr(kPrefix.size()));
      }
    }
    std::sort(found.begin(), found.end());
    return join(found, " and ");
  }
  return "";
}

Result<void> read_running_machine(const NodeReader& node, Facts& facts) {
  utsname machine{};
  ::uname(&machine);
  facts.hostname = machine.nodename;
  facts.architecture = machine.machine;
  facts.kernel = machine.release;
  facts.boot_id = first_line_of(node, "/proc/sys/kernel/random/boot_id");
  if (facts.product.empty()) facts.product = first_line_of(node, "/sys/class/dmi/id/product_name");
  facts.uptime_seconds = number_in_text(first_line_of(node, "/proc/uptime")).value_or(0);
  if (const auto memory = node.read_file("/proc/meminfo")) {
    for (const auto line : split_lines(*memory)) {
      if (line.starts_with("MemTotal:")) facts.memory_total_bytes = number_in_text(line).value_or(0) * 1024;
    }
  }
  facts.ssh_server_address = ssh_server_address();
  SPARK_TRY(facts.links, node.links());
  read_link_details(node, facts.links);
  if (auto routes = read_all_routes()) {
    facts.host.routes = std::move(*routes);
  } else {
    facts.host.unreadable["routes"] = routes.error().describe();
  }
  SPARK_TRY(facts.rdma_devices, read_rdma_devices());
  return {};
}

}  // namespace

void read_installed_software(const NodeReader& node, Facts& facts) {
  read_operating_system(node, facts);
  facts.nccl_version = nccl_version(node);
}

Result<Facts> read_facts(const NodeReader& node, bool everything) {
  Facts facts;
  facts.live = node.live();
  facts.machine_id = first_line_of(node, "/etc/machine-id");
  read_installed_software(node, facts);
  read_machine(node, facts.host);
  read_network_configuration(node, facts.host);
  if (facts.live) {
    SPARK_CHECK(read_running_machine(node, facts));
  } else {
    facts.hostname = first_line_of(node, "/etc/hostname");
  }
  if (everything) facts.extended = extended(node, facts.links);
  return facts;
}

}  // namespace sparkplan
