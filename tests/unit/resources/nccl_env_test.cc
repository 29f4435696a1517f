#include "resources/nccl_env/nccl_env.h"

#include "engine/domain/nccl/framework_environment.h"
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/shell.h"

namespace sparkplan::nccl_env {
namespace {

const ResourceType& type() { return *builtin_registry().find("nccl_env"); }

std::vector<std::string> codes(const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type().validate(section)) found.push_back(one.code);
  return found;
}
using Codes = std::vector<std::string>;

/// NCCL's environment after it reads the file; follows NCCL's own reader.
std::map<std::string, std::string> as_nccl_reads(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (const ConfLine& line : parse_conf(text)) variables.emplace(line.name, line.value);
  return variables;
}

/// Two Sparks on one cable, and the first node's settings.
struct TwoSparks {
  explicit TwoSparks(const std::string& nccl = "nccl: {mode: safe}", const std::string& of_node = "") {
    const std::string yaml = "version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct, port: 1}\n" +
                             nccl + "\nnodes:\n  - {name: spark-01, address: 10.0.0.11" + of_node +
                             "}\n  - {name: spark-02, address: 10.0.0.12}\n";
    LoadedCluster loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
    for (const Diagnostic& one : loaded.diagnostics) {
      if (one.severity == Severity::kError) FAIL(one.message);
    }
    cluster = *std::move(loaded.cluster);
    section = cluster.nodes[0].sections["nccl"];
    facts.product = "NVIDIA DGX Spark";
    facts.links = {interface("enP2p1s0f1np1", "0002:01:00.1", "roceP2p1s0f1"),
                   interface("enp1s0f1np1", "0000:01:00.1", "rocep1s0f1")};
    facts.rdma_devices = {{"roceP2p1s0f1", "", 1}, {"rocep1s0f1", "", 1}};
  }

  static LinkFacts interface(const char* name, const char* pci, const char* rdma_device) {
    LinkFacts link;
    link.name = name;
    link.port = "p1";
    link.pci = pci;
    link.rdma_devices = {rdma_device};
    return link;
  }

  WantedSettings wanted() const { return wanted_settings({cluster, cluster.nodes[0], exports}, section, facts); }
  /// NCCL's variables -> value in both files; "(one file)" if only one file has it. The frameworks have their own test.
  std::map<std::string, std::string> variables() const {
    std::map<std::string, std::string> found;
    for (const auto& [name, variable] : wanted().variables) {
      if (find_framework_variable(name) != nullptr) continue;
      const Setting& setting = variable.setting;
      found[name] = setting.profile == setting.conf ? setting.profile.value_or("(none)") : "(one file)";
    }
    return found;
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> found;
    for (const Diagnostic& one : wanted().diagnostics) {
      CHECK(one.severity == Severity::kWarning);
      CHECK(one.node == "spark-01");
      found.push_back(one.code);
    }
    return found;
  }

  Cluster cluster;
  Value section;
  Facts facts;
  std::map<std::string, NodeExports> exports;
};
using Variables = std::map<std::string, std::string>;

const std::vector<std::string> kAwkward{"",  "0",    " ",   "it's", "$HOME",       "`id`",        "\\",    "\"x\"",
                                        "*", "#not", "a;b", "=x=y", "=rocep1s0f1", "^docker0,lo", "a  b ", "grüße"};

}  // namespace

TEST_CASE("nccl_env: mode safe names exactly the fabric's devices and the interface with an address") {
  const TwoSparks sparks;
  CHECK(sparks.variables() ==
        Variables{{"NCCL_IB_HCA", "=rocep1s0f1,roceP2p1s0f1"}, {"NCCL_SOCKET_IFNAME", "=enp1s0f1np1"}});
  CHECK(sparks.warnings().empty());
}

TEST_CASE("nccl_env: the default mode is safe") {
  CHECK(TwoSparks("nccl: {env: null}").variables() == TwoSparks().variables());
}

TEST_CASE("nccl_env: mode socket disables RDMA, and mode auto leaves the choice to NCCL") {
  CHECK(TwoSparks("nccl: {mode: socket}").variables() ==
        Variables{{"NCCL_IB_DISABLE", "1"}, {"NCCL_NET", "Socket"}, {"NCCL_SOCKET_IFNAME", "=enp1s0f1np1"}});
  CHECK(TwoSparks("nccl: {mode: auto}").variables().empty());
  CHECK(TwoSparks("nccl: {mode: auto}").warnings().empty());
}

