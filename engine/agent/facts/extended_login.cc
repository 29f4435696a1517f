// Limits and environment of our SSH session. Source: proc(5).
#include <string>
#include <vector>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/core/text.h"
#include "engine/domain/storage/served_directory.h"

namespace sparkplan {
namespace {

/// "Max locked memory         8388608              8388608              bytes"
void read_limits(const NodeReader& node, const std::string& process, ExtendedFacts& facts) {
  constexpr std::string_view kName = "Max locked memory";
  const auto text = node.read_file(process + "/limits");
  if (!text) {
    facts.unreadable["login.locked_memory"] = text.error().describe();
    return;
  }
  for (const auto line : split_lines(*text)) {
    if (!line.starts_with(kName)) continue;
    const auto words = words_of(line.substr(kName.size()));
    if (words.size() < 2) continue;
    facts.login.locked_memory_soft = words[0];
    facts.login.locked_memory_hard = words[1];
  }
}

void read_environment(const NodeReader& node, const std::string& process, ExtendedFacts& facts) {
  const auto text = node.read_file(process + "/environ");
  if (!text) {
    facts.unreadable["login.environment"] = text.error().describe();
    return;
  }
  for (const auto variable : split(*text, '\0')) {
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = variable.substr(0, equals);
    if (name == "USER") facts.login.user = variable.substr(equals + 1);
    if (concerns_nccl(name)) facts.login.environment[std::string(name)] = variable.substr(equals + 1);
  }
}

void read_uid(const NodeReader& node, const std::string& process, ExtendedFacts& facts) {
  const auto text = node.read_file(process + "/status");
  if (!text) return;
  for (const auto line : split_lines(*text)) {
    if (line.starts_with("Uid:")) facts.login.uid = number_in_text(line);
  }
}

/// Root may query the sudo rules of every user.
void read_sudo(const NodeReader& node, ExtendedFacts& facts) {
  const std::vector<std::string> argv{"sudo", "-n", "-l", "-U", facts.login.user};
  const auto text = printed_by(node, argv, "login.sudo_without_password", facts);
  if (!text) return;
  facts.login.sudo_without_password = false;
  for (const auto line : split_lines(*text)) {
    if (trim(line).ends_with("NOPASSWD: ALL")) facts.login.sudo_without_password = true;
  }
}

/// Source: loginctl(1), enable-linger.
void read_linger(const NodeReader& node, ExtendedFacts& facts) {
  if (facts.login.user.find('/') != std::string::npos) return;
  const auto there = node.is_there("/var/lib/systemd/linger/" + facts.login.user);
  if (there) {
    facts.login.linger = *there;
  } else {
    facts.unreadable["login.linger"] = there.error().describe();
  }
}

std::string home_of(const NodeReader& node, const std::string& user) {
  const auto passwd = node.read_file("/etc/passwd");
  if (!passwd) return "";
  for (const auto line : split_lines(*passwd)) {
    const auto fields = split(line, ':');
    if (fields.size() >= 6 && fields[0] == user) return std::string(fields[5]);
  }
  return "";
}

}  // namespace

void read_nccl_file(const std::string& name, const Result<std::string>& text, ExtendedFacts& facts) {
  if (text) {
    facts.nccl_files.push_back({name, nccl_file_variables(*text)});
  } else if (text.error().code != ErrorCode::kNotFound) {
    facts.unreadable["nccl_files"] = text.error().describe();
  }
}

std::map<std::string, std::string> nccl_file_variables(std::string_view text) {
  std::map<std::string, std::string> variables;
  for (const auto line : split_lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 || line.front() == '#') continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

void read_login(const NodeReader& node, const std::string& process, ExtendedFacts& facts) {
  if (!process.empty()) {
    read_limits(node, process, facts);
    read_environment(node, process, facts);
    read_uid(node, process, facts);
    const bool sane = !facts.login.user.empty() && facts.login.user.front() != '-';
    if (sane && facts.login.user != "root") read_sudo(node, facts);
    if (sane) read_linger(node, facts);
  }
  const auto home = home_of(node, facts.login.user);
  if (home.empty()) return;
  read_nccl_file(home + "/.nccl.conf", node.read_user_file(path_in_home(home, ".nccl.conf", node)), facts);
}

}  // namespace sparkplan
