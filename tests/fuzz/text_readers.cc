// Readers of binary messages, listings and the output of programs.
#include "tests/fuzz/text_readers.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/measure/link_probe.h"
#include "engine/agent/node/bus_message.h"
#include "engine/agent/node/systemd_bus.h"
#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/ids.h"
#include "engine/core/text.h"
#include "engine/launch/nccl_status.h"
#include "engine/model/cluster.h"
#include "engine/model/ipv4.h"
#include "engine/nccl/nccl_log.h"
#include "engine/remote/config/ssh_config.h"
#include "engine/remote/config/ssh_host_settings.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/discovery/mdns_message.h"
#include "engine/resource/managed_block.h"
#include "engine/verify/levels/ssh_complaint.h"
#include "resources/firewall/ufw.h"
#include "resources/package/apt.h"
#include "resources/package/dpkg_status.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/trust_text.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/copy_readers.h"
#include "tests/fuzz/job_readers.h"
#include "tests/fuzz/node_file_readers.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/user_file_readers.h"

namespace sparkplan::fuzz {
namespace {

void read_public_key(std::string_view text) {
  if (const auto key = ssh_trust::parse_public_key(text)) {
    require(ssh_trust::is_public_key(*key), "a key that was parsed is none", *key);
    require(!has_line_break(*key), "a key has lines", *key);
    const auto line = ssh_trust::authorized_line({"10.0.0.1"}, *key, ssh_trust::mark_of("lab", "spark-01"));
    require(!has_line_break(line), "a line has lines", line);
    require(ssh_trust::parse_authorized(line).of_node.count("spark-01") == 1,
            "a line that sparkplan wrote is not known", line);
  }
  if (ssh_trust::is_ed25519_public_key(text)) require(ssh_trust::is_public_key(text), "a key is none", text);
  (void)ssh_trust::comment_of(text);
  if (const auto key = ssh_trust::public_part(text)) {
    require(ssh_trust::is_ed25519_public_key(*key), "the public part is no key", *key);
  }
  (void)host_key_in(text);
}

void read_block(std::string_view text) {
  const auto block = find_block(text);
  const auto above = text_above_block(text);
  require(text.substr(0, above.size()) == above, "what is above the block is not");
  const auto replaced = replace_block(text, "one line\n");
  require(replaced.has_value() == block.has_value(), "a block is found and not replaced, or the other way round");
  if (!replaced) return;
  const auto found = find_block(*replaced);
  require(found.has_value() && found->has_value() && **found == "one line\n", "the block is another one", *replaced);
  const auto restored = replace_block(*replaced, block->has_value() ? *block : std::nullopt);
  require(restored.has_value(), "what was replaced cannot be replaced");
  if (block->has_value()) require(*restored == text, "the text around the block changes", *restored);
}

void read_rules(std::string_view text) {
  for (const Hook hook : {Hook::kInput, Hook::kForward}) {
    (void)nft_chains(text, hook);
    (void)iptables_chains(text, hook);
  }
  (void)firewall::is_enabled(text);
  const auto rules = firewall::parse_rules(text);
  if (!rules.empty()) (void)firewall::obstacle_to(rules.back(), rules);
  (void)firewall::rule_of(text);
}

void read_bus(std::string_view text) {
  static constexpr std::array<std::string_view, 4> wanted{"ActiveState", "Id", "DropInPaths", "MainPID"};
  std::string bytes(text);
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    const auto reply = take_reply(bytes, wanted);
    if (!reply || !*reply) break;
    require(bytes.size() < before, "a message takes no bytes");
    require((*reply)->values.size() <= wanted.size(), "there are more values than asked for");
  }
  const std::string call = properties_call(1, text);
  require(call.size() <= 4 * text.size() + 512, "a call is too long");
  (void)hexadecimal(text);
  (void)parse_units(text);
}

/// A frame from a cable that begins with the token of the measurement.
void read_link_probe(std::string_view text) {
  const std::string token = "0123456789abcdef";
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0,
          "there are no sockets");
  std::vector<LinkProbeSocket> sockets;
  sockets.push_back({"enp1s0f1np1", 1, FileDescriptor(ends[0])});
  const FileDescriptor sender(ends[1]);
  const std::string frame = token + std::string(text);
  require(::send(sender.get(), frame.data(), frame.size(), 0) >= 0, "a frame cannot be sent");
  // The clock moves on each time, so that the frame is awaited once.
  int readings = 0;
  const auto now = [&] { return std::chrono::steady_clock::time_point(std::chrono::milliseconds(900 * readings++)); };
  const auto none_lost = [](const LinkProbeSocket&) { return false; };
  const auto reply = received_probes(sockets, {token, "spark-01"}, now, none_lost);
  for (const ReceivedProbe& probe : reply.received) {
    require(NodeName::parse(probe.node).has_value(), "a probe names no node", probe.node);
    require_printable(probe.interface, "the interface of a probe", 15);
  }
}

