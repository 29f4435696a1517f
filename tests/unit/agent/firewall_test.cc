// How a packet filter treats incoming packets: listings of nft and iptables-save, as machines print them.
#include "engine/agent/facts/extended_facts.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/input_verdicts.h"

namespace sparkplan {
namespace {

using test::Verdicts;
using test::verdicts_of;

/// Verdicts of one input chain with those rules and that policy; `others` are more chains of the table.
Verdicts nft(const std::string& rules, const std::string& policy = "accept", const std::string& others = "") {
  const auto chains =
      nft_chains("table inet t {\n" + others + "\tchain in {\n\t\ttype filter hook input priority filter; policy " +
                 policy + ";\n" + rules + "\t}\n}\n");
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "inet t in");
  return verdicts_of(chains[0]);
}

std::string chain(const std::string& name, const std::string& rules) {
  return "\tchain " + name + " {\n" + rules + "\t}\n";
}

Verdicts iptables(const std::string& rules) {
  const auto chains = iptables_chains("*filter\n" + rules + "COMMIT\n");
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "filter INPUT");
  return verdicts_of(chains[0]);
}

/// As ufw 0.36 makes them and nft 1.0.9 lists them, shortened.
constexpr const char* kUfwRules = R"(# Warning: table ip filter is managed by iptables-nft, do not touch!
table ip filter {
	chain ufw-before-input {
		iifname "lo" counter packets 4 bytes 336 accept
		ct state related,established counter packets 1523 bytes 130562 accept
		ct state invalid counter packets 0 bytes 0 jump ufw-logging-deny
		ct state invalid counter packets 0 bytes 0 drop
		ip protocol icmp icmp type echo-request counter packets 2 bytes 168 accept
		ip protocol udp udp sport 67 udp dport 68 counter packets 0 bytes 0 accept
		counter packets 31 bytes 4120 jump ufw-not-local
		ip protocol udp ip daddr 224.0.0.251 udp dport 5353 counter packets 4 bytes 612 accept
		counter packets 27 bytes 3508 jump ufw-user-input
	}
	chain ufw-not-local {
		fib daddr type local counter packets 27 bytes 3508 return
		fib daddr type multicast counter packets 4 bytes 612 return
		limit rate 3/minute burst 10 packets counter packets 0 bytes 0 jump ufw-logging-deny
		counter packets 0 bytes 0 drop
	}
	chain ufw-logging-deny {
		ct state invalid limit rate 3/minute burst 10 packets counter packets 0 bytes 0 return
		limit rate 3/minute burst 10 packets counter packets 0 bytes 0 log prefix "[UFW BLOCK] drop "
	}
	chain ufw-user-input {
		iifname "enp1s0f1np1" ip saddr 192.168.100.0/24 counter packets 0 bytes 0 accept
		ip protocol tcp tcp dport 22 counter packets 3 bytes 180 accept
		ip saddr 10.9.0.0/16 tcp dport 4420 counter packets 0 bytes 0 accept
		iifname "docker0" counter packets 0 bytes 0 drop
	}
	chain INPUT {
		type filter hook input priority filter; policy drop;
		counter packets 1600 bytes 140000 jump ufw-before-input
	}
	chain FORWARD {
		type filter hook forward priority filter; policy drop;
		iifname "enP2p1s0f1np1" counter packets 0 bytes 0 drop
	}
	chain never-reached {
		iifname "enP2p1s0f1np1" accept
	}
}
table ip6 filter {
	chain INPUT {
		type filter hook input priority filter; policy drop;
	}
}
)";

/// As firewalld makes them, shortened.
constexpr const char* kFirewalldRules = R"(table inet firewalld {
	chain filter_INPUT {
		type filter hook input priority filter + 10; policy accept;
		ct state { established, related } accept
		ct status dnat accept
		iifname "lo" accept
		ct state invalid drop
		jump filter_INPUT_ZONES
		reject with icmpx admin-prohibited
	}
	chain filter_INPUT_ZONES {
		iifname "enp1s0f1np1" goto filter_IN_trusted
		iifname "wlP9s9" goto filter_IN_public
		goto filter_IN_public
	}
	chain filter_IN_trusted {
		accept
	}
	chain filter_IN_public {
		jump filter_IN_public_allow
		meta l4proto { icmp, ipv6-icmp } accept
		reject with icmpx admin-prohibited
	}
	chain filter_IN_public_allow {
		tcp dport 22 accept
		ip6 daddr fe80::/64 udp dport 546 accept
	}
}
)";

}  // namespace

TEST_CASE("ufw: the user's rules accept, the policy drops, and forwarded packets are ignored") {
  const auto chains = nft_chains(kUfwRules);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "ip filter INPUT");
  CHECK(verdicts_of(chains[0]) ==
        Verdicts{"accept lo", "accept enp1s0f1np1 from 192.168.100.0/24", "drop docker0", "drop"});
  CHECK(chains[0].verdicts[1].rule ==
        R"(iifname "enp1s0f1np1" ip saddr 192.168.100.0/24 counter packets 0 bytes 0 accept)");
  CHECK(chains[0].verdicts[3].rule == "policy drop");
}

