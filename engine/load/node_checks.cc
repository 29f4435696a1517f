#include <algorithm>
#include <map>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/load/semantic_checks.h"
#include "engine/model/address.h"
#include "engine/model/cluster.h"

namespace sparkplan {
namespace {

void check_names_and_ids(const UnresolvedCluster& draft, Findings& findings) {
  std::map<std::string, SourceRange> names;
  std::map<int, const UnresolvedNode*> ids;
  for (const auto& node : draft.nodes) {
    if (node.name.empty()) continue;
    if (const auto name = NodeName::parse(node.name); !name) {
      findings.error(node.name_where, "node.name", name.error().message, name.error().hint);
    }
    if (lower_case(node.name) == kControllerName) {
      findings.error(node.name_where, "node.name", in_quotes(node.name) + " cannot be the name of a node",
                     "rename it: \"here\" is the machine that runs sparkplan");
    }
    const auto [first, is_new] = names.try_emplace(lower_case(node.name), node.name_where);
    if (!is_new) {
      findings.error(node.name_where, "node.duplicate-name", "two nodes are called " + in_quotes(node.name),
                     "rename one of them: host names ignore upper and lower case", {{"the first one", first->second}});
      continue;
    }
    if (node.id == 0) continue;
    const auto [owner, id_is_new] = ids.try_emplace(node.id, &node);
    if (id_is_new) continue;
    const bool derived = node.record->find("id") == nullptr;
    findings.error(node.id_where, "node.duplicate-id",
                   "the id " + std::to_string(node.id) + (derived ? ", from the end of its name," : "") +
                       " already belongs to " + owner->second->name,
                   "give one of them an \"id\" that no other node has", {{"the first one", owner->second->id_where}});
  }
}

std::string hint_for_address(std::string_view text) {
  if (text.starts_with('[')) return "write an IPv6 address without brackets";
  if (text.find('@') != std::string_view::npos) return "put the login name into \"ssh: {user: ...}\"";
  if (text.find('/') != std::string_view::npos) return "leave out the prefix length";
  if (text.find_first_not_of("0123456789.") == std::string_view::npos) {
    return "write four numbers from 0 to 255 without leading zeros, or a name with letters";
  }
  const auto colon = text.find(':');
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    return "put the port into \"ssh: {port: ...}\"";
  }
  return "write an IPv4 or IPv6 address, or a name of letters, digits and '-' with dots between";
}

bool is_usable_ipv4(Ipv4 address) {
  const std::uint32_t first = address.bits >> 24;
  return first != 0 && first < 224;
}

void check_address_grammar(const std::string& text, SourceRange where, Findings& findings) {
  const auto ipv4 = parse_ipv4(text);
  if (ipv4 && !is_usable_ipv4(*ipv4)) {
    findings.error(where, "node.address", text + " cannot be the address of a machine");
  }
  if (ipv4 || is_ipv6(text) || is_host_name(text)) return;
  findings.error(where, "node.address", in_quotes(text) + " is not an address", hint_for_address(text));
}

bool is_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// [USER@]HOST[:PORT], IPv6 with a port in brackets.
bool is_jump_host(std::string_view text) {
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    const auto user = text.substr(0, at);
    if (user.empty() || user.front() == '-' || !std::all_of(user.begin(), user.end(), [](char c) {
          return is_alphanumeric(c) || c == '_' || c == '.' || c == '+' || c == '-';
        })) {
      return false;
    }
    text.remove_prefix(at + 1);
  }
  if (parse_ipv4(text) || is_ipv6(text)) return true;
  std::string_view port = "22";
  if (const auto bracket = text.rfind("]:"); text.starts_with('[') && bracket != std::string_view::npos) {
    port = text.substr(bracket + 2);
    text = text.substr(1, bracket - 1);
    if (!is_ipv6(text)) return false;
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    port = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  if (!is_digits(port) || port.size() > 5 || std::stoi(std::string(port)) < 1 || std::stoi(std::string(port)) > 65535) {
    return false;
  }
  return parse_ipv4(text) || is_ipv6(text) || is_host_name(text);
}

void check_ssh(const Value* ssh, Findings& findings) {
  if (ssh == nullptr) return;
  const Value* jump = ssh->find("jump");
  if (const std::string& host = text_of(jump); !host.empty() && !is_jump_host(host)) {
    findings.error(place_of(jump), "ssh.jump", in_quotes(host) + " is not a jump host",
                   "write [USER@]HOST[:PORT]; an IPv6 address with a port goes into brackets");
  }
  const Value* identity = ssh->find("identity");
  if (const std::string& path = text_of(identity); path.starts_with('-')) {
    findings.error(place_of(identity), "ssh.identity", in_quotes(path) + " looks like an option",
                   "write the path of a private key file, with ./ before it if necessary");
  } else if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < ' '; })) {
    // Exports write it into line-based files, where text after a line break would be another setting.
    findings.error(place_of(identity), "ssh.identity",
                   in_quotes(path) + " is not a path: it contains a control character", "write the path on one line");
  }
}

