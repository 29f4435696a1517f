// The way to a node, from its entry in cluster.yaml and the text of ~/.ssh/config.
#include "engine/remote/config/ssh_way.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const LocalUser kMe{"anna", "/home/anna", [](const std::string& name) -> std::optional<std::string> {
                      if (name == "SSH_AUTH_SOCK") return "/run/agent";
                      if (name == "LAB") return "/lab";
                      return std::nullopt;
                    }};

SshConfig config_of(const std::string& text, const std::string& of_system = "") {
  SshConfig config;
  for (const auto& [name, content] : {std::pair{"~/.ssh/config", text}, std::pair{"/etc/ssh/ssh_config", of_system}}) {
    auto lines = parse_ssh_config(content, name);
    REQUIRE(lines);
    config.files.push_back({name, *std::move(lines)});
  }
  return config;
}

NodeSpec node_at_address(const std::string& address) {
  NodeSpec node{*NodeName::parse("spark-01"), 1, {}, {}, {}, {}, {}, {}, {}, {}};
  node.address = address;
  return node;
}

SshWay way_of(const NodeSpec& node, const std::string& text) {
  auto way = way_to(node, config_of(text), kMe);
  INFO((way ? std::string() : way.error().describe()));
  REQUIRE(way);
  return *std::move(way);
}

SshStation station_of(const std::string& address, const std::string& text) {
  return way_of(node_at_address(address), text).node();
}

Error error_of(const NodeSpec& node, const std::string& text) {
  const auto way = way_to(node, config_of(text), kMe);
  REQUIRE_FALSE(way);
  return way.error();
}

std::vector<std::string> paths_of(const SshStation& station) {
  std::vector<std::string> paths;
  for (const IdentityFile& file : station.identities) paths.push_back(file.path);
  return paths;
}

