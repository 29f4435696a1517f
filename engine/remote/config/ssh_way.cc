#include "engine/remote/config/ssh_way.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostStations = 9;  ///< Eight jump hosts.
constexpr std::size_t kLongestText = 1024;
constexpr std::uint16_t kUsualPort = 22;

tl::unexpected<Error> wrong(const SshSetting& setting, const std::string& why, std::string hint = {}) {
  return failure(ErrorCode::kInvalidInput, (setting.place.empty() ? "" : setting.place + ": ") + why, std::move(hint));
}

Result<std::uint16_t> port_of(std::string_view text, const SshSetting& setting) {
  if (const auto port = parse_number<std::uint16_t>(text); port && *port != 0) return *port;
  return wrong(setting, in_quotes(text) + " is not a port: it is a number from 1 to 65535");
}

/// A name that OpenSSH would pass on: no blank, no control character, no option.
Result<std::string> plain_name(std::string text, const SshSetting& setting, std::string_view what) {
  const bool blank = text.find_first_of(" \t") != std::string::npos;
  if (!text.empty() && text.size() <= kLongestText && !blank && !has_control_character(text) && text.front() != '-')
    return text;
  return wrong(setting, in_quotes(text) + " is not a " + std::string(what));
}

/// Replaces the tokens of ssh_config(5) and, with `me`, variables: "${HOME}".
class Expansion {
 public:
  Expansion(std::map<char, std::string> tokens, const LocalUser* me) : tokens_(std::move(tokens)), me_(me) {}

  Result<std::string> of(const SshSetting& setting) const {
    std::string text = setting.value;
    if (me_ != nullptr && (text == "~" || text.starts_with("~/"))) text.replace(0, 1, me_->home);
    std::string expanded;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%') {
        const char token = ++i < text.size() ? text[i] : '\0';
        if (token != '%' && !tokens_.contains(token)) {
          return wrong(setting, in_quotes(std::string("%") + token) + " is not supported here");
        }
        expanded += token == '%' ? "%" : tokens_.at(token);
      } else if (me_ != nullptr && text.compare(i, 2, "${") == 0) {
        SPARK_TRY(const std::string value, variable(setting, text, i));
        expanded += value;
      } else {
        expanded += text[i];
      }
      if (expanded.size() > 4 * kLongestText) return wrong(setting, "the value is too long");
    }
    return expanded;
  }

 private:
  /// Moves `at` to the closing brace.
  Result<std::string> variable(const SshSetting& setting, const std::string& text, std::size_t& at) const {
    const auto end = text.find('}', at);
    if (end == std::string::npos) return wrong(setting, "a \"${\" has no \"}\"");
    const std::string name = text.substr(at + 2, end - at - 2);
    at = end;
    if (const auto value = me_->variable(name)) return *value;
    return wrong(setting, "the environment variable " + printable(name) + " is not set");
  }

  std::map<char, std::string> tokens_;
  const LocalUser* me_;
};

/// [USER@]HOST[:PORT], an IPv6 address with a port in brackets, or ssh://.
struct JumpText {
  std::string user;
  std::string host;
  std::optional<std::uint16_t> port;
};

Result<JumpText> parse_jump(std::string_view text, const SshSetting& setting) {
  const std::string_view whole = text;
  JumpText jump;
  if (text.starts_with("ssh://")) {
    text.remove_prefix(6);
    if (text.ends_with('/')) text.remove_suffix(1);
  }
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    SPARK_TRY(jump.user, plain_name(std::string(text.substr(0, at)), setting, "login name"));
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return wrong(setting, in_quotes(whole) + " is not a jump host");
    port = text.substr(end + 1);
    text = text.substr(1, end - 1);
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    port = text.substr(colon);
    text = text.substr(0, colon);
  }
  if (!port.empty()) {
    if (port.front() != ':') return wrong(setting, in_quotes(whole) + " is not a jump host");
    SPARK_TRY(jump.port, port_of(port.substr(1), setting));
  }
  SPARK_TRY(jump.host, plain_name(std::string(text), setting, "jump host"));
  return jump;
}