TEST_CASE("nccl_env: mode dmabuf reports that it has no effect on a GB10, and only there") {
  TwoSparks sparks("nccl: {mode: dmabuf}");
  CHECK(sparks.variables()["NCCL_DMABUF_ENABLE"] == "1");
  CHECK(sparks.warnings() == Codes{"nccl.dmabuf-no-effect"});
  sparks.facts.product = "Some server";
  CHECK(sparks.warnings().empty());
}

TEST_CASE("nccl_env: a variable in the file overrides the computed one") {
  const auto variables =
      TwoSparks("nccl: {env: {NCCL_IB_HCA: \"=mlx5_0\", NCCL_DEBUG: WARN, NCCL_CROSS_NIC: 0}}").variables();
  CHECK(variables.at("NCCL_IB_HCA") == "=mlx5_0");
  CHECK(variables.at("NCCL_DEBUG") == "WARN");
  CHECK(variables.at("NCCL_CROSS_NIC") == "0");
  CHECK(variables.at("NCCL_SOCKET_IFNAME") == "=enp1s0f1np1");
}

TEST_CASE("nccl_env: null removes a computed variable") {
  TwoSparks sparks;
  sparks.section = Value::map({{"env", Value::map({{"NCCL_SOCKET_IFNAME", Value()}})}});
  CHECK(sparks.variables() == Variables{{"NCCL_IB_HCA", "=rocep1s0f1,roceP2p1s0f1"}});
}

TEST_CASE("nccl_env: the library's folder is first in the search path of logins") {
  const auto wanted = TwoSparks("nccl: {library: /opt/nccl/build/lib/libnccl.so.2}").wanted();
  CHECK(wanted.variables.at("LD_LIBRARY_PATH").setting == Setting{{}, "/opt/nccl/build/lib", {}});
}

TEST_CASE("nccl_env: variables of other programs, and the name of NCCL's file, are for logins only") {
  const auto wanted = TwoSparks("nccl: {env: {UCX_TLS: rc, NCCL_CONF_FILE: /x}}").wanted();
  CHECK(wanted.variables.at("UCX_TLS").setting == Setting{"rc", {}, {}});
  CHECK(wanted.variables.at("NCCL_CONF_FILE").setting == Setting{"/x", {}, {}});
}

TEST_CASE("nccl_env: declared devices are used unchanged, and missing ones are reported") {
  TwoSparks sparks("nccl: {mode: safe}", ", fabric: {hcas: [roceP2p1s0f1, mlx5_9]}");
  CHECK(sparks.variables()["NCCL_IB_HCA"] == "=roceP2p1s0f1,mlx5_9");
  CHECK(sparks.warnings() == Codes{"nccl.hca-not-found"});
  sparks.facts.live = false;
  CHECK(sparks.warnings().empty());
}

TEST_CASE("nccl_env: without RDMA devices NCCL_IB_HCA is not set, and a warning is reported") {
  TwoSparks sparks;
  for (LinkFacts& link : sparks.facts.links) link.rdma_devices.clear();
  CHECK(sparks.variables() == Variables{{"NCCL_SOCKET_IFNAME", "=enp1s0f1np1"}});
  CHECK(sparks.warnings() == Codes{"nccl.no-rdma-device"});
  sparks.section = Value::map({{"mode", "socket"}});
  CHECK(sparks.warnings().empty());
}

TEST_CASE("nccl_env: a half without its device is reported") {
  TwoSparks sparks;
  sparks.facts.links[0].rdma_devices.clear();
  CHECK(sparks.variables()["NCCL_IB_HCA"] == "=rocep1s0f1");
  CHECK(sparks.warnings() == Codes{"nccl.no-rdma-device"});
}

TEST_CASE("nccl_env: a finding of a node names the node in its field only, because the report puts it in front") {
  TwoSparks sparks("nccl: {mode: safe}", ", fabric: {hcas: [mlx5_9]}");
  const auto found = sparks.wanted().diagnostics;
  REQUIRE(found.size() == 1);
  CHECK(found[0].node == "spark-01");
  CHECK(found[0].message == "the node has no RDMA device mlx5_9");
}

