#include "resources/ssh_trust/ssh_trust.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/accounts.h"
#include "resources/ssh_trust/account.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::chrono::seconds kDeadline{10};
constexpr const char* kCode = "ssh_trust.not_effective";
constexpr const char* kClientConfig = "/etc/ssh/ssh_config";

std::vector<std::string> values_of(const ServerSettings& settings, const std::string& keyword) {
  std::vector<std::string> values;
  const auto [begin, end] = settings.equal_range(keyword);
  for (auto at = begin; at != end; ++at) {
    for (std::string& word : words_of(at->second)) values.push_back(std::move(word));
  }
  return values;
}

bool fits_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_match(pattern, name); });
}

/// "USER@HOST" restricts the rule to some hosts, which may or may not be ours. It counts only if `with_hosts` is true.
bool names_user(const std::vector<std::string>& patterns, const std::string& user, bool with_hosts) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    const std::size_t at = pattern.rfind('@');
    if (glob_match(pattern, user)) return true;
    return with_hosts && at != std::string::npos && glob_match(pattern.substr(0, at), user);
  });
}

bool fits_any_group(const std::vector<std::string>& patterns, const std::vector<std::string>& groups) {
  return std::ranges::any_of(groups, [&](const std::string& group) { return fits_any(patterns, group); });
}

bool reads_authorized_keys(const std::vector<std::string>& files) {
  return files.empty() || std::ranges::any_of(files, [](const std::string& file) {
           return file == kAuthorizedKeys || file == "%h/" + std::string(kAuthorizedKeys);
         });
}

std::string first_value(const ServerSettings& settings, const std::string& keyword) {
  const auto found = settings.find(keyword);
  return found == settings.end() ? std::string() : found->second;
}

/// Empty if sshd is missing or fails.
ServerSettings server_settings(const std::string& user, const NodeReader& node) {
  const std::vector<std::string> argv{"sshd", "-T", "-C", "user=" + user + ",host=localhost,addr=127.0.0.1"};
  const Result<CommandOutput> output = node.query(argv, kDeadline);
  if (!output || output->exit_status != 0) return {};
  return parse_server_settings(output->standard_output);
}

bool opens_no_session(const std::string& shell) { return shell.ends_with("/nologin") || shell.ends_with("/false"); }

}  // namespace

ServerSettings parse_server_settings(std::string_view text) {
  ServerSettings settings;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    settings.emplace(lower_case(line.substr(0, blank)), trim(line.substr(blank)));
  }
  return settings;
}

std::string why_refused(const ServerSettings& settings, const std::string& user,
                        const std::vector<std::string>& groups) {
  if (first_value(settings, "pubkeyauthentication") == "no") return "PubkeyAuthentication is off";
  const std::vector<std::string> files = values_of(settings, "authorizedkeysfile");
  if (!reads_authorized_keys(files)) return "AuthorizedKeysFile is " + join(files, " ");
  const std::string root_login = first_value(settings, "permitrootlogin");
  if (user == "root" && (root_login == "no" || root_login == "forced-commands-only")) {
    return "PermitRootLogin is " + root_login;
  }
  const std::vector<std::string> allowed = values_of(settings, "allowusers");
  if (!allowed.empty() && !names_user(allowed, user, true)) return "AllowUsers does not name " + user;
  if (names_user(values_of(settings, "denyusers"), user, false)) return "DenyUsers names " + user;
  const std::vector<std::string> allowed_groups = values_of(settings, "allowgroups");
  if (!allowed_groups.empty() && !fits_any_group(allowed_groups, groups)) {
    return "AllowGroups names no group of " + user;
  }
  if (fits_any_group(values_of(settings, "denygroups"), groups)) return "DenyGroups names a group of " + user;
  return {};
}

bool includes_our_file(std::string_view ssh_config) {
  for (const std::string_view line : split_lines(ssh_config)) {
    std::string text(line);
    // Keyword and arguments may be separated by "=", and arguments may be quoted.
    std::ranges::replace_if(
        text, [](char c) { return c == '=' || c == '\t' || c == '"'; }, ' ');
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) continue;
    const std::string keyword = lower_case(words.front());
    if (keyword == "host" || keyword == "match") return false;
    if (keyword != "include") continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string pattern = words[i].starts_with('/') ? words[i] : "/etc/ssh/" + words[i];
      if (glob_match(pattern, kConfigFile)) return true;
    }
  }
  return false;
}

std::vector<Ineffective> find_ineffective(const ValuesByName& desired, const NodeReader& node) {
  std::vector<Ineffective> found;
  const Result<std::string> client = node.read_file(kClientConfig);
  const bool reads_ours = !client || includes_our_file(*client);
  for (const auto& [user, value] : desired) {
    const Result<Account> account = look_up(user, node);
    if (!account) continue;
    if (const std::string why = why_refused(server_settings(user, node), user, groups_of(user, node)); !why.empty()) {
      found.push_back({user, kCode, "sshd accepts no key that sparkplan manages for " + user + ": " + why,
                       "change sshd_config, or take " + user + " out of users"});
    }
    if (opens_no_session(account->shell)) {
      found.push_back({user, kCode, user + " has the login shell " + account->shell + " and so gets no session", {}});
    }
    if (!reads_ours) {
      found.push_back(
          {user, kCode, "ssh does not read " + std::string(kConfigFile),
           "put \"Include /etc/ssh/ssh_config.d/*.conf\" at the beginning of " + std::string(kClientConfig)});
    }
  }
  return found;
}

}  // namespace sparkplan::ssh_trust
