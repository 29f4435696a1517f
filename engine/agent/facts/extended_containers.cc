// Docker, NVIDIA's container toolkit, CDI, the GPU under load. Sources: dockerd(8), cdi(5) of the Container Device
// Interface, nvidia-smi(1).
#include <charconv>
#include <string>
#include <vector>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/resource/accounts.h"

namespace sparkplan {
namespace {

/// The programs that the package nvidia-container-toolkit brings.
void read_toolkit(const NodeReader& node, ExtendedFacts& facts) {
  facts.containers.toolkit = false;
  for (const char* program : {"/usr/bin/nvidia-container-runtime-hook", "/usr/bin/nvidia-ctk"}) {
    const auto there = node.is_there(program);
    if (!there) {
      facts.containers.toolkit.reset();
      facts.unreadable["containers.toolkit"] = there.error().describe();
      return;
    }
    if (*there) facts.containers.toolkit = true;
  }
}

void read_runtimes(const NodeReader& node, ExtendedFacts& facts) {
  const auto text = node.read_file("/etc/docker/daemon.json");
  if (!text && text.error().code == ErrorCode::kNotFound) return;
  const auto settings = text ? parse_plain_json(*text) : Result<Value>(failure(text.error()));
  if (!settings) {
    facts.unreadable["containers.runtimes"] = "/etc/docker/daemon.json: " + settings.error().describe();
    return;
  }
  const Value* runtimes = settings->find("runtimes");
  if (runtimes == nullptr || runtimes->entries() == nullptr) return;
  for (const MapEntry& entry : *runtimes->entries()) facts.containers.runtimes.push_back(entry.key);
}

/// The release in "/usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05"; empty without such a name.
std::string driver_in(std::string_view specification) {
  constexpr std::string_view kLibrary = "libcuda.so.";
  for (auto at = specification.find(kLibrary); at != std::string_view::npos; at = specification.find(kLibrary, at)) {
    at += kLibrary.size();
    const auto end = specification.find_first_not_of("0123456789.", at);
    const auto release = specification.substr(at, end == std::string_view::npos ? end : end - at);
    // libcuda.so.1 is the name for programs.
    if (release.find('.') != std::string_view::npos) return std::string(release);
  }
  return "";
}

/// A specification in the later directory goes over one in the earlier directory.
void read_cdi(const NodeReader& node, ExtendedFacts& facts) {
  constexpr const char* kField = "containers.cdi_specs";
  constexpr std::size_t kLongest = std::size_t{4} << 20;
  for (const std::string directory : {"/etc/cdi", "/var/run/cdi"}) {
    for (const auto& name : names_or_reason(node, directory, kField, facts.unreadable)) {
      if (!name.ends_with(".yaml") && !name.ends_with(".yml") && !name.ends_with(".json")) continue;
      const auto text = node.read_file(directory + "/" + name, kLongest);
      if (!text) {
        facts.unreadable[kField] = text.error().describe();
      } else if (text->find("nvidia.com/") != std::string::npos) {
        facts.containers.cdi_specs.push_back({directory + "/" + name, driver_in(*text)});
      }
    }
  }
}

/// Root needs no group.
void read_docker_group(const NodeReader& node, ExtendedFacts& facts) {
  const std::string& user = facts.login.user;
  if (user.empty() || user.front() == '-' || user == "root") return;
  const auto membership = membership_of(user, "docker", node);
  if (!membership) {
    facts.unreadable["containers.may_use_docker"] = membership.error().describe();
  } else if (membership->group_exists) {
    facts.containers.may_use_docker = membership->member;
  }
}

/// "96" and "88.31" are numbers; "[N/A]" is none.
std::optional<std::int64_t> whole_number(std::string_view text) {
  return text.starts_with('[') ? std::nullopt : number_in_text(text);
}

std::optional<std::int64_t> bits_in(std::string_view text) {
  constexpr int kHexadecimal = 16;
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  std::int64_t bits = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bits, kHexadecimal);
  return problem == std::errc() ? std::optional(bits) : std::nullopt;
}

/// The first GPU; a Spark has one.
void read_gpu(const NodeReader& node, ExtendedFacts& facts) {
  const auto driver = node.is_there("/proc/driver/nvidia/version");
  if (!driver || !*driver) return;
  const std::vector<std::string> argv{"nvidia-smi",
                                      "--query-gpu=utilization.gpu,clocks.sm,power.draw,clocks_event_reasons.active",
                                      "--format=csv,noheader,nounits"};
  const auto text = printed_by(node, argv, "gpu", facts);
  if (!text) return;
  const auto fields = split(std::string_view(*text).substr(0, text->find('\n')), ',');
  constexpr std::size_t kFields = 4;
  if (fields.size() != kFields) {
    facts.unreadable["gpu"] = "nvidia-smi printed something else";
    return;
  }
  facts.gpu = GpuFacts{whole_number(trim(fields[0])), whole_number(trim(fields[1])), whole_number(trim(fields[2])),
                       bits_in(trim(fields[3]))};
}

}  // namespace

void read_containers(const NodeReader& node, ExtendedFacts& facts) {
  read_toolkit(node, facts);
  read_runtimes(node, facts);
  read_cdi(node, facts);
  read_docker_group(node, facts);
  read_gpu(node, facts);
}

}  // namespace sparkplan
