#include "resources/ssh_trust/trust_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/rendered_text.h"
#include "engine/resource/steps.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::string_view kMark = "sparkplan:";
constexpr std::string_view kMatch = "Match originalhost ";
constexpr std::string_view kLocalUser = " localuser ";
constexpr std::string_view kUser = " user ";
constexpr std::string_view kPort = "  Port ";
constexpr std::string_view kPortWord = "port";
constexpr int kSshPort = 22;
/// A name, an address and a port: names of hosts have 253 characters at most. Source: RFC 1035, 2.3.4.
constexpr std::size_t kLongestDestination = 1024;
/// Our key, followed by the keys that ssh tries without any IdentityFile. One IdentityFile replaces all defaults, and
/// users with their own key on a host must still get in. ssh silently skips missing files. IdentitiesOnly is not set,
/// because it would also exclude the ssh agent's keys. Source: ssh_config(5), IdentityFile.
constexpr std::array<std::string_view, 6> kIdentities{"sparkplan_ed25519", "id_rsa",     "id_ecdsa",
                                                      "id_ecdsa_sk",       "id_ed25519", "id_ed25519_sk"};

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, separator)) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::string join_set(const std::set<std::string>& words) {
  return join(std::vector<std::string>(words.begin(), words.end()), ",");
}

/// A destination's words without the port, and the port. `names` is empty if we never write such a destination.
struct DestinationWords {
  std::vector<std::string_view> names;
  std::string_view port;
};

/// True without blanks, commas, patterns, options and line breaks.
bool is_word(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || std::string_view("._:%@+-").find(c) != std::string_view::npos;
  });
}

bool is_port(std::string_view text) { return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit); }

DestinationWords words_of_destination(std::string_view destination) {
  if (destination.size() > kLongestDestination) return {};
  DestinationWords words{split(destination, ' '), {}};
  std::erase_if(words.names, [](std::string_view word) { return word.empty(); });
  if (const std::size_t count = words.names.size(); count >= 3 && words.names[count - 2] == kPortWord) {
    words.port = words.names.back();
    words.names.resize(count - 2);
    if (!is_port(words.port)) return {};
  }
  const bool ours = words.names.size() <= 2 && std::ranges::all_of(words.names, is_word);
  return ours ? words : DestinationWords{};
}

void add_joined(RenderedText& text, const std::vector<std::string_view>& words) {
  bool first = true;
  for (const std::string_view word : words) {
    if (text.is_full()) return;
    text.add({std::exchange(first, false) ? "" : ",", word});
  }
}

}  // namespace

std::string mark_of(std::string_view cluster, std::string_view node) {
  return std::string(kMark) + std::string(cluster) + ":" + std::string(node);
}

std::string_view node_of_mark(std::string_view line) {
  line = trim(line);
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos || !line.substr(blank + 1).starts_with(kMark)) return {};
  const std::string_view rest = line.substr(blank + 1 + kMark.size());
  const std::size_t colon = rest.find(':');
  return colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
}

AuthorizedLines parse_authorized(std::string_view block) {
  AuthorizedLines lines;
  for (const std::string_view line : split_lines(block)) {
    const std::string node(node_of_mark(line));
    const bool first = !node.empty() && lines.of_node.emplace(node, line).second;
    if (!first) lines.unexpected.emplace_back(line);
  }
  return lines;
}

std::string render_authorized(const AuthorizedLines& lines) {
  std::string text;
  for (const auto& [node, line] : lines.of_node) text.append(line).append("\n");
  for (const std::string& line : lines.unexpected) text.append(line).append("\n");
  return text;
}

std::string authorized_line(const std::set<std::string>& addresses, std::string_view key, std::string_view mark) {
  return "from=\"" + join_set(addresses) + "\" " + std::string(key) + " " + std::string(mark);
}

KnownHosts parse_known_hosts(std::string_view block) {
  KnownHosts hosts;
  for (const std::string_view line : split_lines(block)) {
    if (const auto node = node_of_mark(line); !node.empty()) hosts[node].push_back(line);
  }
  return hosts;
}