/// The settings of a host that are known before the configuration is read.
struct Given {
  std::string host;
  std::string user;                   ///< Empty: not given.
  std::optional<std::uint16_t> port;  ///< Nothing: not given.
  std::string default_user;
  std::string identity;         ///< `ssh.identity` of cluster.yaml.
  bool identity_wins = true;    ///< False for a jump host: IdentityFile comes first.
  bool jumps_are_given = true;  ///< The ProxyJump of the host does not count.
};

class Ways {
 public:
  Ways(const NodeSpec& node, const SshConfig& config, const LocalUser& me) : node_(node), config_(config), me_(me) {}

  Result<SshWay> make() {
    static const SshConfig nothing;
    const SshSettings& ssh = node_.ssh;
    Given given{node_.address, ssh.user, std::nullopt, me_.name, ssh.identity, true, !ssh.jump.empty()};
    if (ssh.port_given || ssh.port != kUsualPort) given.port = ssh.port;
    SPARK_TRY(auto station, station_for(given, ssh.named_by_file ? config_ : nothing));
    if (!ssh.named_by_file) station.address_place.reset();
    if (!ssh.jump.empty()) jumps_ = SshSetting{ssh.jump, ""};
    const auto jumps = std::exchange(jumps_, std::nullopt);
    if (jumps) SPARK_CHECK(add_jumps(*jumps, station));
    station.host_key = ssh.host_key;
    way_.stations.push_back(std::move(station));
    return std::move(way_);
  }

 private:
  /// The jump hosts of `target`. Only the first of them may be reached through other jump hosts.
  Result<void> add_jumps(const SshSetting& setting, const SshStation& target) {
    const Expansion tokens(
        {{'h', target.address}, {'n', target.name}, {'p', std::to_string(target.port)}, {'r', target.user}}, nullptr);
    const bool by_file = setting.place.empty();
    // In cluster.yaml "%" begins the zone of an address, and no token.
    SPARK_TRY(const std::string list, by_file ? Result<std::string>(setting.value) : tokens.of(setting));
    bool is_first = true;
    for (const auto text : split(list, ',')) {
      SPARK_TRY(const JumpText jump, parse_jump(trim(text), setting));
      // cluster.yaml: the node's user is the jump host's, unless the configuration has another.
      Given given{jump.host,
                  jump.user,
                  jump.port,
                  by_file && !node_.ssh.user.empty() ? node_.ssh.user : me_.name,
                  node_.ssh.identity,
                  false,
                  !std::exchange(is_first, false)};
      SPARK_TRY(auto station, station_for(given, config_));
      station.is_jump_host = true;
      const auto before = std::exchange(jumps_, std::nullopt);
      if (++hosts_ >= kMostStations) {
        return wrong(setting,
                     "there are more than " + std::to_string(kMostStations - 1) +
                         " jump hosts, or they lead in "
                         "a circle through " +
                         printable(jump.host),
                     "give that host `ProxyJump none` in ~/.ssh/config, before the setting that applies to all hosts");
      }
      if (before) SPARK_CHECK(add_jumps(*before, station));
      way_.stations.push_back(std::move(station));
    }
    return {};
  }

  Result<SshStation> station_for(const Given& given, const SshConfig& config) {
    SPARK_TRY(auto settings, settings_for({given.host, given.user, me_.name}, config));
    for (IgnoredSetting& one : settings.ignored) {
      if (std::find(way_.ignored.begin(), way_.ignored.end(), one) == way_.ignored.end()) {
        way_.ignored.push_back(std::move(one));
      }
    }
    SshStation station;
    station.node = node_.name.str();
    station.name = given.host;
    station.host_keys = node_.ssh.host_keys;
    SPARK_CHECK(set_place(given, settings, station));
    SPARK_CHECK(set_files(given, settings, station));
    if (!given.jumps_are_given) jumps_ = settings.jumps;
    return station;
  }

