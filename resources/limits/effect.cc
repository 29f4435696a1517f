#include "resources/limits/login.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/accounts.h"
#include "resources/limits/item.h"
#include "resources/limits/limits.h"

namespace sparkplan::limits {
namespace {

using Wishes = std::map<LimitName, Limit>;

Wishes wishes_of(const ValuesByName& desired) {
  Wishes wishes;
  for (const auto& [text, value] : desired) {
    const std::optional<LimitName> name = parse_name(text);
    if (name && !find_item(name->item)->has_one_value()) wishes[*name] = decode_limit(value);
  }
  return wishes;
}

/// The sysctl fs.nr_open: the most open files of a process, and the limit that pam_limits sets for "unlimited".
std::optional<std::string> most_open_files(const NodeReader& node) {
  const Result<std::string> text = node.read_file("/proc/sys/fs/nr_open");
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

Ineffective not_checked(const LimitName& name, const std::string& user, const std::string& reason) {
  return {name.str(), "limits.not_checked", "the limits of a new login of " + user + " " + reason, ""};
}

/// One login, compared with all limits that its domain should have.
class LoginCheck {
 public:
  LoginCheck(std::string domain, std::string user, const Wishes& wishes, const NodeReader& node)
      : domain_(std::move(domain)), user_(std::move(user)), wishes_(wishes), node_(node) {}

  std::vector<Ineffective> run() {
    const Result<std::map<std::string, ShownLimit>> shown = limits_of_login(user_, node_);
    std::vector<Ineffective> findings;
    for (const auto& [name, limit] : wishes_) {
      if (name.domain != domain_) continue;
      if (!shown) {
        findings.push_back(not_checked(name, user_, "could not be read: " + shown.error().describe()));
        continue;
      }
      const auto got = shown->find(std::string(find_item(name.item)->proc_name));
      if (got == shown->end()) continue;
      if (auto finding = compare(name, limit, got->second)) findings.push_back(*std::move(finding));
    }
    return findings;
  }

 private:
  std::optional<Ineffective> compare(const LimitName& name, const Limit& wanted, const ShownLimit& got) {
    const Item& item = *find_item(name.item);
    std::vector<std::string> differences;
    std::string reason;
    for (const bool soft : {true, false}) {
      const std::optional<std::string>& value = soft ? wanted.soft : wanted.hard;
      const std::string& shown = soft ? got.soft : got.hard;
      if (!value || is_as_wanted(item, *value, shown) || another_wish_decides(name, soft)) continue;
      differences.push_back(std::string(soft ? kSoft : kHard) + " " + display_proc_value(item, shown) + " instead of " +
                            display_proc_value(item, proc_value(item, *value)));
      // The hard limit bounds the soft one, so its reason explains both.
      if (reason.empty() || !soft) reason = reason_for(name, soft, *value, got);
    }
    if (differences.empty()) return std::nullopt;
    return Ineffective{name.str(), "limits.not_effective",
                       "a new login of " + user_ + " gets " + name.item + " " + join(differences, ", ") +
                           (reason.empty() ? "" : ": " + reason),
                       reason.empty() ? "check whether a profile file of that user calls ulimit" : ""};
  }

  bool is_as_wanted(const Item& item, const std::string& value, const std::string& shown) const {
    if (shown == proc_value(item, value)) return true;
    return item.name == "nofile" && value == kUnlimited && shown == most_open_files(node_);
  }

  /// True if cluster.yaml has a limit for this user that is more specific than "*".
  bool another_wish_decides(const LimitName& name, bool soft) {
    for (const auto& [other, limit] : wishes_) {
      if (name.domain != "*" || other.item != name.item || !(soft ? limit.soft : limit.hard)) continue;
      if (other.domain == user_) return true;
      if (other.domain.starts_with('@') && groups().contains(other.domain.substr(1))) return true;
    }
    return false;
  }

  /// Empty if the reason is unknown.
  std::string reason_for(const LimitName& name, bool soft, const std::string& value, const ShownLimit& got) {
    if (!su_uses_pam_limits(node_)) return "/etc/pam.d/su does not use pam_limits.so";
    if (const Result<std::vector<LimitsFile>> files = limits_files(node_)) {
      std::set<std::string> domains{user_};
      for (const std::string& group : groups()) domains.insert("@" + group);
      if (const auto found = exempting(domains, *files)) return found->source + " exempts the user from all limits";
      if (const auto found = winning(name, soft, {user_, groups()}, *files)) {
        return found->source + " sets " + found->line->value + " for " + found->line->domain + " and takes precedence";
      }
    }
    const Item& item = *find_item(name.item);
    const std::optional<std::string> most = item.name == "nofile" ? most_open_files(node_) : std::nullopt;
    if (most && value != kUnlimited && allows_more(value, *most)) {
      return "the kernel allows " + *most + " (sysctl fs.nr_open)";
    }
    const std::string wanted = proc_value(item, value);
    if (allows_more(wanted, got.hard) && !may_raise_hard_limits(node_)) {
      return "hard limits cannot be raised on this machine (CAP_SYS_RESOURCE is missing, as in most containers)";
    }
    if (soft && allows_more(wanted, got.hard)) return "the hard limit is lower";
    return "";
  }

  const std::set<std::string>& groups() {
    if (!groups_) {
      const std::vector<std::string> names = groups_of(user_, node_);
      groups_.emplace(names.begin(), names.end());
    }
    return *groups_;
  }

  std::string domain_;
  std::string user_;
  const Wishes& wishes_;
  const NodeReader& node_;
  std::optional<std::set<std::string>> groups_;
};

/// Domain -> the user to log in as.
std::map<std::string, std::string> logins_for(const Wishes& wishes, const NodeReader& node) {
  std::map<std::string, std::string> logins;
  for (const auto& [name, limit] : wishes) {
    if (is_user_name(name.domain)) logins[name.domain] = name.domain;
    if (name.domain != "*" || logins.contains("*")) continue;
    if (auto user = first_ordinary_user(passwd_file(node).value_or(""), node)) {
      logins["*"] = *std::move(user);
      continue;
    }
    const std::array<std::string, 2> argv{"getent", "passwd"};
    const Result<CommandOutput> passwd = node.query(argv, kLongestLook);
    if (!passwd) continue;
    if (auto user = first_ordinary_user(passwd->standard_output, node)) logins["*"] = *std::move(user);
  }
  return logins;
}

/// su proves nothing about logins over ssh. One finding per limit is enough.
void add_findings_about_ssh(const Wishes& wishes, const NodeReader& node, std::vector<Ineffective>& findings) {
  if (wishes.empty()) return;
  const std::optional<std::string> reason = why_sshd_sets_no_limits(node);
  if (!reason) return;
  for (const auto& [name, limit] : wishes) {
    const std::string wish = name.str();
    const bool is_told = std::ranges::any_of(findings, [&](const Ineffective& finding) {
      return finding.name == wish && finding.code == "limits.not_effective";
    });
    if (is_told) continue;
    findings.push_back(
        {wish, "limits.not_effective", "a login over ssh does not get " + name.item + ": " + *reason, ""});
  }
}

}  // namespace

std::vector<Ineffective> limits_not_effective(const ValuesByName& desired, const NodeReader& node,
                                              std::chrono::milliseconds longest_look) {
  if (!node.live()) return {};
  const Wishes wishes = wishes_of(desired);
  std::vector<Ineffective> findings;
  const auto end = std::chrono::steady_clock::now() + longest_look;
  for (const auto& [domain, user] : logins_for(wishes, node)) {
    if (std::chrono::steady_clock::now() >= end) {
      for (const auto& [name, limit] : wishes) {
        if (name.domain == domain)
          findings.push_back(not_checked(name, user, "were not read: earlier logins took too long"));
      }
      continue;
    }
    for (Ineffective& one : LoginCheck(domain, user, wishes, node).run()) findings.push_back(std::move(one));
  }
  add_findings_about_ssh(wishes, node, findings);
  return findings;
}

}  // namespace sparkplan::limits