void read_mdns(std::string_view text) {
  const auto hosts = decode_mdns_answer(text, "_ssh._tcp.local");
  auto all = hosts_in_avahi_output(text);
  if (hosts) all.insert(all.end(), hosts->begin(), hosts->end());
  for (const AnnouncedHost& host : hosts.value_or(std::vector<AnnouncedHost>())) {
    require_printable(host.name, "the name of an announced host", 255);
    for (const auto& address : host.addresses) require(parse_ipv4(address).has_value(), "no address", address);
  }
  require(merged(all).size() <= all.size(), "there are more hosts than were announced");
}

void read_packages(std::string_view text) {
  const auto half = text.size() / 2;
  const auto status = package::DpkgStatus::parse(text.substr(0, half), text.substr(half));
  (void)status.find("curl");
  (void)status.name_to_apt("curl:amd64");
  (void)package::parse_simulation({0, std::string(text), ""});
  (void)package::reason_of_failure({100, std::string(text), std::string(text)});
}

void read_logs(std::string_view text) {
  const auto transport = nccl::transport_in(text);
  require(transport.warnings.size() <= 20, "there are too many warnings");
  for (const auto& warning : transport.warnings) (void)warning.size();
  const auto complaint = read_complaint(text);
  require_printable(complaint.words, "the words of a complaint", 4096);
  require(bool(complaint.row), "a complaint without a row");
}

/// The answer of NCCL's status port, and the variable that moves the port.
void read_nccl_status(std::string_view text) {
  constexpr std::size_t kMost = 4;
  const auto faults = nccl_faults_in(text);
  require(faults.size() <= kMost, "there are too many faults");
  for (const auto& fault : faults) require_printable(fault, "a fault that NCCL reports", kLongestShortText);
  const auto question = nccl_status_question(0, {{"NCCL_RAS_ADDR", std::string(text)}});
  const std::string& host = question.argv.at(4);
  const std::string& port = question.argv.at(5);
  require(!host.empty() && host.find('/') == std::string::npos, "a host leads to another file", host);
  require(!port.empty() && std::all_of(port.begin(), port.end(), is_digit), "a port is no number", port);
}

/// ~/.ssh/config, and the way to a node that it describes.
void read_ssh_config(std::string_view text) {
  const std::string name = "~/.ssh/config";
  const auto lines = parse_ssh_config(text, name);
  if (!lines) return require_printable(lines.error().describe(), "an error about ~/.ssh/config");
  const SshConfig config{{{name, *lines}}};
  const NodeSpec node{*NodeName::parse("spark-01"), 1, "spark-01.lab", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  const LocalUser me{"anna", "/home/anna", [](const std::string& variable) -> std::optional<std::string> {
                       return variable == "HOME" ? std::optional<std::string>("/home/anna") : std::nullopt;
                     }};
  const auto way = way_to(node, config, me);
  if (!way) return require_printable(way.error().describe(), "an error about the way to a node");
  for (const SshStation& station : way->stations) {
    require(!station.address.empty() && station.address.front() != '-', "an address is an option", station.address);
    require(!station.user.empty() && station.user.front() != '-', "a user is an option", station.user);
    require_printable(station.context(), "a station on the way");
  }
  for (const IgnoredSetting& ignored : way->ignored) require_printable(ignored.what, "a setting that is not used");
}

void read_any(std::string_view text) {
  const std::string shown = printable(text);
  require(printable(shown) == shown && !has_line_break(shown), "printable text is not", shown);
  require(is_valid_utf8(shown), "printable text is no UTF-8");
  const auto half = text.size() / 2;
  (void)unified_diff("x", text.substr(0, half), text.substr(half));
  (void)glob_match(text.substr(0, half), text.substr(half));
  std::vector<std::string> words;
  for (const auto word : split(text, '\n')) words.emplace_back(word);
  (void)fold_names(words);
  if (words.size() < 64) (void)nearest(words.front(), words);
}

}  // namespace

bool has_line_break(std::string_view text) { return text.find_first_of("\n\r") != std::string_view::npos; }

const Readers& text_readers() {
  static const Readers all = [] {
    Readers named{
        {"any", read_any},
        {"block", read_block},
        {"bus", read_bus},
        {"chunk_journal", read_chunk_journal},
        {"cluster_yaml", read_cluster_yaml},
        {"digest_index", read_digest_index},
        {"image", read_image},
        {"image_state", read_image_state},
        {"job_answers", read_job_answers},
        {"link_probe", read_link_probe},
        {"logs", read_logs},
        {"mdns", read_mdns},
        {"nccl_status", read_nccl_status},
        {"packages", read_packages},
        {"public_key", read_public_key},
        {"rules", read_rules},
        {"run_log", read_run_log},
        {"saved_plan", read_saved_plan},
        {"ssh_config", read_ssh_config},
        {"tar", read_tar},
    };
    named.insert(node_file_readers().begin(), node_file_readers().end());
    return named;
  }();
  return all;
}

void read_with(const Readers& readers, const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const auto reader = readers.find(choices.line());
  if (reader != readers.end()) reader->second(choices.rest());
}

}  // namespace sparkplan::fuzz
