// The controller's log of runs.
#include "engine/cli/output/run_log.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// A folder for the log that is removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string path = (std::filesystem::temp_directory_path() / "run-log-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string folder() const { return (path_ / "state/sparkplan").string(); }
  std::string log() const { return folder() + "/runs.jsonl"; }

 private:
  std::filesystem::path path_;
};

/// A variable of the environment, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) { value ? ::setenv(name_, value->c_str(), 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> before_;
};

RecordedRun run_named(const std::string& id) {
  RecordedRun run;
  run.run = id;
  run.time = "2026-03-01T12:00:00Z";
  run.cluster = "lab";
  run.cluster_id = "u-1";
  run.operation = "apply";
  run.who = "anna@laptop";
  run.nodes = {{"spark-01", "applied"}, {"spark-02", "failed"}};
  run.changes = 3;
  run.exit_code = 4;
  return run;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("run log: a run is read back as it was written, and only its user can read the file") {
  const Scratch scratch;
  CHECK(read_run_log(scratch.folder())->empty());
  REQUIRE(append_to_run_log(scratch.folder(), run_named("a")));
  REQUIRE(append_to_run_log(scratch.folder(), run_named("b")));
  CHECK(mode_of(scratch.log()) == 0600);
  CHECK(mode_of(scratch.folder()) == 0700);
  const auto runs = read_run_log(scratch.folder());
  REQUIRE(runs);
  REQUIRE(runs->size() == 2);
  CHECK(runs->front().run == "a");
  const RecordedRun& last = runs->back();
  CHECK(last.run == "b");
  CHECK(last.time == "2026-03-01T12:00:00Z");
  CHECK(last.cluster == "lab");
  CHECK(last.cluster_id == "u-1");
  CHECK(last.operation == "apply");
  CHECK(last.who == "anna@laptop");
  REQUIRE(last.nodes.size() == 2);
  CHECK(last.nodes[1].name == "spark-02");
  CHECK(last.nodes[1].status == "failed");
  CHECK(last.changes == 3);
  CHECK(last.exit_code == 4);
}

TEST_CASE("run log: a full file is kept once, and older runs are forgotten") {
  const Scratch scratch;
  RecordedRun large = run_named("large");
  large.nodes.clear();
  for (int i = 0; i < 2000; ++i) large.nodes.push_back({"spark-" + std::to_string(i), "applied"});
  const std::size_t per_file = kLargestRunLog / line_of(large).size();
  REQUIRE(per_file > 2);
  for (std::size_t i = 0; i < 2 * per_file + 1; ++i) {
    large.run = std::to_string(i);
    REQUIRE(append_to_run_log(scratch.folder(), large));
  }
  CHECK(std::filesystem::file_size(scratch.log()) <= kLargestRunLog);
  CHECK(std::filesystem::file_size(scratch.log() + ".1") <= kLargestRunLog);
  const auto runs = read_run_log(scratch.folder());
  REQUIRE(runs);
  CHECK(runs->size() == per_file + 1);
  CHECK(runs->back().run == std::to_string(2 * per_file));
}

TEST_CASE("run log: a line that a full disk cut is skipped, and the next run has a line of its own") {
  const Scratch scratch;
  REQUIRE(append_to_run_log(scratch.folder(), run_named("a")));
  std::ofstream(scratch.log(), std::ios::app) << R"({"run": "half)";
  REQUIRE(append_to_run_log(scratch.folder(), run_named("b")));
  const auto runs = read_run_log(scratch.folder());
  REQUIRE(runs);
  REQUIRE(runs->size() == 2);
  CHECK(runs->back().run == "b");
}

TEST_CASE("run log: a link, a FIFO or a file that others can write to is refused and left as it is") {
  const Scratch scratch;
  REQUIRE(append_to_run_log(scratch.folder(), run_named("a")));
  std::filesystem::remove(scratch.log());
  const std::string other = scratch.folder() + "/other";
  std::ofstream(other) << "mine\n";
  SECTION("link") { std::filesystem::create_symlink(other, scratch.log()); }
  SECTION("FIFO") { REQUIRE(::mkfifo(scratch.log().c_str(), 0600) == 0); }
  SECTION("writable by others") {
    std::ofstream(scratch.log()) << "";
    REQUIRE(::chmod(scratch.log().c_str(), 0666) == 0);
  }
  CHECK_FALSE(append_to_run_log(scratch.folder(), run_named("b")));
  CHECK_FALSE(read_run_log(scratch.folder()));
  CHECK(text_of(other) == "mine\n");
}

TEST_CASE("run log: a folder that is a link is refused") {
  const Scratch scratch;
  const Scratch elsewhere;
  REQUIRE(append_to_run_log(elsewhere.folder(), run_named("a")));
  std::filesystem::create_directories(std::filesystem::path(scratch.folder()).parent_path());
  std::filesystem::create_directory_symlink(elsewhere.folder(), scratch.folder());
  CHECK_FALSE(append_to_run_log(scratch.folder(), run_named("b")));
  CHECK(read_run_log(elsewhere.folder())->size() == 1);
}

TEST_CASE("run log: its folder is below XDG_STATE_HOME, else below the home, and a relative path is ignored") {
  const Variable home("HOME", "/home/anna");
  {
    const Variable state("XDG_STATE_HOME", "/var/state");
    CHECK(run_log_folder() == "/var/state/sparkplan");
  }
  {
    const Variable state("XDG_STATE_HOME", "state");
    CHECK(run_log_folder() == "/home/anna/.local/state/sparkplan");
  }
  const Variable state("XDG_STATE_HOME", std::nullopt);
  CHECK(run_log_folder() == "/home/anna/.local/state/sparkplan");
  const Variable no_home("HOME", std::nullopt);
  CHECK(run_log_folder().empty());
  CHECK_FALSE(append_to_run_log(run_log_folder(), run_named("a")));
}

}  // namespace sparkplan