std::string render_known_hosts(const KnownHosts& hosts) {
  std::size_t size = 0;
  for (const auto& [node, lines] : hosts) {
    for (const std::string_view line : lines) size += line.size() + 1;
  }
  std::string text;
  text.reserve(size);  // The file has the keys of all nodes.
  for (const auto& [node, lines] : hosts) {
    for (const std::string_view line : lines) text.append(line).append("\n");
  }
  return text;
}

std::string known_hosts_names(const std::vector<std::string>& names, int port, const std::set<std::string>& shared) {
  if (port == kSshPort) return join(names, ",");
  std::vector<std::string> words;
  std::ranges::copy_if(names, std::back_inserter(words),
                       [&](const std::string& name) { return !shared.contains(name); });
  for (const std::string& name : names) words.push_back("[" + name + "]:" + std::to_string(port));
  return join(words, ",");
}

std::string known_hosts_line(std::string_view names, std::string_view key, std::string_view mark) {
  std::string line;
  line.reserve(names.size() + key.size() + mark.size() + 2);
  return line.append(names).append(" ").append(key).append(" ").append(mark);
}

std::string to_text(const Destination& destination) {
  std::string text = destination.name;
  if (!destination.address.empty()) text += (text.empty() ? "" : " ") + destination.address;
  if (destination.port != kSshPort) {
    text += " " + std::string(kPortWord) + " " + std::to_string(destination.port);
  }
  return text;
}

SshConfig parse_config(std::string_view file) {
  SshConfig config;
  std::string destination;
  std::set<std::string> users;
  const auto end_block = [&] {
    if (!users.empty() && !words_of_destination(destination).names.empty()) config[destination].merge(users);
    destination.clear();
    users.clear();
  };
  for (const std::string_view line : split_lines(file)) {
    if (!line.starts_with(kMatch)) {
      const bool first_port = !users.empty() && words_of_destination(destination).port.empty();
      const auto port = line.starts_with(kPort) ? line.substr(kPort.size()) : std::string_view();
      if (first_port && is_word(port)) destination.append(" port ").append(port);
      continue;
    }
    end_block();
    const std::size_t local_user = line.find(kLocalUser);
    // A Match with `user` only sets that user's key files. The other Match blocks list the user as well.
    if (local_user == std::string_view::npos || line.find(kUser) != std::string_view::npos) continue;
    if (local_user < kMatch.size()) continue;  // There are no names between the two keywords.
    destination = join(words_of(line.substr(kMatch.size(), local_user - kMatch.size()), ','), " ");
    for (std::string& user : words_of(line.substr(local_user + kLocalUser.size()), ',')) {
      if (is_word(user)) users.insert(std::move(user));
    }
  }
  end_block();
  return config;
}

bool means_one_machine(std::string_view address) { return address.find_first_of(".:") != std::string_view::npos; }

std::string render_config(const SshConfig& config) {
  RenderedText text;
  text.add({ownership_header()});
  std::map<std::string_view, std::vector<std::string_view>> names_of_user;
  for (const auto& [destination, users] : config) {
    const auto [names, port] = words_of_destination(destination);
    if (text.is_full()) break;
    if (names.empty()) continue;
    std::vector<std::string_view> known;  // Sorted, as the users are.
    for (const std::string& user : users) {
      if (!is_word(user)) continue;
      known.push_back(user);
      auto& of_user = names_of_user[user];
      of_user.insert(of_user.end(), names.begin(), names.end());
    }
    if (known.empty()) continue;
    text.add({"\n", kMatch});
    add_joined(text, names);
    text.add({kLocalUser});
    add_joined(text, known);
    text.add({"\n"});
    if (means_one_machine(names.back())) text.add({"  HostName ", names.back(), "\n"});
    if (!port.empty()) text.add({kPort, port, "\n"});
    text.add({"  StrictHostKeyChecking yes\n"});
  }
  for (auto& [user, names] : names_of_user) {
    if (text.is_full()) break;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    text.add({"\n", kMatch});
    add_joined(text, names);
    text.add({kLocalUser, user, kUser, user, "\n"});
    for (const std::string_view key : kIdentities) text.add({"  IdentityFile ~/.ssh/", key, "\n"});
  }
  return std::move(text).text();
}

}  // namespace sparkplan::ssh_trust
