#include "engine/resource/registry.h"
#include "resources/kernel_module/module_files.h"
#include "tests/support/catch.h"
#include "tests/support/fake_modprobe.h"
#include "tests/support/fake_node.h"

namespace sparkplan::kernel_module {
namespace {

Value desired(const std::string& options) {
  return Value::map({{"options", options}, {"persistent", true}, {"running", true}});
}

}  // namespace

TEST_CASE("kernel_module: the written files are parsed back unchanged") {
  const std::set<std::string> modules{"nvme-tcp", "nvme_core"};
  CHECK(parse_load_file(render_load_file(modules)) == modules);
  CHECK(parse_load_file("# by hand\n; or so\n\n  nvme-tcp  \n") == std::set<std::string>{"nvme-tcp"});
  const std::map<std::string, std::string> options{{"nvme-core", "multipath=Y io_timeout=60"}, {"loop", "max_part=8"}};
  CHECK(parse_options_file(render_options_file(options)) == options);
  CHECK(parse_options_file("options nvme-core\nalias a b\n").empty());
}

TEST_CASE("kernel_module: - and _ are the same to the kernel, so a module is listed once") {
  CHECK(kernel_name("nvme-tcp") == "nvme_tcp");
  const ResourceType* type = builtin_registry().find("kernel_module");
  const Value twice(Value::List{Value("nvme-tcp"), Value("loop"), Value("nvme_tcp")});
  const auto findings = type->validate(twice);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "kernel_module.twice");
  REQUIRE(findings[0].notes.size() == 1);
  CHECK(type->validate(Value(Value::List{Value("nvme-tcp"), Value("loop")})).empty());
}

TEST_CASE("kernel_module: lines that prevent loading a module at boot are found with their position") {
  const auto found = obstacles_in("/etc/modprobe.d/x.conf",
                                  "# blacklist loop\nblacklist nvme-tcp\ninstall loop /bin/false\n"
                                  "install sr_mod /usr/local/bin/mine\noptions loop max_part=8\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].module == "nvme_tcp");
  CHECK(found[0].source == "/etc/modprobe.d/x.conf:2");
  CHECK(found[1].module == "loop");
}

TEST_CASE("kernel_module: of two files with one name the later directory wins, and the managed file is no obstacle") {
  test::FakeNode node;
  node.add_file("/usr/lib/modprobe.d/a.conf", "blacklist loop\n");
  node.add_file("/etc/modprobe.d/a.conf", "");
  node.add_file(std::string(kOptionsFile), "blacklist loop\n");
  node.add_file("/etc/modprobe.d/notes.txt", "blacklist loop\n");
  CHECK(read_obstacles(node)->empty());
  node.add_file("/run/modprobe.d/b.conf", "blacklist loop\n");
  CHECK(read_obstacles(node)->size() == 1);
}

TEST_CASE("kernel_module: a loaded module's different options are reported, and switches compare as booleans") {
  test::FakeNode node;
  test::load_module(node, "nvme_core");
  node.add_file("/sys/module/nvme_core/parameters/multipath", "Y\n");
  node.add_file("/sys/module/nvme_core/parameters/io_timeout", "30\n");
  const ResourceType* type = builtin_registry().find("kernel_module");
  CHECK(type->check_effect({{"nvme-core", desired("multipath=1 io_timeout=30 not_shown=1")}}, node).empty());
  const auto told = type->check_effect({{"nvme-core", desired("multipath=N io_timeout=60")}}, node);
  REQUIRE(told.size() == 2);
  CHECK(told[1].message == "nvme-core was loaded with io_timeout=30, not 60");
}

TEST_CASE("kernel_module: a name that is only spelled otherwise unloads nothing") {
  const ResourceType* type = builtin_registry().find("kernel_module");
  const ArtifactId module{"module", "nvme_tcp"};
  ObservedType observed;
  observed.artifacts[module] = Present{Value::map({{"loaded", true}}), {}};
  Resource wanted;
  wanted.id = {"kernel_module", "nvme_tcp"};
  wanted.desired = desired("");
  Change removal;
  removal.id = {"kernel_module", "nvme-tcp"};
  removal.action = Action::kRemove;
  StepsInput input{{wanted}, observed, {removal}, {{module, Present{Value::map({{"loaded", false}}), {}}}}};
  for (const Step& step : type->steps(input)) CHECK(step.artifact != module);
}

TEST_CASE("kernel_module: a missing module is found before any write") {
  test::FakeNode node;
  test::install_fake_modprobe(node);
  const ResourceType* type = builtin_registry().find("kernel_module");
  Step step;
  step.artifact = {"module", "nvme_tcp"};
  step.after = Present{Value::map({{"loaded", true}}), {}};
  const auto objections = type->prepare(std::vector<Step>{step}, {}, node);
  REQUIRE(objections.size() == 1);
  CHECK(objections[0].error.message == "the running kernel has no module nvme_tcp");
  CHECK(objections[0].error.hint.find("linux-modules-extra") != std::string::npos);
  CHECK(node.log().empty());
  test::add_module(node, "nvme_tcp");
  CHECK(type->prepare(std::vector<Step>{step}, {}, node).empty());
}

TEST_CASE("kernel_module: a missing rmmod is called by its name") {
  test::FakeNode node;
  test::load_module(node, "nvme_tcp");
  const ResourceType* type = builtin_registry().find("kernel_module");
  const auto unloaded = type->apply({"module", "nvme_tcp"}, Present{Value::map({{"loaded", false}}), {}}, node);
  REQUIRE_FALSE(unloaded);
  CHECK(unloaded.error().message == "there is no rmmod on this node");
}

}  // namespace sparkplan::kernel_module