/// The misspelt key or word is reported, and the address is missing only because of it.
bool address_is_misspelt(const UnresolvedNode& node, const SchemaOutcome& schema) {
  const std::string pointer = "/nodes/" + std::to_string(node.index);
  return schema.is_broken(pointer + "/address") || schema.is_broken(pointer + "/transport");
}

void check_transport(const UnresolvedNode& node, const SchemaOutcome& schema, Findings& findings) {
  const Value& record = *node.record;
  const SourceRange where = node.name_where;
  const auto* root = record.find_entry("root");
  if (node.transport == TransportKind::kSsh) {
    if (record.find("address") == nullptr && !address_is_misspelt(node, schema)) {
      findings.error(where, "node.no-address", in_quotes(node.name) + " has no address",
                     "add \"address: ...\", where SSH reaches it");
    }
    if (root != nullptr) {
      findings.error(root->key_where, "node.root", "\"root\" is for nodes with \"transport: local\" only",
                     "add \"transport: local\", or delete it");
    }
    return;
  }
  if (root == nullptr) {
    findings.error(place_of(record.find("transport")), "node.no-root",
                   "transport local needs \"root\", the directory that is the node's \"/\"", "add \"root: DIR\"");
  }
  for (const char* const key : {"address", "ssh", "host_key"}) {
    if (const auto* unused = record.find_entry(key); unused != nullptr && !unused->value.is_null()) {
      findings.warning(unused->key_where, "node.no-effect",
                       "\"" + std::string(key) + "\" does nothing for a node with transport local", "delete it");
    }
  }
}

void check_addresses(const UnresolvedCluster& draft, Findings& findings) {
  std::map<std::pair<std::string, std::int64_t>, const UnresolvedNode*> taken;
  for (const auto& node : draft.nodes) {
    if (node.transport == TransportKind::kLocal || node.address.empty()) continue;
    check_address_grammar(node.address, node.address_where, findings);
    const std::int64_t port = node.ssh.integer_or("port", 22);
    const auto [owner, is_new] = taken.try_emplace({canonical_address(node.address), port}, &node);
    if (is_new) continue;
    findings.error(node.address_where, "node.duplicate-address",
                   "the address " + in_quotes(node.address) + " with port " + std::to_string(port) +
                       " already belongs to " + owner->second->name,
                   "", {{"the first one", owner->second->address_where}});
  }
}

void check_count(const UnresolvedCluster& draft, Findings& findings) {
  const std::size_t count = items_of(draft.root->find("nodes")).size();
  if (count <= 2 || (count & (count - 1)) == 0) return;
  findings.warning(key_place_of(*draft.root, "nodes"), "nodes.not-a-power-of-two",
                   std::to_string(count) + " nodes: many models can be split only over 2, 4, 8 ... nodes",
                   "ignore this if your models can use this number of nodes");
}

}  // namespace

void check_nodes(const UnresolvedCluster& draft, const SchemaOutcome& schema, Findings& findings) {
  check_names_and_ids(draft, findings);
  check_addresses(draft, findings);
  check_ssh(draft.root->find("ssh"), findings);
  for (const auto& node : draft.nodes) {
    check_transport(node, schema, findings);
    if (node.transport == TransportKind::kSsh) check_ssh(node.record->find("ssh"), findings);
  }
  check_count(draft, findings);
}

}  // namespace sparkplan
