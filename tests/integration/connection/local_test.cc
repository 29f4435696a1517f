// A directory tree as the node: builds of images use it to include their configuration.
#include <fstream>
#include <iterator>

#include "tests/integration/lab/controller.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNobody = "65534";

/// A directory of an unprivileged user that holds the program, a cluster.yaml and an image.
class Unprivileged {
 public:
  Unprivileged() {
    // The unprivileged user may have no access to the build directory.
    fs::copy_file(SPARKPLAN_PROGRAM, path("sparkplan"));
    fs::create_directory(path("image"));
    std::ofstream(path("cluster.yaml")) << "version: 1\nname: image\nsysctl: {net.core.somaxconn: 8192}\n"
                                           "profile_env: {HF_HOME: /mnt}\n"
                                           "nodes: [{name: golden, transport: local, root: "
                                        << path("image").string() << "}]\n";
    REQUIRE(run_program({"chown", "-R", std::string(kNobody) + ":" + kNobody, scratch_.path().string()}).exit_status ==
            0);
  }

  fs::path path(const std::string& name) const { return scratch_.path() / name; }
  std::string image_text(const std::string& file) const {
    std::ifstream stream(path("image" + file), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  Run run(const Words& arguments) const {
    Words argv{"setpriv",
               "--reuid",
               kNobody,
               "--regid",
               kNobody,
               "--clear-groups",
               "env",
               "--chdir=" + scratch_.path().string(),
               "HOME=" + scratch_.path().string(),
               path("sparkplan").string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto output = run_program(argv);
    return {output.exit_status, std::move(output.standard_output), std::move(output.standard_error), {}};
  }

 private:
  ScratchDirectory scratch_;
};

TEST_CASE("local: an unprivileged user plans, applies and checks a directory tree") {
  const Unprivileged user;
  require_exit(user.run({"validate"}), 0);
  const auto plan = user.run({"plan", "--json", "--detailed-exitcode"});
  require_exit(plan, 2);
  CHECK(node_in(plan.report(), "golden").at("status") == "pending");
  CHECK(fs::is_empty(user.path("image")));

  require_exit(user.run({"apply", "--yes"}), 0);
  CHECK(contains(user.image_text("/etc/sysctl.d/90-sparkplan.conf"), "net.core.somaxconn = 8192"));
  CHECK(contains(user.image_text("/etc/profile.d/sparkplan-env.sh"), "HF_HOME"));
  require_exit(user.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(user.run({"drift"}), 0);

  std::ofstream(user.path("image/etc/sysctl.d/90-sparkplan.conf"), std::ios::app) << "net.core.somaxconn = 1\n";
  require_exit(user.run({"drift"}), 2);
  require_exit(user.run({"apply", "--yes"}), 0);
  require_exit(user.run({"drift"}), 0);
}

TEST_CASE("local: links inside the tree never lead outside") {
  const Unprivileged user;
  fs::create_directory(user.path("outside"));
  fs::create_symlink(user.path("outside"), user.path("image/etc"));
  fs::create_directory_symlink("../../../../../.." + user.path("outside").string(), user.path("image/var"));
  REQUIRE(run_program({"chown", "-hR", kNobody, user.path("").string()}).exit_status == 0);
  (void)user.run({"plan"});
  (void)user.run({"apply", "--yes"});
  CHECK(fs::is_empty(user.path("outside")));
}

TEST_CASE("local: an absolute link is followed within the tree, as it would be in the running image") {
  const Unprivileged user;
  fs::create_directories(user.path("image/usr/etc"));
  fs::create_symlink("/usr/etc", user.path("image/etc"));
  REQUIRE(run_program({"chown", "-hR", kNobody, user.path("").string()}).exit_status == 0);
  require_exit(user.run({"apply", "--yes"}), 0);
  CHECK(fs::is_regular_file(user.path("image/usr/etc/sysctl.d/90-sparkplan.conf")));
  require_exit(user.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("local: a missing root is reported") {
  const Unprivileged user;
  fs::remove(user.path("image"));
  const auto run = user.run({"plan"});
  require_exit(run, 4);
  CHECK(contains(run.out, "golden"));
}

TEST_CASE("local: a read-only tree is reported and left unchanged") {
  const Unprivileged user;
  REQUIRE(run_program({"chown", "0:0", user.path("image").string()}).exit_status == 0);
  const auto run = user.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "ermission denied"));
  CHECK(fs::is_empty(user.path("image")));
}

}  // namespace
}  // namespace sparkplan::test