TEST_CASE("firewalld: a zone bound to an interface is unclear, and a final reject closes the chain") {
  const auto chains = nft_chains(kFirewalldRules);
  REQUIRE(chains.size() == 1);
  CHECK(verdicts_of(chains[0]) == Verdicts{"unclear", "accept lo", "unclear enp1s0f1np1", "unclear wlP9s9", "drop"});
}

TEST_CASE("a chain is closed by its policy, or by a last rule that drops or rejects all packets") {
  CHECK(nft("", "drop") == Verdicts{"drop"});
  CHECK(nft("counter packets 1 bytes 2 drop\n") == Verdicts{"drop"});
  CHECK(nft("log prefix \"no \" reject with icmpx port-unreachable\n") == Verdicts{"drop"});
  CHECK(nft("counter packets 0 bytes 0 xt target \"REJECT\"\n") == Verdicts{"drop"});
  CHECK(nft("").empty());
  CHECK(nft("accept\ndrop\n", "drop") == Verdicts{"accept"});
  CHECK(nft("iifname \"lo\" accept comment \"drop\"\n") == Verdicts{"accept lo"});
  CHECK(nft("log prefix \"no drop\" comment \"drop udp\"\n", "drop") == Verdicts{"drop"});
  CHECK(nft("jump more\naccept\n", "drop", chain("more", "fib daddr type local return\ndrop\n")) == Verdicts{"accept"});
  CHECK(nft("goto more\naccept\n", "drop", chain("more", "iifname \"en*\" accept\n")) ==
        Verdicts{"accept en*", "drop"});
  CHECK(nft("counter packets 1 bytes 2 jump more\n", "drop", chain("more", "")) == Verdicts{"drop"});
}

TEST_CASE("rules for single ports, for states and for protocols outside the fabric give no verdict") {
  for (const char* const rule :
       {"tcp dport 22 drop", "udp dport 53 drop", "ct state invalid drop", "meta l4proto icmp drop",
        "ip6 saddr ::1 drop", "tcp dport { 22, 80 } accept", "ip protocol udp accept",
        "ct state established,related accept", "ct state { established, related } accept",
        "ct state vmap { established : accept, related : accept, invalid : drop }", "limit rate 9/second log",
        "tcp dport 22 # recent: SET name: ssh side: source", "fib daddr type broadcast drop"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n").empty());
  }
  for (const char* const rule : {"ct state new accept", "meta l4proto tcp accept", "meta nfproto ipv4 accept",
                                 "ip protocol tcp ct state new counter packets 0 bytes 0 accept"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n", "drop") == Verdicts{"accept"});
  }
}

TEST_CASE("a rule beyond simple matches is unclear for the packets that it names") {
  for (const char* const rule :
       {"xt match \"set\" accept", "ip saddr 10.0.0.1-10.0.0.9 accept", "iifname != \"eth0\" drop",
        "iifname \"eth0\" meta mark 0x1 accept", "tcp dport 40000-50000 accept", "tcp dport != 22 drop", "queue to 0",
        "iifname { \"a\", \"b\" } accept", "iifname @names accept", "iifname vmap @names", "ip saddr @peers drop",
        "iifname . ip saddr { \"a\" . 10.0.0.1 } accept", "meta l4proto { tcp, udp } accept",
        "limit rate 9/second jump more", "limit rate over 25/second drop", "ip daddr 10.0.0.1 accept",
        "xt target \"TARPIT\"", "# match-set bad src counter packets 0 bytes 0 drop"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n", "drop", chain("more", "accept\n")) == Verdicts{"unclear", "drop"});
  }
  CHECK(nft("jump more\n", "accept", chain("more", "ip saddr 10.0.0.1 return\ndrop\n")) ==
        Verdicts{"unclear from 10.0.0.1", "drop"});
}

TEST_CASE("circular and very long chains are unclear") {
  CHECK(nft("jump a\n", "accept", chain("a", "jump b\n") + chain("b", "jump a\n")) == Verdicts{"unclear"});
  std::string many;
  for (int i = 0; i < 2000; ++i)
    many += "ip saddr 10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + " drop\n";
  const auto verdicts = nft(many);
  CHECK(verdicts.size() == 1001);
  CHECK(verdicts.back() == "unclear");
}

TEST_CASE("elements of a named set are no rules, and a long rule is shortened") {
  const std::string set =
      "\tset peers {\n\t\ttype ipv4_addr\n\t\telements = { 192.168.100.11,\n\t\t\t     drop }\n\t}\n";
  CHECK(nft("", "accept", set).empty());
  const auto chains = iptables_chains("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m comment --comment \"" +
                                      std::string(250, 'c') + "\" -j DROP\n");
  CHECK(chains.at(0).verdicts.at(0).rule.size() == 164);
}

TEST_CASE("iptables-save: a quote inside a comment does not end it; in nft's listing it does") {
  const std::string input = ":INPUT DROP [0:0]\n-A INPUT -m comment --comment ";
  CHECK(iptables(input + R"("the \"fast\" net" -j ACCEPT)"
                         "\n") == Verdicts{"accept"});
  CHECK(iptables(input + R"("x \"-j DROP\" y" -j ACCEPT)"
                         "\n") == Verdicts{"accept"});
  CHECK(iptables(input + R"("never ends \)"
                         "\n") == Verdicts{"drop"});
  CHECK(nft(R"(log prefix "C:\" accept)"
            "\n",
            "drop") == Verdicts{"accept"});
}