std::vector<std::string> names_of(const SshWay& way) {
  std::vector<std::string> names;
  for (const SshStation& station : way.stations) names.push_back(station.login() + ":" + std::to_string(station.port));
  return names;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("way: without a configuration the defaults hold") {
  const auto station = station_of("10.0.0.11", "");
  CHECK(station.login() == "anna@10.0.0.11");
  CHECK(station.port == 22);
  CHECK(station.usual_identities);
  CHECK(station.agent == "/run/agent");
  CHECK(station.known_hosts == Texts{"/home/anna/.ssh/known_hosts", "/home/anna/.ssh/known_hosts2"});
  CHECK(station.known_name() == "10.0.0.11");
}

TEST_CASE("way: the hint for an unknown name says what ~/.ssh/config has for it") {
  const auto aliased = station_of("spark1", "Host spark1\n  HostName spark-one.lab\n");
  CHECK(aliased.unknown_name_hint() == "this is the HostName of spark1 in ~/.ssh/config:2: correct it there");
  CHECK(
      station_of("spark1", "Host spark2\n  HostName spark-two.lab\n").unknown_name_hint() ==
      "neither DNS nor /etc/hosts of this machine has this name, and ~/.ssh/config has no HostName for it: correct the "
      "name, or write the IP address");
  NodeSpec departed = node_at_address("spark1");
  departed.ssh.named_by_file = false;
  CHECK(way_of(departed, "Host spark1\n  HostName spark-one.lab\n").node().unknown_name_hint() ==
        "neither DNS nor /etc/hosts of this machine has this name: correct the name, or write the IP address");
}

TEST_CASE("way: an alias gives host, user, port, key, agent, alias of the host key and known_hosts") {
  const auto station = station_of("spark1",
                                  "Host spark1\n"
                                  "  HostName 10.0.0.11\n  User nvidia\n  Port 2222\n"
                                  "  IdentityFile ~/.ssh/lab\n  IdentitiesOnly yes\n  IdentityAgent /run/lab\n"
                                  "  HostKeyAlias the-spark\n  UserKnownHostsFile ~/.ssh/lab_hosts /etc/lab_hosts\n");
  CHECK(station.name == "spark1");
  CHECK(station.login() == "nvidia@10.0.0.11");
  CHECK(station.port == 2222);
  CHECK(paths_of(station) == Texts{"/home/anna/.ssh/lab"});
  CHECK(station.identities.front().shown == "~/.ssh/lab");
  CHECK(station.identities.front().place == "~/.ssh/config:5");
  CHECK(station.only_identities);
  CHECK_FALSE(station.usual_identities);
  CHECK(station.agent == "/run/lab");
  CHECK(station.known_name() == "the-spark");
  CHECK(station.known_hosts == Texts{"/home/anna/.ssh/lab_hosts", "/etc/lab_hosts"});
}

TEST_CASE("way: cluster.yaml wins over the configuration, also with a port of 22") {
  auto node = node_at_address("spark1");
  node.ssh.user = "root";
  node.ssh.port_given = true;
  node.ssh.identity = "~/.ssh/mine";
  node.ssh.jump = "gate";
  const auto way = way_of(
      node, "Host gate\nProxyJump none\nHost *\nUser nvidia\nPort 2222\nIdentityFile ~/.ssh/lab\nProxyJump other\n");
  // The settings of the node in cluster.yaml do not concern its jump host. The configuration has a user for that.
  CHECK(names_of(way) == Texts{"nvidia@gate:2222", "root@spark1:22"});
  CHECK(paths_of(way.node()) == Texts{"/home/anna/.ssh/mine"});
  CHECK(way.node().identities.front().place.empty());
}

TEST_CASE("way: the first value of a setting counts, of IdentityFile all") {
  const auto station = station_of("spark1",
                                  "Host spark1\nUser first\nIdentityFile /a\nHost *\nUser second\nPort 23\n"
                                  "IdentityFile /b\nPort 24\n");
  CHECK(station.user == "first");
  CHECK(station.port == 23);
  CHECK(paths_of(station) == Texts{"/a", "/b"});
}

TEST_CASE("way: the system's file comes after the user's") {
  const auto way = way_to(node_at_address("h"), config_of("Host h\nUser mine\n", "User theirs\nPort 24\n"), kMe);
  REQUIRE(way);
  CHECK(way->node().user == "mine");
  CHECK(way->node().port == 24);
}

TEST_CASE("way: Host patterns know wildcards, and a negated one that matches decides") {
  struct Row {
    std::string patterns;
    bool applies;
  };
  for (const Row& row :
       {Row{"spark1", true}, Row{"spark*", true}, Row{"spark?", true}, Row{"spark", false}, Row{"*.lab spark1", true},
        Row{"* !spark1", false}, Row{"!spark1 *", false}, Row{"!spark2 *", true}, Row{"!spark2", false},
        Row{"SPARK1", false}, Row{"\"spark1\"", true}, Row{"other # spark1", false}}) {
    INFO(row.patterns);
    CHECK((station_of("spark1", "Host " + row.patterns + "\nPort 99\n").port == 99) == row.applies);
  }
}

TEST_CASE("way: settings are written with blanks or one equals sign, in any case, and quoted") {
  for (const std::string line : {"Port 99", "port=99", "PORT = 99", "Port\t99  ", "  Port \"99\"", "Port '99'",
                                 "Port 99 # comment", "Port=\"99\"\r"}) {
    INFO(line);
    CHECK(station_of("h", line + "\n").port == 99);
  }
  CHECK(paths_of(station_of("h", R"(IdentityFile "/a b" )"
                                 "\n"
                                 R"(IdentityFile /c\ d)")) == Texts{"/a b", "/c d"});
}

TEST_CASE("way: Match follows all, host, originalhost and user, also negated") {
  struct Row {
    std::string criteria;
    bool applies;
  };
  for (const Row& row :
       {Row{"all", true}, Row{"host 10.0.0.*", true}, Row{"host spark1", false}, Row{"originalhost spark1,x", true},
        Row{"originalhost *,!spark1", false}, Row{"user nvidia", true}, Row{"user anna", false},
        Row{"!user anna", true}, Row{"host 10.0.0.11 user root", false}, Row{"HOST=10.0.0.11", true}}) {
    INFO(row.criteria);
    const std::string text = "Host spark1\nHostName 10.0.0.11\nUser nvidia\nMatch " + row.criteria + "\nPort 99\n";
    CHECK((station_of("spark1", text).port == 99) == row.applies);
  }
}

TEST_CASE("way: a Match block with other criteria is ignored as a whole, and named if it could apply") {
  const std::string tail = "\n  Port 99\n  User evil\nHost *\n  Port 23\n";
  for (const std::string criteria :
       {"exec \"touch /tmp/x\"", "host h exec true", "localuser anna", "final all", "canonical host h", "tagged lab"}) {
    INFO(criteria);
    const auto way = way_of(node_at_address("h"), "Match " + criteria + tail);
    CHECK(way.node().port == 23);
    CHECK(way.node().user == "anna");
    REQUIRE(way.ignored.size() == 1);
    CHECK(way.ignored.front().what.starts_with("the block Match "));
    CHECK(way.ignored.front().place == "~/.ssh/config:1");
    CHECK(way.ignored.front().matters);
  }
  CHECK(way_of(node_at_address("h"), "Match exec true host other" + tail).ignored.empty());
}

TEST_CASE("way: settings that are not used are named, and whether they can matter") {
  const auto way = way_of(node_at_address("h"),
                          "Host h\n  ProxyCommand nc -X \"unbalanced %h %p\n  ServerAliveInterval 5\n"
                          "  StrictHostKeyChecking no\n  Hostnmae x\nHost other\n  BindAddress ::1\n");
  CHECK(way.stations.size() == 1);
  CHECK(way.ignored == std::vector<IgnoredSetting>{{"ProxyCommand", "~/.ssh/config:2", true},
                                                   {"ServerAliveInterval", "~/.ssh/config:3", false},
                                                   {"StrictHostKeyChecking", "~/.ssh/config:4", true},
                                                   {"Hostnmae", "~/.ssh/config:5", true}});
}

TEST_CASE("way: an included file takes part where it is included") {
  auto config = config_of("Host h\nInclude x\nPort 23\n");
  const auto included = [&](const std::string& text) {
    auto lines = parse_ssh_config(text, "~/.ssh/x");
    REQUIRE(lines);
    config.files.front().lines[1].included = {{"~/.ssh/x", *std::move(lines)}};
  };
  included("Port 99\nHost *\nUser of-include\n");
  CHECK(way_to(node_at_address("h"), config, kMe)->node().port == 99);
  CHECK(way_to(node_at_address("h"), config, kMe)->node().user == "of-include");
  // The block does not apply, so no block of the included file does.
  CHECK(way_to(node_at_address("other"), config, kMe)->node().port == 22);
  CHECK(way_to(node_at_address("other"), config, kMe)->node().user == "anna");
  // A Host line of the included file ends with it.
  included("Host nobody\n");
  CHECK(way_to(node_at_address("h"), config, kMe)->node().port == 23);
}

TEST_CASE("way: tokens and variables are replaced where ssh_config(5) permits them") {
  const auto station = station_of("spark1",
                                  "HostName %h.lab%%x\nUser nvidia\nPort 2222\n"
                                  "IdentityFile %d/%u/%r/%h/%n/%p/%%\nIdentityFile ${LAB}/key\n"
                                  "IdentityAgent $SSH_AUTH_SOCK\nUserKnownHostsFile ~/hosts-%k\n");
  CHECK(station.address == "spark1.lab%x");
  CHECK(paths_of(station) == Texts{"/home/anna/anna/nvidia/spark1.lab%x/spark1/2222/%", "/lab/key"});
  CHECK(station.agent == "/run/agent");
  CHECK(station.known_hosts == Texts{"/home/anna/hosts-spark1"});
}

TEST_CASE("way: none turns a setting off") {
  const auto station = station_of("h",
                                  "IdentityFile none\nIdentityAgent none\nUserKnownHostsFile none\nProxyJump none\n"
                                  "Host *\nProxyJump bastion\nIdentityAgent /run/x\n");
  CHECK(paths_of(station).empty());
  CHECK_FALSE(station.usual_identities);
  CHECK(station.agent.empty());
  CHECK(station.known_hosts.empty());
  CHECK_FALSE(station.is_jump_host);
  CHECK(way_of(node_at_address("h"), "ProxyJump none\nHost *\nProxyJump bastion\n").stations.size() == 1);
}

TEST_CASE("way: of ProxyJump and ProxyCommand the first counts") {
  CHECK(way_of(node_at_address("h"), "ProxyCommand nc %h %p\nProxyJump bastion\n").stations.size() == 1);
  const auto way = way_of(node_at_address("h"), "Host h\nProxyJump bastion\nProxyCommand nc %h %p\n");
  CHECK(way.stations.size() == 2);
  CHECK(way.ignored.empty());
}

TEST_CASE("way: jump hosts are looked up in the configuration, and only the first has its own") {
  const std::string text =
      "Host spark1\n  ProxyJump ops@gate:2200,inner\n  HostName 192.168.1.11\n"
      "Host gate\n  HostName 203.0.113.7\n  ProxyJump outer\n  User other\n"
      "Host inner\n  ProxyJump nowhere\n  IdentityFile /inner\nHost outer\n  User guest\n";
  const auto way = way_of(node_at_address("spark1"), text);
  CHECK(names_of(way) == Texts{"guest@outer:22", "ops@203.0.113.7:2200", "anna@inner:22", "anna@192.168.1.11:22"});
  CHECK(way.stations[1].context() == "jump host gate (203.0.113.7)");
  CHECK(way.stations[2].context() == "jump host inner");
  CHECK(paths_of(way.stations[2]) == Texts{"/inner"});
  CHECK(way.node().context().empty());
  CHECK(way.stations[0].node == "spark-01");
}

TEST_CASE("way: the jump host of cluster.yaml has the node's user and key, unless the configuration has others") {
  auto node = node_at_address("10.0.0.11");
  node.ssh.user = "nvidia";
  node.ssh.identity = "/key";
  node.ssh.jump = "gate";
  auto way = way_of(node, "");
  CHECK(names_of(way) == Texts{"nvidia@gate:22", "nvidia@10.0.0.11:22"});
  CHECK(paths_of(way.stations[0]) == Texts{"/key"});
  way = way_of(node, "Host gate\nUser ops\nIdentityFile /gate\n");
  CHECK(names_of(way) == Texts{"ops@gate:22", "nvidia@10.0.0.11:22"});
  CHECK(paths_of(way.stations[0]) == Texts{"/gate"});
  node.ssh.jump = "root@[fe80::1%eth0]:24";
  CHECK(names_of(way_of(node, "")).front() == "root@fe80::1%eth0:24");
}

TEST_CASE("way: the pin belongs to the node, and the policy to the whole way") {
  auto node = node_at_address("10.0.0.11");
  node.ssh.jump = "gate";
  node.ssh.host_key = "SHA256:x";
  node.ssh.host_keys = HostKeyPolicy::kAcceptNew;
  const auto way = way_of(node, "");
  CHECK(way.stations[0].host_key.empty());
  CHECK(way.node().host_key == "SHA256:x");
  CHECK(way.stations[0].host_keys == HostKeyPolicy::kAcceptNew);
}

TEST_CASE("way: jump hosts that lead in a circle are an error that names the setting") {
  const auto error = error_of(node_at_address("h"), "Host *\n  ProxyJump bastion\n");
  CHECK(error.code == ErrorCode::kInvalidInput);
  CHECK(error.message.starts_with("~/.ssh/config:2: "));
  CHECK(error.message.find("circle through bastion") != std::string::npos);
  CHECK(error.hint.find("ProxyJump none") != std::string::npos);
  CHECK(way_of(node_at_address("h"), "Host bastion\nProxyJump none\nHost *\nProxyJump bastion\n").stations.size() == 2);
}

TEST_CASE("way: a value that cannot be used is an error with its place, only where it applies") {
  for (const std::string line :
       {"Port 0", "Port 65536", "Port ssh", "User \"a b\"", "User -l", "HostName %n", "HostName \"\"",
        "HostName -oProxyCommand=x", "HostKeyAlias \"a b\"", "ProxyJump a:0", "ProxyJump @", "ProxyJump a,,b",
        "ProxyJump [::1", "IdentityFile %z", "IdentityFile ${NOT_SET}", "IdentityFile ${X", "IdentityAgent %z",
        "UserKnownHostsFile %z", "IdentityFile x%"}) {
    INFO(line);
    const auto error = error_of(node_at_address("h"), "Host h\n" + line + "\n");
    CHECK(error.code == ErrorCode::kInvalidInput);
    CHECK(error.message.starts_with("~/.ssh/config:2: "));
    CHECK(way_to(node_at_address("other"), config_of("Host h\n" + line + "\n"), kMe));
  }
}

TEST_CASE("way: a machine that only the roster names takes nothing from the configuration") {
  auto node = node_at_address("old-spark");
  node.ssh.jump = "gate";
  node.ssh.named_by_file = false;
  const auto way = way_of(node,
                          "Host gate\nHostName 10.0.0.1\nHost *\nHostName 203.0.113.66\nUser evil\nPort 99\n"
                          "IdentityFile /evil\nIdentityAgent /evil\nUserKnownHostsFile /evil\nHostKeyAlias evil\n");
  CHECK(way.node().login() == "anna@old-spark");
  CHECK(way.node().port == 22);
  CHECK(way.node().usual_identities);
  CHECK(way.node().known_name() == "old-spark");
  CHECK(way.node().known_hosts.front() == "/home/anna/.ssh/known_hosts");
  // The file names the jump host.
  CHECK(way.stations.front().address == "10.0.0.1");
}

TEST_CASE("way: a port other than 22 is part of the name in known_hosts, except with an alias") {
  CHECK(station_of("h", "Port 2222\n").known_name() == "[h]:2222");
  CHECK(station_of("h", "Port 2222\nHostKeyAlias a\n").known_name() == "a");
}

TEST_CASE("config: a line that OpenSSH would refuse is an error with its place") {
  struct Row {
    std::string text;
    std::string part;
  };
  for (const Row& row :
       {Row{"Host \"a\n", "a quote is not closed"}, Row{"\nUser\n", "User has no value"},
        Row{"Port = \n", "Port has no value"}, Row{"= x\n", "keyword"}, Row{std::string("User a\0b\n", 9), "NUL"}}) {
    INFO(row.text);
    const auto lines = parse_ssh_config(row.text, "~/.ssh/config");
    REQUIRE_FALSE(lines);
    CHECK(lines.error().code == ErrorCode::kInvalidInput);
    CHECK(lines.error().message.starts_with("~/.ssh/config:"));
    CHECK(lines.error().message.find(row.part) != std::string::npos);
  }
  CHECK(error_of(node_at_address("h"), "Match host\n").message == "~/.ssh/config:1: Match host has no value");
}

}  // namespace sparkplan
