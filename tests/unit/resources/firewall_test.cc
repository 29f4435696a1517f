#include "engine/resource/registry.h"

#include "resources/firewall/ufw.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/fake_ufw.h"

namespace sparkplan::firewall {
namespace {

using test::FakeNode;

// As ufw 0.36.2 writes it.
constexpr const char* kRules = R"(*filter
:ufw-user-input - [0:0]
### RULES ###

### tuple ### reject any any 10.0.0.0/8 any 0.0.0.0/0 out_eth0
-A ufw-user-output -o eth0 -d 10.0.0.0/8 -j REJECT

### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in
-A ufw-user-input -p tcp --dport 22 -j ACCEPT

### tuple ### allow any any 0.0.0.0/0 any 192.168.100.0/24 in_enp1s0f1np1 comment=737061726b706c616e3a6c6162
-A ufw-user-input -i enp1s0f1np1 -s 192.168.100.0/24 -j ACCEPT

### tuple ### allow_log tcp 80 0.0.0.0/0 any 1.2.3.0/24 in comment=612062
### tuple ### route:allow any any 0.0.0.0/0 any 0.0.0.0/0 in_a!out_b
### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 OpenSSH - in
### tuple ### deny any any 0.0.0.0/0 any 0.0.0.0/0 in_enp1s0f1np1
### END RULES ###
COMMIT
)";

const InboundRule kOurs{"allow", "enp1s0f1np1", "192.168.100.0/24", "sparkplan:lab", true};

InboundRule rule(const std::string& action, const std::string& interface, const std::string& source,
                 bool everything = true) {
  return {action, interface, source, "", everything};
}

}  // namespace

TEST_CASE("firewall: ufw's inbound rules are parsed with their comments") {
  const auto rules = parse_rules(kRules);
  REQUIRE(rules.size() == 5);
  CHECK(rules[0] == rule("allow", "", "0.0.0.0/0", false));
  CHECK(rules[1] == kOurs);
  CHECK(rules[2] == InboundRule{"allow", "", "1.2.3.0/24", "a b", false});
  CHECK_FALSE(rules[3].everything);
  CHECK(rules[4] == rule("deny", "enp1s0f1np1", "0.0.0.0/0"));
}

TEST_CASE("firewall: only rules that sparkplan makes, of its one resource, become steps") {
  const auto with_rules = [](const std::string& name, Value rules) {
    Resource resource;
    resource.id = {"firewall", name};
    resource.desired = Value::map({{"rules", std::move(rules)}});
    return resource;
  };
  const std::vector<Resource> target{with_rules("allow_fabric", Value::list({"", "anything"})),
                                     with_rules("invented", Value::list({""}))};
  Change change;
  change.id = {"firewall", "allow_fabric"};
  const ObservedType observed;
  const StepsInput input{{target.begin(), target.end()}, observed, {change}, {}};
  CHECK(builtin_registry().find("firewall")->steps(input).empty());
}

TEST_CASE("firewall: ufw is active only if its settings enable it") {
  CHECK(is_enabled("# x\nENABLED=yes\nLOGLEVEL=low\n"));
  CHECK(is_enabled("ENABLED=\"yes\"\n"));
  CHECK_FALSE(is_enabled("ENABLED=no\n"));
  CHECK_FALSE(is_enabled("#ENABLED=yes\n"));
  CHECK_FALSE(is_enabled(""));
  CHECK_FALSE(read_ufw(FakeNode())->active);
}

TEST_CASE("firewall: a rule is printed as a ufw command, and parsed back unchanged") {
  CHECK(text_of(kOurs) == "allow in on enp1s0f1np1 from 192.168.100.0/24 comment sparkplan:lab");
  CHECK(rule_of(text_of(kOurs)) == kOurs);
  CHECK_FALSE(rule_of("allow 22/tcp"));
}