TEST_CASE("dormant tables and tables of other families give no verdict") {
  const std::string chain = "chain in {\n type filter hook input priority 0; policy drop;\n }\n}\n";
  CHECK(nft_chains("table inet t {\n flags dormant;\n" + chain).empty());
  CHECK(nft_chains("table ip6 t {\n" + chain).empty());
  CHECK(nft_chains("table inet t {\n" + chain).size() == 1);
}

TEST_CASE("iptables-save: the same rules give the same verdicts") {
  CHECK(iptables(
            ":INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:ufw-user-input - [0:0]\n:ufw-not-local - [0:0]\n"
            "-A INPUT -i lo -j ACCEPT\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
            "-A INPUT -p icmp -m icmp --icmp-type 8 -j ACCEPT\n-A INPUT -j ufw-not-local\n"
            "-A INPUT -m limit --limit 3/min -j LOG --log-prefix \"[UFW BLOCK] \"\n-A INPUT -j ufw-user-input\n"
            "-A FORWARD -i enp1s0f1np1 -j DROP\n"
            "-A ufw-not-local -m addrtype --dst-type LOCAL -j RETURN\n-A ufw-not-local -j DROP\n"
            "-A ufw-user-input -i enp1s0f1np1 -s 192.168.100.0/24 -m comment --comment \"the -j DROP fabric\" -j "
            "ACCEPT\n-A ufw-user-input -i enP2+ -j ACCEPT\n-A ufw-user-input -p tcp -m tcp --dport 22 -j ACCEPT\n") ==
        Verdicts{"accept lo", "accept enp1s0f1np1 from 192.168.100.0/24", "accept enP2*", "drop"});
  CHECK(
      iptables(":INPUT ACCEPT [0:0]\n-A INPUT -m set --match-set bad src -j DROP\n-A INPUT ! -i lo -d 127.0.0.0/8 -j "
               "DROP\n-A INPUT -p tcp -m multiport --dports 1000:65535,22 -j ACCEPT\n-A INPUT -j REJECT --reject-with "
               "icmp-port-unreachable\n") == Verdicts{"unclear", "unclear", "unclear", "drop"});
  CHECK(iptables(":INPUT ACCEPT [0:0]\n-A INPUT ! -s 10.0.0.0/8 -j DROP\n-A INPUT -p udp -j DROP\n") ==
        Verdicts{"unclear"});
}

namespace {

/// The chains of Docker 28, and a rule of the user.
constexpr const char* kDockerRules = R"(*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:DOCKER - [0:0]
:DOCKER-FORWARD - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-FORWARD
-A DOCKER ! -i docker0 -o docker0 -j DROP
-A DOCKER-FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A DOCKER-FORWARD -o docker0 -j DOCKER
-A DOCKER-FORWARD -i docker0 -j ACCEPT
-A DOCKER-FORWARD -m addrtype --dst-type LOCAL -j DROP
-A DOCKER-USER -i enp1s0f0np0 -o enp1s0f1np1 -j ACCEPT
COMMIT
)";

}  // namespace

TEST_CASE("firewall: Docker's chains for forwarded packets keep the interfaces of each rule") {
  const auto chains = iptables_chains(kDockerRules, Hook::kForward);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "filter FORWARD");
  const auto& verdicts = chains[0].verdicts;
  REQUIRE(verdicts.size() == 4);
  CHECK(verdicts[0].interface == "enp1s0f0np0");
  CHECK(verdicts[0].to == "enp1s0f1np1");
  CHECK(verdicts[0].verdict == "accept");
  CHECK(verdicts[1].to == "docker0");
  CHECK(verdicts[1].verdict == "unclear");
  CHECK(verdicts[2].interface == "docker0");
  CHECK(verdicts[2].verdict == "accept");
  CHECK(verdicts[3].rule == "policy drop");
  // Packets for the node itself pass other chains.
  const auto input = iptables_chains(kDockerRules, Hook::kInput);
  REQUIRE(input.size() == 1);
  CHECK(input[0].verdicts.empty());
}

TEST_CASE("firewall: an excluded outgoing interface makes a rule unclear for all of them") {
  const auto chains = nft_chains(
      "table ip filter {\n chain FORWARD {\n  type filter hook forward priority filter; policy accept;\n"
      "  iifname \"a0\" oifname != \"b0\" drop\n  oifname \"c*\" drop\n }\n}\n",
      Hook::kForward);
  REQUIRE(chains.size() == 1);
  REQUIRE(chains[0].verdicts.size() == 2);
  CHECK(chains[0].verdicts[0].verdict == "unclear");
  CHECK(chains[0].verdicts[0].to.empty());
  CHECK(chains[0].verdicts[1].verdict == "drop");
  CHECK(chains[0].verdicts[1].to == "c*");
}

}  // namespace sparkplan