TEST_CASE("nccl_env: an interface with only a link-local address is not used") {
  CHECK(TwoSparks("nccl: {mode: socket}", ", fabric: {interfaces: [{name: enp1s0f1np1, link_local: ipv4}]}")
            .variables()
            .count("NCCL_SOCKET_IFNAME") == 0);
}

TEST_CASE("nccl_env: a mode without effect on a node without a fabric is reported") {
  TwoSparks sparks;
  sparks.cluster.nodes[0].fabric.clear();
  sparks.cluster.nodes[0].sections.erase("fabric");
  CHECK(sparks.variables().empty());
  CHECK(sparks.warnings() == Codes{"nccl.no-fabric"});
  sparks.section = Value::map({{"env", Value::map({{"NCCL_DEBUG", "WARN"}})}});
  CHECK(sparks.variables() == Variables{{"NCCL_DEBUG", "WARN"}});
  CHECK(sparks.warnings().empty());
}

TEST_CASE("nccl_env: both files are parsed back unchanged") {
  for (const std::string& value : kAwkward) {
    INFO(value);
    const std::map<std::string, Setting> settings{
        {"A", {value, {}, {}}}, {"LD_LIBRARY_PATH", {{}, "/opt/it's " + value, {}}}, {"NCCL_X", {value, {}, value}}};
    const auto profile = render_profile(settings);
    REQUIRE(profile);
    auto found = parse_profile(*profile);
    CHECK(found["A"] == settings.at("A"));
    CHECK(found["LD_LIBRARY_PATH"] == settings.at("LD_LIBRARY_PATH"));
    CHECK(found["NCCL_X"].profile == value);
    const auto conf = render_conf(settings);
    REQUIRE(conf);
    CHECK(as_nccl_reads(*conf) == Variables{{"NCCL_X", value}});
  }
  CHECK_FALSE(render_profile({}));
  CHECK_FALSE(render_conf({{"A", {"1", {}, {}}}}));
}

TEST_CASE("nccl_env: a real shell reads every unusual value exactly as written") {
  for (const std::string& value : kAwkward) {
    INFO(value);
    const std::string file = *render_profile({{"NCCL_X", {value, {}, value}}, {"Z", {"after", {}, {}}}});
    CHECK(test::seen_by_shell("/bin/sh", file, "NCCL_X") == value);
    CHECK(test::seen_by_shell("/bin/bash", file, "Z") == "after");
  }
}

TEST_CASE("nccl_env: a real shell adds the library's folder first, once, and without empty parts") {
  const std::string path = "LD_LIBRARY_PATH";
  for (const std::string folder : {"/opt/nccl/lib", "/opt/it's [a] b*", "/opt/~x"}) {
    INFO(folder);
    const std::string file = *render_profile({{path, {{}, folder, {}}}});
    for (const char* shell : {"/bin/sh", "/bin/bash"}) {
      const auto seen = [&](const std::vector<std::string>& environment, int times) {
        return test::seen_by_shell(shell, file, path, environment, times);
      };
      CHECK(seen({}, 1) == folder);
      CHECK(seen({}, 3) == folder);
      CHECK(seen({path + "="}, 1) == folder);
      CHECK(seen({path + "=/usr/lib/a:/b"}, 2) == folder + ":/usr/lib/a:/b");
      CHECK(seen({path + "=/a:" + folder}, 1) == "/a:" + folder);
      CHECK(seen({path + "=/a:" + folder + "/more"}, 1) == folder + ":/a:" + folder + "/more");
    }
  }
}

TEST_CASE("nccl_env: a line changed by hand is a foreign line") {
  std::string file = *render_profile({{"LD_LIBRARY_PATH", {{}, "/opt/nccl/lib", {}}}});
  file.insert(file.find("export"), "echo hello; ");
  CHECK(parse_profile(file).empty());
}

