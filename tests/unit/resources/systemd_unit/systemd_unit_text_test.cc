#include "resources/systemd_unit/verification.h"
#include "tests/unit/resources/systemd_unit/systemd_unit_bench.h"

namespace sparkplan::systemd_unit {

TEST_CASE("unit text: rendered text is recognised as managed, and parsed back unchanged") {
  const std::string text = "[Unit]\nDescription=a = b\n# note\n[Service]\nExecStart=/bin/a \\\n  --b\nEnvironment=";
  const std::string file = render(text);
  CHECK(is_ours(file));
  CHECK_FALSE(is_ours(text));
  CHECK(file.ends_with("Environment=\n"));
  const std::vector<Assignment> all = parse_unit(file);
  REQUIRE(all.size() == 3);
  CHECK((all[0].section == "Unit" && all[0].key == "Description" && all[0].value == "a = b"));
  CHECK((all[1].section == "Service" && all[1].value == "/bin/a --b" && all[1].line == 7));
  CHECK((all[2].key == "Environment" && all[2].value.empty()));
}

TEST_CASE("unit names: templates and invalid names are recognised") {
  CHECK(is_template("foo@.service"));
  CHECK_FALSE(is_template("foo@bar.service"));
  CHECK_FALSE(is_template("foo.service"));
  CHECK(is_unit_name("foo@a@b.service"));
  CHECK_FALSE(is_unit_name("@foo.service"));
  CHECK_FALSE(is_unit_name("foo.b@x"));
  CHECK_FALSE(can_be_restarted("jobs.slice"));
  CHECK(can_be_restarted("tune.timer"));
}

TEST_CASE("drop-ins: a later file overrides by another value or a reset, not by adding to a list") {
  const std::string ours = "[Service]\nLimitMEMLOCK=infinity\nEnvironment=A=1\nExecStart=/bin/a\n";
  CHECK_FALSE(defeating(ours, "[Service]\nEnvironment=B=2\nNice=5\n"));
  CHECK_FALSE(defeating(ours, "[Service]\nLimitMEMLOCK=infinity\n"));
  CHECK_FALSE(defeating(ours, "[Socket]\nLimitMEMLOCK=1\n"));
  CHECK_FALSE(defeating(ours, "[Service]\nExecStart=\nExecStart=/bin/a\n"));
  REQUIRE(defeating(ours, "[Service]\nLimitMEMLOCK=8M\n"));
  CHECK(defeating(ours, "[Service]\nLimitMEMLOCK=8M\n")->value == "8M");
  CHECK(defeating(ours, "[Service]\n\nExecStart=\nExecStart=/bin/b\n")->value == "/bin/b");
}

TEST_CASE("verify: only errors about the managed text count, and notices do not") {
  const Candidate own{"a.service", "[Service]\nExecStart=/x\n", false};
  const Candidate drop_in{"docker.service", "[Service]\nExecStartPre=/mine\n", true};
  const std::string output =
      "/try/a.service:3: Unknown key 'Foo' in section [Service], ignoring.\n"
      "/try/a.service:4: Standard output type syslog is obsolete, automatically updating to journal.\n"
      "a.service: Command /x is not executable: No such file or directory\n"
      "/lib/systemd/system/plymouth-start.service:19: Unit uses KillMode=none.\n"
      "/try/docker.service.d/90-sparkplan.conf:3: Failed to parse resource value, ignoring: infinty\n"
      "docker.service: Command /usr/bin/dockerd is not executable: No such file or directory\n"
      "docker.service: Command /mine is not executable: No such file or directory\n"
      "Unit docker.service has a bad unit file setting.\n";
  CHECK(findings_about(own, output, "/try") ==
        Words{"a.service:3: Unknown key 'Foo' in section [Service], ignoring.",
              "a.service: Command /x is not executable: No such file or directory"});
  CHECK(findings_about(drop_in, output, "/try") ==
        Words{"docker.service.d/90-sparkplan.conf:3: Failed to parse resource value, ignoring: infinty",
              "docker.service: Command /mine is not executable: No such file or directory"});
  // The program may be written by the same run.
  CHECK(findings_about(own, "a.service: Command /x is not executable: no\n", "/try", {{"file", {{"/x", Value()}}}})
            .empty());
  CHECK(findings_about(own, "a.service: Command /x is not executable: no\n", "/try", {{"file", {{"/y", Value()}}}})
            .size() == 1);
  const Candidate in_its_own_root{"a.service", "[Service]\nRootDirectory=/srv\nExecStart=/x\n", false};
  CHECK(findings_about(in_its_own_root, "a.service: Command /x is not executable: no\n", "/try").empty());
}

TEST_CASE("verify: a notice's keyword in the name of a unit or program hides no error") {
  const Candidate own{"legacy-sync.service", "[Service]\nExecStart=/opt/legacy/sync\n", false};
  const std::string output =
      "/try/legacy-sync.service:3: Unknown key 'Foo' in section [Service], ignoring.\n"
      "/try/legacy-sync.service:4: Support for option Bar= is deprecated.\n"
      "legacy-sync.service: Command /opt/legacy/sync is not executable: No such file or directory\n";
  CHECK(findings_about(own, output, "/try") ==
        Words{"legacy-sync.service:3: Unknown key 'Foo' in section [Service], ignoring.",
              "legacy-sync.service: Command /opt/legacy/sync is not executable: No such file or directory"});
}

TEST_CASE("verify: the text and the drop-in of one unit are checked together") {
  FakeNode node = node_with({}, {});
  Step step;
  step.artifact = {"unit", kTune};
  step.before = Absent{};
  const auto objections = [&](const std::string& content, const std::string& drop_in) {
    step.after = unit({{"content", render(content), {}}, {"drop_in", render(drop_in), {}}});
    return verify_candidates(std::vector<Step>{step}, {}, node);
  };
  CHECK(objections(kRunning, "[Service]\nNice=1\n").empty());
  const std::vector<Objection> of_drop_in = objections(kRunning, "[Service]\nBogus=1\n");
  REQUIRE(of_drop_in.size() == 1);
  CHECK(of_drop_in[0].error.message.find("90-sparkplan.conf:4: Unknown key 'Bogus'") != std::string::npos);
  const std::vector<Objection> of_both = objections(kRunning + "Bogus=1\n", "[Service]\nBogus=1\n");
  REQUIRE(of_both.size() == 1);
  CHECK(of_both[0].error.message.find("tune.service:5:") != std::string::npos);
  CHECK(of_both[0].error.message.find("90-sparkplan.conf:4:") != std::string::npos);
}

TEST_CASE("verify: a node without systemd-analyze raises no objection") {
  FakeNode node;
  Step step;
  step.artifact = {"unit", kTune};
  step.before = Absent{};
  step.after = unit({{"content", render("[Service]\nBogus=1\n"), {}}});
  CHECK(verify_candidates(std::vector<Step>{step}, {}, node).empty());
  test::add_systemd(node);
  const std::vector<Objection> objections = verify_candidates(std::vector<Step>{step}, {}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].artifact == step.artifact);
  CHECK(objections[0].error.message ==
        "systemd-analyze verify reports: tune.service:4: Unknown key 'Bogus' in section [Service], ignoring.");
  CHECK_FALSE(node.text_of(kTunePath));
}

TEST_CASE("units: validation names settings that no unit can have") {
  const Value text("[Service]\nExecStart=/bin/true\n");
  CHECK(codes(named({{"content", text, {}}, {"state", "started", {}}})).empty());
  CHECK(codes(named({{"content", text, {}}, {"enabled", true, {}}})) == Words{"systemd_unit.no-install-section"});
  CHECK(codes(named({{"content", text, {}}, {"enabled", false, {}}})).empty());
  CHECK(codes(named({{"enabled", true, {}}})).empty());
  CHECK(codes(named({{"content", "\n# nothing\n", {}}})) == Words{"systemd_unit.empty"});
  CHECK(codes(named({{"drop_in", "Nice=1\n", {}}})) == Words{"systemd_unit.no-section"});
  CHECK(codes(named({{"content", text, {}}, {"state", "started", {}}}, "a@.service")) ==
        Words{"systemd_unit.template"});
  CHECK(codes(named({}, "@a.service")) == Words{"systemd_unit.name"});
  CHECK(codes(named({{"content", Value(), {}}, {"enabled", Value(), {}}})).empty());
}

}  // namespace sparkplan::systemd_unit
