// What a packet filter does with what comes in: the listings of nft and iptables-save, as machines print them.
#include <algorithm>
#include <chrono>

#include "engine/agent/facts/input_rules.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/input_verdicts.h"

namespace sparkplan {
namespace {

using test::Verdicts;
using test::verdicts_of;

/// Of one chain at input with those rules and that policy, and of others beside it.
Verdicts nft(const std::string& rules, const std::string& policy = "accept", const std::string& others = "") {
  const auto chains = nft_input_chains("table inet t {\n" + others +
                                       "\tchain in {\n\t\ttype filter hook input priority filter; policy " + policy +
                                       ";\n" + rules + "\t}\n}\n");
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "inet t in");
  return verdicts_of(chains[0]);
}

std::string chain(const std::string& name, const std::string& rules) {
  return "\tchain " + name + " {\n" + rules + "\t}\n";
}

Verdicts iptables(const std::string& rules) {
  const auto chains = iptables_input_chains("*filter\n" + rules + "COMMIT\n");
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

TEST_CASE("ufw: what its user lets in is let in, all else is dropped; what is forwarded does not count") {
  const auto chains = nft_input_chains(kUfwRules);
  REQUIRE(chains.size() == 1);
  CHECK(chains[0].name == "ip filter INPUT");
  CHECK(verdicts_of(chains[0]) ==
        Verdicts{"accept lo", "accept enp1s0f1np1 from 192.168.100.0/24", "drop docker0", "drop"});
  CHECK(chains[0].verdicts[1].rule ==
        R"(iifname "enp1s0f1np1" ip saddr 192.168.100.0/24 counter packets 0 bytes 0 accept)");
  CHECK(chains[0].verdicts[3].rule == "policy drop");
}

TEST_CASE("firewalld: the zone of an interface decides; a last rule that rejects closes") {
  const auto chains = nft_input_chains(kFirewalldRules);
  REQUIRE(chains.size() == 1);
  CHECK(verdicts_of(chains[0]) == Verdicts{"accept lo", "accept enp1s0f1np1", "drop wlP9s9", "drop"});
}

TEST_CASE("a chain is closed by its policy, and by a last rule for all that drops or rejects") {
  CHECK(nft("", "drop") == Verdicts{"drop"});
  CHECK(nft("counter packets 1 bytes 2 drop\n") == Verdicts{"drop"});
  CHECK(nft("log prefix \"no \" group 2 reject with icmpx port-unreachable\n") == Verdicts{"drop"});
  CHECK(nft("").empty());
  CHECK(nft("accept\ndrop\n", "drop") == Verdicts{"accept"});
  CHECK(nft("iifname \"lo\" accept comment \"drop\"\n") == Verdicts{"accept lo"});
}

TEST_CASE("sets of interfaces and networks are what is in them, with names and without") {
  CHECK(nft("iifname { \"enp1s0f1np1\", \"enP2p1s0f1np1\" } ip saddr 192.168.100.0/23 accept\n") ==
        Verdicts{"accept enp1s0f1np1 from 192.168.100.0/23", "accept enP2p1s0f1np1 from 192.168.100.0/23"});
  const std::string sets =
      "\tset peers {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\telements = { 192.168.100.11, 192.168.100.12,\n"
      "\t\t\t     192.168.101.0/24 }\n\t}\n\tset nobody {\n\t\ttype ipv4_addr\n\t}\n";
  CHECK(nft("ip saddr @peers accept\nip saddr @nobody drop\n", "drop", sets) ==
        Verdicts{"accept from 192.168.100.11", "accept from 192.168.100.12", "accept from 192.168.101.0/24", "drop"});
}

TEST_CASE("maps from values to verdicts are followed") {
  CHECK(nft("iifname vmap { \"lo\" : accept, \"enp*\" : jump fabric, \"eth9\" : drop }\n", "drop",
            chain("fabric", "ip saddr 192.168.100.0/24 accept\n")) ==
        Verdicts{"accept lo", "accept enp* from 192.168.100.0/24", "drop eth9", "drop"});
  CHECK(
      nft("ct state vmap { established : accept, invalid : drop }\nmeta protocol vmap { ip : jump four, ip6 : drop }\n",
          "drop", chain("four", "ip saddr 10.0.0.0/8 accept\n")) == Verdicts{"accept from 10.0.0.0/8", "drop"});
}

TEST_CASE(
    "rules for ports, states and protocols that a fabric does not use decide nothing; those for what it uses do") {
  for (const char* const rule : {"tcp dport 22 drop", "udp dport 53 drop", "ct state invalid drop",
                                 "meta l4proto icmp drop", "ip6 saddr ::1 drop", "tcp dport { 22, 80-443 } accept",
                                 "ip protocol udp accept", "ct state established,related accept"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n").empty());
  }
  for (const char* const rule :
       {"ct state new accept", "meta l4proto { tcp, udp } accept", "tcp dport 1024-65535 accept",
        "ct state { established, related, new } accept", "meta nfproto ipv4 accept"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n", "drop") == Verdicts{"accept"});
  }
}

TEST_CASE("what a rule asks for and nobody here understands leaves open what it decides") {
  for (const char* const rule :
       {"xt match \"set\" accept", "ip saddr 10.0.0.1-10.0.0.9 accept", "iifname != \"eth0\" drop", "mark 0x1 accept",
        "tcp dport 40000-50000 accept", "queue to 0", "iifname . ip saddr { \"a\" . 10.0.0.1 } accept",
        "ip saddr @elsewhere drop", "limit rate 9/second jump more", "limit rate 9/second return"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n", "drop", chain("more", "accept\n")) == Verdicts{"unclear", "drop"});
  }
  CHECK(nft("limit rate over 25/second drop\n").empty());  // Those below are let in.
  CHECK(nft("iifname != \"lo\" ip daddr 127.0.0.0/8 drop\n") == Verdicts{"drop to 127.0.0.0/8"});
  CHECK(nft("meta mark set 0x1 accept\n", "drop") == Verdicts{"accept"});
}

TEST_CASE("a rule for SYN alone is one for every connection that begins, and one for all but that for none of them") {
  for (const char* const flags : {"syn", "== syn", "& (fin | syn | rst | ack) == syn", "& (fin|syn|rst|ack) == syn",
                                  "& syn == syn", "syn / fin,syn,rst,ack"}) {
    INFO(flags);
    CHECK(nft("tcp flags " + std::string(flags) + " counter packets 1 bytes 40 drop\n") == Verdicts{"drop"});
  }
  for (const char* const flags : {"!= syn", "! syn", "& (fin | syn | rst | ack) != syn", "!= syn / fin,syn,rst,ack",
                                  "& (fin | syn) == fin | syn", "& (syn | ack) == syn | ack", "fin,syn / fin,syn"}) {
    INFO(flags);
    CHECK(nft("tcp flags " + std::string(flags) + " drop\n").empty());
  }
  CHECK(nft("tcp flags & (fin | syn | rst | psh | ack | urg) != 0x0 drop\n") == Verdicts{"unclear"});
  const std::string input = ":INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp ";
  CHECK(iptables(input + "--tcp-flags FIN,SYN,RST,ACK SYN -j DROP\n") == Verdicts{"drop"});
  CHECK(iptables(input + "! --tcp-flags FIN,SYN,RST,ACK SYN -m conntrack --ctstate NEW -j DROP\n").empty());
  CHECK(iptables(input + "--tcp-flags FIN,SYN FIN,SYN -j DROP\n").empty());
  CHECK(iptables(input + "! --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j DROP\n") == Verdicts{"unclear"});
}

TEST_CASE("what drops all but some leaves open whom it drops") {
  for (const char* const rule : {"meta mark != 0x1 drop", "mark != 0x1 drop", "ct mark != 0x1 drop",
                                 "ether saddr != 4c:bb:47:00:01:05 drop", "tcp sport != 1024-65535 drop"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n") == Verdicts{"unclear"});
  }
  for (const char* const rule : {"meta mark 0x1 drop", "ether saddr 4c:bb:47:00:01:05 drop", "tcp sport 53 drop",
                                 "mark 0x1 drop comment \"a != b\""}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n").empty());
  }
  const std::string input = ":INPUT ACCEPT [0:0]\n-A INPUT ";
  for (const char* const rule :
       {"-m mark ! --mark 0x1", "-m mac ! --mac-source 4c:bb:47:00:01:05", "-p tcp -m tcp ! --sport 1024:65535",
        "-m recent ! --rcheck --seconds 60 --name knocked --mask 255.255.255.255 --rsource", "! -f"}) {
    INFO(rule);
    CHECK(iptables(input + rule + " -j DROP\n") == Verdicts{"unclear"});
    CHECK(iptables(input + "-p udp " + rule + " -j DROP\n").empty());
  }
  for (const char* const rule :
       {"-m mark --mark 0x1", "-p tcp -m tcp --sport 53", "-f", "-m recent --rcheck -m comment --comment \"!\""}) {
    INFO(rule);
    CHECK(iptables(input + rule + " -j DROP\n").empty());
  }
}

TEST_CASE("a rule for all ports but one, or for a range of those that the kernel gives, is none for a known service") {
  for (const char* const rule :
       {"tcp dport != 50051 drop", "tcp dport != { 50051, 50052 } drop", "tcp dport 40000-60999 drop",
        "tcp dport { 22, 50000-50010 } drop", "tcp dport vmap { 22 : accept, 40000-60999 : drop }"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n") == Verdicts{"unclear"});
  }
  for (const char* const rule : {"tcp dport 50051 drop", "tcp dport { 50051, 50052 } drop", "tcp dport != 1-65535 drop",
                                 "tcp dport 30000-32767 drop"}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n").empty());
  }
  CHECK(nft("tcp dport != 22 drop\n") == Verdicts{"drop"});
  const std::string input = ":INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp ";
  CHECK(iptables(input + "! --dport 50051 -j DROP\n") == Verdicts{"unclear"});
  CHECK(iptables(input + "--dport 40000:60999 -j DROP\n") == Verdicts{"unclear"});
  CHECK(iptables(input + "--dport 50051 -j DROP\n").empty());
}

TEST_CASE("a chain that some are sent out of is left open for them only") {
  CHECK(nft("jump more\n", "accept", chain("more", "ip saddr 10.0.0.1 return\ndrop\n")) ==
        Verdicts{"unclear from 10.0.0.1", "drop"});
  CHECK(nft("jump more\naccept\n", "drop", chain("more", "fib daddr type local return\ndrop\n")) == Verdicts{"accept"});
}

TEST_CASE("chains that jump in a circle, and very long ones, are left open") {
  const auto circle = nft("jump a\n", "accept", chain("a", "jump b\n") + chain("b", "jump a\n"));
  CHECK(circle == Verdicts{"unclear"});
  std::string many;
  for (int i = 0; i < 2000; ++i)
    many += "ip saddr 10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250) + " drop\n";
  const auto verdicts = nft(many);
  CHECK(verdicts.size() == 1001);
  CHECK(verdicts.back() == "unclear");
}

TEST_CASE("a set of many lines is read once, line by line, and so are rules that two of them meet") {
  std::string elements;
  constexpr int kLines = 50'000;
  for (int i = 0; i < kLines; ++i) {
    const std::string net = "10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".";
    elements += (i == 0 ? "" : ",\n\t\t\t     ") + net + "1, " + net + "2";
  }
  const std::string set = "\tset blocked {\n\t\ttype ipv4_addr\n\t\telements = { " + elements + " }\n\t}\n";
  const auto begun = std::chrono::steady_clock::now();
  const auto drops = nft("ip saddr @blocked drop\n", "accept", set);
  const auto twice = nft("ip saddr @blocked jump more\n", "accept", set + chain("more", "ip saddr @blocked drop\n"));
  // With each line read anew as often as lines follow it takes minutes.
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
  CHECK(drops.front() == "drop from 10.0.0.1");
  CHECK(drops.back() == "unclear");  // Too many to tell.
  CHECK(twice == Verdicts{"unclear"});
}

TEST_CASE("of a long rule the beginning is told, in whole characters") {
  CHECK(shown_rule(std::string(160, 'x')) == std::string(160, 'x'));
  CHECK(shown_rule(std::string(161, 'x')) == std::string(160, 'x') + " ...");
  CHECK(shown_rule(std::string(159, 'x') + "ü drop") == std::string(159, 'x') + " ...");
  std::string inside;
  for (int i = 0; i < 900; ++i)
    inside += (i == 0 ? "" : ", ") + ("10.0." + std::to_string(i / 250)) + "." + std::to_string(i % 250);
  const auto chains = nft_input_chains(
      "table ip t {\n\tchain in {\n\t\ttype filter hook input priority 0; policy accept;\n"
      "\t\tip saddr { " +
      inside + " } drop\n\t}\n}\n");
  REQUIRE(chains.size() == 1);
  REQUIRE(chains[0].verdicts.size() == 900);
  for (const InputVerdictFacts& one : chains[0].verdicts) REQUIRE(one.rule.size() == 164);
  const auto saved = iptables_input_chains("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m comment --comment \"" +
                                           std::string(250, 'c') + "\" -j DROP\n");
  CHECK(saved.at(0).verdicts.at(0).rule.size() == 164);
}

TEST_CASE("iptables-save: quotes within a comment do not end it; in nft's listing they do") {
  const std::string input = ":INPUT DROP [0:0]\n-A INPUT -m comment --comment ";
  CHECK(iptables(input + R"("the \"fast\" net" -j ACCEPT)"
                         "\n") == Verdicts{"accept"});
  CHECK(iptables(input + R"("x \"-j DROP\" y" -j ACCEPT)"
                         "\n") == Verdicts{"accept"});
  CHECK(iptables(input + R"("a \\" -j ACCEPT)"
                         "\n") == Verdicts{"accept"});
  CHECK(iptables(input + R"("never ends \)"
                         "\n") == Verdicts{"drop"});
  CHECK(nft(R"(log prefix "C:\" accept)"
            "\n",
            "drop") == Verdicts{"accept"});
}

TEST_CASE("what iptables has put into a rule and nft has no words for decides, unless its name says that it does not") {
  CHECK(nft("ip saddr 10.0.0.0/8 counter packets 0 bytes 0 xt target \"REJECT\"\n") ==
        Verdicts{"drop from 10.0.0.0/8"});
  CHECK(nft("xt target \"NFQUEUE\"\n") == Verdicts{"unclear"});
  CHECK(nft("counter packets 0 bytes 0 xt target \"TARPIT\"\n") == Verdicts{"unclear"});
  CHECK(nft("xt match \"set\" counter packets 0 bytes 0 xt target \"REJECT\"\n") == Verdicts{"unclear"});
  CHECK(nft("limit rate 9/second xt target \"TARPIT\"\n") == Verdicts{"unclear"});
  for (const char* const rule : {"xt target \"LOG\"", "xt match \"set\" xt target \"TCPMSS\"", "xt match \"recent\"",
                                 "tcp dport 22 xt target \"REJECT\"", "udp dport 53 xt target \"TARPIT\""}) {
    INFO(rule);
    CHECK(nft(std::string(rule) + "\n").empty());
  }
  // As nft 1.0.2 lists them.
  CHECK(nft("# match-set bad src counter packets 0 bytes 0 drop\n") == Verdicts{"unclear"});
  CHECK(nft("counter packets 0 bytes 0 # TARPIT\n") == Verdicts{"unclear"});
  CHECK(nft("tcp dport 22 # recent: SET name: ssh side: source\n").empty());
}

TEST_CASE("a table that is asleep, and those of other families, decide nothing") {
  const std::string chain = "chain in {\n type filter hook input priority 0; policy drop;\n }\n}\n";
  CHECK(nft_input_chains("table inet t {\n flags dormant;\n" + chain).empty());
  CHECK(nft_input_chains("table ip6 t {\n" + chain).empty());
  CHECK(nft_input_chains("table inet t {\n" + chain).size() == 1);
}

TEST_CASE("iptables-save: the same rules") {
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
               "icmp-port-unreachable\n") == Verdicts{"unclear", "drop to 127.0.0.0/8", "accept"});
  CHECK(iptables(":INPUT ACCEPT [0:0]\n-A INPUT ! -s 10.0.0.0/8 -j DROP\n-A INPUT -p udp -j DROP\n") ==
        Verdicts{"unclear"});
}

}  // namespace sparkplan
