#include "engine/agent/facts_reader.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "engine/agent/kernel_file.h"
#include "engine/agent/machine_reader.h"
#include "engine/agent/netlink.h"
#include "engine/agent/netlink_facts.h"
#include "engine/agent/network_reader.h"
#include "engine/agent/rdma.h"
#include "engine/agent/survey.h"
#include "engine/core/text.h"
#include "engine/resource/nccl_variables.h"

namespace sparkplan {
namespace {

constexpr std::string_view kVariable = "SSH_CONNECTION=";

std::string first_line(const NodeReader& node, const char* path) {
  const auto text = node.read_file(path);
  return text ? std::string(trim(split_lines(*text + "\n").front())) : "";
}

/// The value of KEY=value or KEY="value" in os-release and its like.
std::string assigned(const std::string& text, std::string_view key) {
  for (const auto line : split_lines(text)) {
    if (line.size() <= key.size() || line.substr(0, key.size()) != key || line[key.size()] != '=') continue;
    auto value = trim(line.substr(key.size() + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return "";
}

std::int64_t leading_number(std::string_view text) {
  const auto digits = text.find_first_of("0123456789");
  std::int64_t number = 0;
  if (digits == std::string_view::npos) return 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return number;
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

/// The release of libnccl.so.2 by the name of the file that the link of that name leads to. A directory is
/// read only where the link is. Two releases side by side, of which nobody can tell which is meant: "2.28.9 and
/// 2.30.7".
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
  facts.boot_id = first_line(node, "/proc/sys/kernel/random/boot_id");
  if (facts.product.empty()) facts.product = first_line(node, "/sys/class/dmi/id/product_name");
  facts.uptime_seconds = leading_number(first_line(node, "/proc/uptime"));
  if (const auto memory = node.read_file("/proc/meminfo")) {
    for (const auto line : split_lines(*memory)) {
      if (line.rfind("MemTotal:", 0) == 0) facts.memory_total_bytes = leading_number(line) * 1024;
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

std::string server_in(std::string_view connection) {
  const auto fields = split(connection, ' ');
  return fields.size() == 4 ? std::string(fields[2]) : "";
}

pid_t parent_of(pid_t process) {
  const auto text = kernel_file("/proc/" + std::to_string(process) + "/status");
  for (const auto line : split_lines(text)) {
    if (line.rfind("PPid:", 0) == 0) return static_cast<pid_t>(leading_number(line));
  }
  return 0;
}

}  // namespace

std::string ssh_server_address() {
  if (const char* connection = std::getenv("SSH_CONNECTION")) return server_in(connection);
  pid_t ancestor = ::getppid();
  for (int depth = 0; depth < 5 && ancestor > 1; ++depth, ancestor = parent_of(ancestor)) {
    const auto environment = kernel_file("/proc/" + std::to_string(ancestor) + "/environ");
    for (const auto variable : split(environment, '\0')) {
      if (variable.rfind(kVariable, 0) == 0) return server_in(variable.substr(kVariable.size()));
    }
  }
  return "";
}

std::string ssh_session_process() {
  std::string found;
  pid_t process = ::getpid();
  for (int depth = 0; depth < 6 && process > 1; ++depth, process = parent_of(process)) {
    const auto directory = "/proc/" + std::to_string(process);
    // The outermost one: what sudo has made of it says nothing of a plain login.
    const auto environment = kernel_file(directory + "/environ");
    for (const auto variable : split(environment, '\0')) {
      if (variable.starts_with(kVariable)) found = directory;
    }
  }
  return found;
}

void read_installed_software(const NodeReader& node, Facts& facts) {
  read_operating_system(node, facts);
  facts.nccl_version = nccl_version(node);
}

Result<Facts> read_facts(const NodeReader& node, bool everything) {
  Facts facts;
  facts.live = node.live();
  facts.machine_id = first_line(node, "/etc/machine-id");
  read_installed_software(node, facts);
  read_machine(node, facts.host);
  read_network_configuration(node, facts.host);
  if (facts.live) {
    SPARK_CHECK(read_running_machine(node, facts));
  } else {
    facts.hostname = first_line(node, "/etc/hostname");
  }
  if (everything) facts.survey = survey(node, facts.links);
  return facts;
}

}  // namespace sparkplan