  Result<void> set_place(const Given& given, const SshHostSettings& settings, SshStation& station) const {
    station.address = given.host;
    station.address_place = settings.host_name ? settings.host_name->place : "";
    if (settings.host_name) {
      SPARK_TRY(auto address, Expansion({{'h', given.host}}, nullptr).of(*settings.host_name));
      SPARK_TRY(station.address, plain_name(std::move(address), *settings.host_name, "host name"));
    }
    station.user = given.user.empty() ? given.default_user : given.user;
    station.user_is_given = !given.user.empty() || settings.user.has_value();
    if (given.user.empty() && settings.user) {
      SPARK_TRY(station.user, plain_name(settings.user->value, *settings.user, "login name"));
    }
    station.port = given.port.value_or(kUsualPort);
    if (!given.port && settings.port) {
      SPARK_TRY(station.port, port_of(settings.port->value, *settings.port));
    }
    if (settings.host_key_alias) {
      SPARK_TRY(station.host_key_alias,
                plain_name(settings.host_key_alias->value, *settings.host_key_alias, "host name"));
    }
    return {};
  }

  Result<void> set_files(const Given& given, const SshHostSettings& settings, SshStation& station) const {
    const Expansion tokens({{'d', me_.home},
                            {'h', station.address},
                            {'k', station.host_key_alias.empty() ? station.name : station.host_key_alias},
                            {'n', station.name},
                            {'p', std::to_string(station.port)},
                            {'r', station.user},
                            {'u', me_.name}},
                           &me_);
    const bool configured = !settings.identities.empty() && (given.identity.empty() || !given.identity_wins);
    station.usual_identities = !configured && given.identity.empty();
    for (const SshSetting& setting : settings.identities) {
      if (!configured || setting.value == "none") continue;
      SPARK_TRY(auto path, tokens.of(setting));
      station.identities.push_back({std::move(path), printable(setting.value), setting.place});
    }
    if (!given.identity.empty() && !configured) {
      const bool in_home = given.identity == "~" || given.identity.starts_with("~/");
      station.identities.push_back(
          {in_home ? me_.home + given.identity.substr(1) : given.identity, given.identity, ""});
    }
    station.only_identities = settings.only_identities && settings.only_identities->value == "yes";
    SPARK_TRY(station.agent, agent_of(settings, tokens));
    return set_known_hosts(settings, tokens, station);
  }

  /// "none", "SSH_AUTH_SOCK", "$VARIABLE" or a path.
  Result<std::string> agent_of(const SshHostSettings& settings, const Expansion& tokens) const {
    if (!settings.agent || settings.agent->value == "SSH_AUTH_SOCK") {
      return me_.variable("SSH_AUTH_SOCK").value_or("");
    }
    const std::string& value = settings.agent->value;
    if (value == "none") return std::string();
    if (value.starts_with('$') && !value.starts_with("${")) return me_.variable(value.substr(1)).value_or("");
    return tokens.of(*settings.agent);
  }

  Result<void> set_known_hosts(const SshHostSettings& settings, const Expansion& tokens, SshStation& station) const {
    for (const SshSetting& setting : settings.known_hosts) {
      if (setting.value == "none") continue;
      SPARK_TRY(auto path, tokens.of(setting));
      station.known_hosts.push_back(std::move(path));
    }
    if (!settings.known_hosts.empty()) return {};
    station.known_hosts = {me_.home + "/.ssh/known_hosts", me_.home + "/.ssh/known_hosts2"};
    return {};
  }

  const NodeSpec& node_;
  const SshConfig& config_;
  const LocalUser& me_;
  SshWay way_;
  std::optional<SshSetting> jumps_;  ///< ProxyJump of the station that was made last.
  std::size_t hosts_ = 0;
};

}  // namespace

std::string SshStation::known_name() const {
  if (!host_key_alias.empty()) return host_key_alias;
  return port == kUsualPort ? address : "[" + address + "]:" + std::to_string(port);
}

std::string SshStation::unknown_name_hint() const {
  if (address_place && !address_place->empty()) {
    return "this is the HostName of " + printable(name) + " in " + *address_place + ": correct it there";
  }
  const std::string config = address_place ? ", and ~/.ssh/config has no HostName for it" : "";
  return "neither DNS nor /etc/hosts of this machine has this name" + config +
         ": correct the name, or write the IP address";
}

std::string SshStation::context() const {
  if (!is_jump_host) return {};
  return "jump host " + printable(name) + (name == address ? "" : " (" + printable(address) + ")");
}

Result<SshWay> way_to(const NodeSpec& node, const SshConfig& config, const LocalUser& me) {
  return Ways(node, config, me).make();
}

}  // namespace sparkplan