TEST_CASE("firewall: an earlier rule that blocks the fabric is found, and a later one is ignored") {
  const auto blocked_by = [](const std::vector<InboundRule>& rules) { return obstacle_to(kOurs, rules) != nullptr; };
  CHECK(blocked_by({rule("deny", "", "0.0.0.0/0"), kOurs}));
  CHECK(blocked_by({rule("reject", "enp1s0f1np1", "192.168.100.12"), kOurs}));
  CHECK(blocked_by({rule("deny", "", "192.168.0.0/16", false), kOurs}));
  CHECK(blocked_by({rule("limit", "", "0.0.0.0/0", false), kOurs}));
  CHECK_FALSE(blocked_by({kOurs, rule("deny", "", "0.0.0.0/0")}));
  CHECK_FALSE(blocked_by({rule("deny", "eth0", "0.0.0.0/0"), kOurs}));
  CHECK_FALSE(blocked_by({rule("deny", "", "192.168.101.0/24"), kOurs}));
  CHECK_FALSE(blocked_by({rule("allow", "", "0.0.0.0/0"), rule("deny", "", "0.0.0.0/0"), kOurs}));
}

TEST_CASE("firewall: a foreign rule for the same packets is never replaced") {
  FakeNode node;
  test::install_fake_ufw(node);
  node.add_file(std::string(kUfwSettings), "ENABLED=yes\n");
  node.add_file(std::string(kUfwRules),
                "### tuple ### deny any any 0.0.0.0/0 any 192.168.100.0/24 in_enp1s0f1np1\n"
                "-A ufw-user-input -i enp1s0f1np1 -s 192.168.100.0/24 -j DROP\n### END RULES ###\n");
  const auto before = node.snapshot();
  const ResourceType* type = builtin_registry().find("firewall");
  const ArtifactId artifact{"ufw_rule", text_of(kOurs)};
  const Observation there = Present{Value::map({{"there", true}}), {}};
  Step step;
  step.type = "firewall";
  step.artifact = artifact;
  step.before = Absent{};
  step.after = there;
  const std::vector<Step> steps{step};
  const auto objections = type->prepare(steps, {}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.code == ErrorCode::kRefused);
  const auto applied = type->apply(artifact, there, node);
  REQUIRE_FALSE(applied);
  CHECK(applied.error().message ==
        "ufw has a foreign rule for the same traffic: deny in on enp1s0f1np1 from 192.168.100.0/24");
  CHECK(node.snapshot() == before);
}

TEST_CASE("firewall: with an inactive ufw, another chain that drops is reported with the required rule") {
  FakeNode node;
  node.add_file(std::string(kUfwSettings), "ENABLED=no\n");
  node.script("nft list chains",
              {0,
               "table ip nat {\n\tchain post {\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n\t}\n}\n"
               "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n"
               "\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n",
               ""});
  const ResourceType* type = builtin_registry().find("firewall");
  const Value wanted = Value::map({{"rules", Value::list({Value(text_of(kOurs))})}});
  const auto found = type->check_effect({{"allow_fabric", wanted}}, node);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "firewall.others");
  CHECK(found[0].message.find("inet filter input") != std::string::npos);
  CHECK(found[0].hint == "accept there: 192.168.100.0/24 on enp1s0f1np1");
}

TEST_CASE("firewall: a rule in ufw's file that the kernel lacks is reported") {
  FakeNode node;
  node.add_file(std::string(kUfwSettings), "ENABLED=yes\n");
  const ResourceType* type = builtin_registry().find("firewall");
  const Value wanted = Value::map({{"rules", Value::list({Value(text_of(kOurs))})}});
  node.script("iptables --wait 5 -S ufw-user-input", {0, "-N ufw-user-input\n", ""});
  const auto found = type->check_effect({{"allow_fabric", wanted}}, node);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "firewall.not-loaded");
  node.script("iptables --wait 5 -S ufw-user-input",
              {0, "-N ufw-user-input\n-A ufw-user-input -s 192.168.100.0/24 -i enp1s0f1np1 -j ACCEPT\n", ""});
  CHECK(type->check_effect({{"allow_fabric", wanted}}, node).empty());
}

}  // namespace sparkplan::firewall