TEST_CASE("nccl_env: nccl.conf is parsed as by NCCL") {
  CHECK(as_nccl_reads("A=1\n#B=2\n #C=3\nnothing\nD= x \nE==y=z\nF=\"q\"\nG=\n") ==
        Variables{{"A", "1"}, {" #C", "3"}, {"D", " x "}, {"E", "=y=z"}, {"F", "\"q\""}, {"G", ""}});
  CHECK(as_nccl_reads("A=1\nA=2\n") == Variables{{"A", "1"}});
  CHECK(as_nccl_reads("A=" + std::string(2000, 'x')).at("A").size() == 1023);
}

TEST_CASE("nccl_env: only lines above the block override it") {
  const std::string block = "# BEGIN sparkplan\nA=1\n# END sparkplan\n";
  CHECK_FALSE(set_above(block + "A=2\n", "A"));
  CHECK_FALSE(set_above("B=2\n#A=2\n" + block, "A"));
  REQUIRE(set_above("\nA=2\nA=3\n" + block, "A"));
  CHECK(set_above("\nA=2\nA=3\n" + block, "A")->value == "2");
  CHECK(set_above("\nA=2\nA=3\n" + block, "A")->number == 2);
  CHECK(set_above("A=2", "A"));  // The block will be appended.
}

TEST_CASE("nccl_env: a later profile that keeps the folder in its path is no claim") {
  test::FakeNode node;
  node.add_file(std::string(kProfileFile), *render_profile({{"LD_LIBRARY_PATH", {{}, "/opt/nccl/lib", {}}}}));
  const auto claims = [&](const std::string& line) {
    node.add_file("/etc/profile.d/zz.sh", line);
    std::vector<std::string> fields;
    for (const ForeignClaim& one : type().observe({{"LD_LIBRARY_PATH"}}, node).foreign) fields.push_back(one.field);
    return fields;
  };
  CHECK(claims("export LD_LIBRARY_PATH=/cuda:/opt/nccl/lib\n") == Codes{"profile"});
  CHECK(claims("export LD_LIBRARY_PATH=/cuda\n") == Codes{"profile", "prepended"});
  CHECK(claims("export LD_LIBRARY_PATH=/cuda:$LD_LIBRARY_PATH\n").empty());
}

TEST_CASE("nccl_env: values that NCCL would truncate are refused") {
  const auto environment = [](const char* name, Value value) {
    return Value::map({{"env", Value::map({{name, std::move(value)}})}});
  };
  CHECK(codes(environment("NCCL_X", std::string(1023, 'x'))).empty());
  CHECK(codes(environment("NCCL_X", std::string(1024, 'x'))) == Codes{"nccl.value"});
  CHECK(codes(environment("UCX_X", std::string(1024, 'x'))).empty());
  for (const Value& bad : {Value("a\nb"), Value("a\rb"), Value(std::string("a\0b", 3)), Value(1.5), Value(true)}) {
    CHECK(codes(environment("NCCL_X", bad)) == Codes{"nccl.value"});
  }
  CHECK(codes(environment("NCCL_X", Value())).empty());
  CHECK(codes(environment("LD_PRELOAD", "x")) == Codes{"nccl.refused-name"});
  CHECK(codes(environment("A-B", "x")) == Codes{"nccl.name"});
  CHECK(codes(environment("LD_LIBRARY_PATH", "/x")) == Codes{"nccl.risky-name"});
}

TEST_CASE("nccl_env: a library whose path the loader cannot use is refused") {
  const auto library = [](const char* path) { return codes(Value::map({{"library", path}})); };
  for (const char* good : {"/opt/nccl/build/lib/libnccl.so.2", "/opt/it's here/libnccl.so", "/x/libnccl.so.2.28.3"}) {
    INFO(good);
    CHECK(library(good).empty());
  }
  for (const char* bad :
       {"/opt/a:b/libnccl.so.2", "/opt/a;b/libnccl.so.2", "/opt/$LIB/libnccl.so.2", "/opt/nccl/lib", "opt/libnccl.so.2",
        "/opt/../libnccl.so.2", "/opt//libnccl.so.2", "/libnccl.so.2", "/opt/a\tb/libnccl.so.2"}) {
    INFO(bad);
    CHECK(library(bad) == Codes{"nccl.library"});
  }
  CHECK(codes(Value::map({{"library", Value()}})).empty());
}

}  // namespace sparkplan::nccl_env
