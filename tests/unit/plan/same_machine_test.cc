// Two entries of the file that are one machine, or machines that are copies of each other.
#include "engine/plan/same_machine.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Identities = std::map<std::string, MachineIdentity>;

Cluster lab(int nodes) {
  Cluster cluster;
  cluster.name = "lab";
  cluster.file = "cluster.yaml";
  for (int id = 1; id <= nodes; ++id) {
    NodeSpec spec{*NodeName::parse("n" + std::to_string(id)), id, "", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
    spec.where = {3 + id, 5, 9};
    cluster.nodes.push_back(std::move(spec));
  }
  return cluster;
}

}  // namespace

TEST_CASE("machines with different identities are distinct") {
  const auto same =
      same_machines(lab(2), Identities{{"n1", {"aa", "SHA256:a", "nqn.a"}}, {"n2", {"bb", "SHA256:b", "nqn.b"}}});
  CHECK(same.findings.empty());
  CHECK(same.by_node.empty());
}

TEST_CASE("two nodes with one machine-id are an error at the later entry that names both") {
  const auto same =
      same_machines(lab(3), Identities{{"n1", {"aa", "SHA256:a", ""}}, {"n2", {"bb", "", ""}}, {"n3", {"aa", "", ""}}});
  REQUIRE(same.findings.size() == 1);
  const Diagnostic& finding = same.findings.front();
  CHECK(finding.severity == Severity::kError);
  CHECK(finding.code == "nodes.same-machine");
  CHECK(finding.message == "n1 and n3 have the same machine-id");
  CHECK(finding.where == SourceRange{6, 5, 9});
  REQUIRE(finding.notes.size() == 1);
  CHECK(finding.notes.front().where == SourceRange{4, 5, 9});
  CHECK(finding.hint.find("systemd-machine-id-setup") != std::string::npos);
  REQUIRE(same.by_node.size() == 2);
  CHECK(same.by_node.at("n1").message == "it has the same machine-id as n3");
  CHECK(same.by_node.at("n3").message == "it has the same machine-id as n1");
}

TEST_CASE("two nodes with one host key are an error with its own remedy") {
  const auto by_key = same_machines(lab(2), Identities{{"n1", {"", "SHA256:a", ""}}, {"n2", {"", "SHA256:a", ""}}});
  REQUIRE(by_key.findings.size() == 1);
  CHECK(by_key.findings.front().message == "n1 and n2 have the same SSH host key");
  CHECK(by_key.findings.front().hint.find("ssh-keygen -A") != std::string::npos);
}

TEST_CASE("an equal identity is reported once per pair") {
  const MachineIdentity copied{"aa", "SHA256:a", ""};
  const auto same = same_machines(lab(3), Identities{{"n1", copied}, {"n2", copied}, {"n3", copied}});
  REQUIRE(same.findings.size() == 2);
  CHECK(same.findings[0].message == "n1 and n2 have the same machine-id and the same SSH host key");
  CHECK(same.findings[1].message == "n1 and n3 have the same machine-id and the same SSH host key");
  CHECK(same.by_node.size() == 3);
}

TEST_CASE("a node that claims a machine-id recorded for another node is refused alone") {
  Identities claimed{{"n1", {"aa", "SHA256:a", ""}}, {"n2", {"aa", "SHA256:b", ""}}};
  claimed["n1"].recorded_machine_id = "aa";
  claimed["n2"].recorded_machine_id = "bb";
  const auto same = same_machines(lab(2), claimed);
  REQUIRE(same.findings.size() == 1);
  CHECK(same.findings[0].severity == Severity::kWarning);
  CHECK(same.by_node.size() == 1);
  CHECK(same.by_node.count("n2") == 1);
  // Also if the other node has no record yet.
  claimed["n1"].recorded_machine_id.clear();
  CHECK(same_machines(lab(2), claimed).by_node.count("n1") == 0);
}

TEST_CASE("two nodes with one host key are one machine, whatever the records contain") {
  Identities claimed{{"n1", {"aa", "SHA256:a", ""}}, {"n2", {"aa", "SHA256:a", ""}}};
  claimed["n1"].recorded_machine_id = "aa";
  CHECK(same_machines(lab(2), claimed).by_node.size() == 2);
}

TEST_CASE("two nodes with one NVMe host name are a warning, because a claim must stop neither") {
  const Identities claimed{{"n1", {"aa", "SHA256:a", "nqn.x"}}, {"n2", {"bb", "SHA256:b", "nqn.x"}}};
  const auto same = same_machines(lab(2), claimed);
  CHECK(same.by_node.empty());
  REQUIRE(same.findings.size() == 1);
  CHECK(same.findings.front().severity == Severity::kWarning);
  CHECK(same.findings.front().message == "n1 and n2 have the same NVMe host name (/etc/nvme/hostnqn)");
  CHECK(same.findings.front().hint.find("nvme gen-hostnqn") != std::string::npos);
  CHECK(same.findings.front().hint.find("one machine") == std::string::npos);  // Their other marks differ.
}

TEST_CASE("missing identities and those of an unbooted image identify no machine") {
  const auto same =
      same_machines(lab(3), Identities{{"n1", {"uninitialized", "", ""}}, {"n2", {"uninitialized", "", ""}}});
  CHECK(same.findings.empty());
}

}  // namespace sparkplan
