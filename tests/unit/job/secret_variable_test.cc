// The secrets of profile_env that a rank gets on its node.
#include "engine/job/secret_variable.h"

#include <sys/prctl.h>
#include <sys/stat.h>

#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::job {
namespace {

/// A directory of secrets with those of the user "anna".
class Secrets {
 public:
  Secrets() { std::filesystem::create_directory(scratch_.path() / "anna"); }
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;
  ~Secrets() { ::prctl(PR_SET_DUMPABLE, dumpable_before_); }

  std::filesystem::path file(const std::string& name) const { return scratch_.path() / "anna" / name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
  }
  std::optional<std::string> read(const std::string& name, const std::string& user = "anna") const {
    return secret_variable(user, name, scratch_.path().string());
  }

 private:
  test::ScratchDirectory scratch_;
  int dumpable_before_ = ::prctl(PR_GET_DUMPABLE);
};

}  // namespace

TEST_CASE("a secret is the text of the user's file without newlines at its end") {
  const Secrets secrets;
  secrets.write("HF_TOKEN", "a b'$(id)\nc\n\n");
  CHECK(secrets.read("HF_TOKEN") == "a b'$(id)\nc");
  secrets.write("EMPTY", "");
  CHECK(secrets.read("EMPTY") == "");
}

TEST_CASE("a user without a secret has no such variable, and a name cannot leave the directory") {
  const Secrets secrets;
  secrets.write("HF_TOKEN", "x");
  CHECK_FALSE(secrets.read("OTHER"));
  CHECK_FALSE(secrets.read("HF_TOKEN", "bert"));
  CHECK_FALSE(secrets.read("../anna/HF_TOKEN"));
  CHECK_FALSE(secrets.read("HF_TOKEN", "../" + secrets.file("").parent_path().parent_path().filename().string()));
  CHECK_FALSE(secrets.read("HF_TOKEN", ".."));
  CHECK_FALSE(secrets.read("", "anna"));
  CHECK_FALSE(secrets.read("HF_TOKEN", ""));
}

TEST_CASE("a file that sparkplan has not written, or that no variable can hold, is no secret") {
  const Secrets secrets;
  secrets.write("TARGET", "x");
  std::filesystem::create_symlink(secrets.file("TARGET"), secrets.file("LINK"));
  CHECK_FALSE(secrets.read("LINK"));
  std::filesystem::create_directory(secrets.file("FOLDER"));
  CHECK_FALSE(secrets.read("FOLDER"));
  REQUIRE(::mkfifo(secrets.file("FIFO").c_str(), 0600) == 0);
  CHECK_FALSE(secrets.read("FIFO"));
  secrets.write("BINARY", std::string("a\0b", 3));
  CHECK_FALSE(secrets.read("BINARY"));
  secrets.write("LONG", std::string((std::size_t{128} << 10) + 1, 'x'));
  CHECK_FALSE(secrets.read("LONG"));
}

TEST_CASE("a process that has read a secret writes no core dump before it executes the program") {
  const Secrets secrets;
  secrets.write("HF_TOKEN", "x");
  ::prctl(PR_SET_DUMPABLE, 1);
  CHECK_FALSE(secrets.read("OTHER"));
  CHECK(::prctl(PR_GET_DUMPABLE) == 1);
  CHECK(secrets.read("HF_TOKEN") == "x");
  CHECK(::prctl(PR_GET_DUMPABLE) == 0);
}

}  // namespace sparkplan::job
