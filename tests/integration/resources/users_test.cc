// Groups of users on real hosts, checked with id and getent.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

constexpr const char* kForget =
    "userdel -r lab-user 2>/dev/null; groupdel lab-new 2>/dev/null; "
    "groupdel lab-old 2>/dev/null; true";

/// A host with the user lab-user, who is in the group lab-old, and with the group lab-new.
class UserHost {
 public:
  UserHost() : host_(1) {
    host_.shell(kForget);
    host_.shell("groupadd lab-old; groupadd lab-new; useradd -m -G lab-old lab-user");
  }
  UserHost(const UserHost&) = delete;
  UserHost& operator=(const UserHost&) = delete;
  ~UserHost() {
    try {
      host_.shell(kForget);
    } catch (const std::exception&) {  // The case has failed already; the next case removes the user again.
    }
  }
  const Host* operator->() const { return &host_; }
  bool is_in(const std::string& group) const {
    return contains(" " + host_.shell("id -nG lab-user") + " ", " " + group + " ");
  }

 private:
  Host host_;
};

std::string wanted(const std::string& user, const std::string& groups) {
  return "users: [{name: " + user + ", groups: [" + groups + "]}]\n" + nodes_of_lab(1);
}

}  // namespace

TEST_CASE("users: a user is added to a group, added again after drift, and leaves only what sparkplan added") {
  const UserHost host;
  const Controller controller;
  controller.cluster(wanted("lab-user", "lab-old, lab-new"));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(change_in(plan.report(), "spark-01/users/lab-user/lab-new").at("impact") == "needs-relogin");
  CHECK_FALSE(host.is_in("lab-new"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.is_in("lab-new"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  host->shell("gpasswd -d lab-user lab-new");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/users/lab-user/lab-new").at("origin") == "drift");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.is_in("lab-new"));

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.is_in("lab-new"));
  CHECK(host.is_in("lab-old"));
}

TEST_CASE("users: a missing user is a warning of the plan, and fails alone") {
  const UserHost host;
  const Controller controller;
  controller.cluster("users: [{name: lab-user, groups: [lab-new]}, {name: lab-nobody, groups: [lab-new]}]\n" +
                     nodes_of_lab(1));
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.err, "there is no user lab-nobody"));
  require_exit(controller.run({"apply", "--yes"}), 4);
  CHECK(host.is_in("lab-new"));
}

}  // namespace sparkplan::test
