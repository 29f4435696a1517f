#include "engine/remote/config/ssh_host_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// Settings that are not used, and that cannot be why a connection or a login fails.
constexpr std::array<std::string_view, 46> kHarmless = {"addkeystoagent",
                                                        "batchmode",
                                                        "channeltimeout",
                                                        "checkhostip",
                                                        "clearallforwardings",
                                                        "compression",
                                                        "connectionattempts",
                                                        "controlmaster",
                                                        "controlpath",
                                                        "controlpersist",
                                                        "dynamicforward",
                                                        "enableescapecommandline",
                                                        "escapechar",
                                                        "exitonforwardfailure",
                                                        "fingerprinthash",
                                                        "forkafterauthentication",
                                                        "forwardagent",
                                                        "forwardx11",
                                                        "forwardx11timeout",
                                                        "forwardx11trusted",
                                                        "gatewayports",
                                                        "gssapiauthentication",
                                                        "gssapidelegatecredentials",
                                                        "hashknownhosts",
                                                        "ignoreunknown",
                                                        "ipqos",
                                                        "kbdinteractiveauthentication",
                                                        "localcommand",
                                                        "localforward",
                                                        "loglevel",
                                                        "logverbose",
                                                        "obscurekeystroketiming",
                                                        "passwordauthentication",
                                                        "permitlocalcommand",
                                                        "remotecommand",
                                                        "remoteforward",
                                                        "rekeylimit",
                                                        "requesttty",
                                                        "sendenv",
                                                        "serveralivecountmax",
                                                        "serveraliveinterval",
                                                        "setenv",
                                                        "tcpkeepalive",
                                                        "updatehostkeys",
                                                        "usekeychain",
                                                        "visualhostkey"};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// "a*,!b": a pattern with "!" that matches decides against all others.
bool matches_list(const std::string& text, std::string_view list) {
  bool found = false;
  for (std::string_view pattern : split(list, ',')) {
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (!glob_match(pattern, text)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

/// One pass over the files for one host.
class Pass {
 public:
  explicit Pass(const SshQuery& query) : query_(query) {}

  /// `reachable` is false below a block that does not apply: then no block of the file does.
  Result<void> read(const SshConfigText& file, bool reachable) {
    bool active = reachable;
    for (const SshConfigLine& line : file.lines) {
      const std::string place = place_of(file, line);
      if (line.keyword == "host") {
        active = reachable && applies_to_host(line.arguments);
      } else if (line.keyword == "match") {
        SPARK_TRY(const bool matches, applies(line.arguments, place, reachable));
        active = reachable && matches;
      } else if (line.keyword == "include") {
        for (const SshConfigText& included : line.included) SPARK_CHECK(read(included, active));
      } else if (active) {
        take(line, place);
      }
    }
    return {};
  }

  SshHostSettings settings;

 private:
  bool applies_to_host(const std::vector<std::string>& patterns) const {
    bool found = false;
    for (std::string_view pattern : patterns) {
      const bool negated = pattern.starts_with('!');
      if (negated) pattern.remove_prefix(1);
      if (!glob_match(pattern, query_.host)) continue;
      if (negated) return false;
      found = true;
    }
    return found;
  }

  /// The host as known so far.
  std::string current_host() const {
    if (!settings.host_name) return query_.host;
    std::string host;
    const std::string& name = settings.host_name->value;
    for (std::size_t i = 0; i < name.size(); ++i) {
      if (name[i] == '%' && i + 1 < name.size()) {
        host += name[++i] == 'h' ? query_.host : std::string(1, name[i]);
      } else {
        host += name[i];
      }
    }
    return host;
  }

  std::string current_user() const {
    if (!query_.user.empty()) return query_.user;
    return settings.user ? settings.user->value : query_.local_user;
  }

  Result<bool> applies(const std::vector<std::string>& words, const std::string& place, bool reachable) {
    bool matches = true;
    std::string unsupported;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i];
      const bool negated = word.starts_with('!');
      if (negated) word.remove_prefix(1);
      const auto equals = word.find('=');
      const std::string criterion = in_lower_case(word.substr(0, equals));
      if (criterion == "all") {
        matches = matches && !negated;
        continue;
      }
      const bool takes_argument = criterion != "canonical" && criterion != "final";
      std::string argument;
      if (equals != std::string_view::npos) {
        argument = std::string(word.substr(equals + 1));
      } else if (takes_argument) {
        if (++i == words.size()) {
          return failure(ErrorCode::kInvalidInput, place + ": Match " + printable(criterion) + " has no value");
        }
        argument = words[i];
      }
      const auto found = matches_criterion(criterion, argument);
      if (!found) unsupported = unsupported.empty() ? criterion : unsupported;
      matches = matches && (!found || *found != negated);
    }
    if (unsupported.empty()) return matches;
    if (matches && reachable) settings.ignored.push_back({"the block Match " + printable(unsupported), place, true});
    return false;
  }

  /// Nothing for a criterion that is not supported.
  std::optional<bool> matches_criterion(const std::string& criterion, const std::string& argument) const {
    if (criterion == "host") return matches_list(in_lower_case(current_host()), in_lower_case(argument));
    if (criterion == "originalhost") return matches_list(in_lower_case(query_.host), in_lower_case(argument));
    if (criterion == "user") return matches_list(current_user(), argument);
    return std::nullopt;
  }

  void take(const SshConfigLine& line, const std::string& place) {
    const SshSetting setting{line.arguments.front(), place};
    if (auto* first = first_of(line.keyword)) {
      if (!*first) *first = setting;
    } else if (line.keyword == "identityfile") {
      settings.identities.push_back(setting);
    } else if (line.keyword == "userknownhostsfile") {
      if (!settings.known_hosts.empty()) return;
      for (const std::string& path : line.arguments) settings.known_hosts.push_back({path, place});
    } else if (line.keyword == "proxyjump" || line.keyword == "proxycommand") {
      take_proxy(line, setting);
    } else {
      const bool harmless = std::find(kHarmless.begin(), kHarmless.end(), line.keyword) != kHarmless.end();
      settings.ignored.push_back({printable(line.written), place, !harmless});
    }
  }

  /// ProxyJump and ProxyCommand exclude each other: the first of them counts.
  void take_proxy(const SshConfigLine& line, const SshSetting& setting) {
    if (proxy_is_set_) return;
    proxy_is_set_ = true;
    if (in_lower_case(setting.value) == "none") return;
    if (line.keyword == "proxyjump") {
      settings.jumps = setting;
    } else {
      settings.ignored.push_back({printable(line.written), setting.place, true});
    }
  }

  std::optional<SshSetting>* first_of(const std::string& keyword) {
    if (keyword == "hostname") return &settings.host_name;
    if (keyword == "user") return &settings.user;
    if (keyword == "port") return &settings.port;
    if (keyword == "identitiesonly") return &settings.only_identities;
    if (keyword == "identityagent") return &settings.agent;
    if (keyword == "hostkeyalias") return &settings.host_key_alias;
    return nullptr;
  }

  const SshQuery& query_;
  bool proxy_is_set_ = false;
};

}  // namespace

Result<SshHostSettings> settings_for(const SshQuery& query, const SshConfig& config) {
  Pass pass(query);
  for (const SshConfigText& file : config.files) SPARK_CHECK(pass.read(file, true));
  return std::move(pass.settings);
}

}  // namespace sparkplan
