#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/lab/lab.h"

namespace sparkplan::test {

using Json = nlohmann::json;

/// Output and exit status of one run of the program.
struct Run {
  int code = -1;
  std::string out;
  std::string err;
  std::chrono::steady_clock::duration took{};

  /// Parses `out` as JSON; fails the case unless it is valid against this file in schemas/.
  Json document(const std::string& schema_file) const;
  Json report() const { return document("report.schema.json"); }
  Json verification() const { return document("verify.schema.json"); }
  Json diagnosis() const { return document("doctor.schema.json"); }
};

/// Fails the case, showing everything printed, unless the program ended with `code`.
void require_exit(const Run& run, int code);

/// The node's part of a report.
const Json& node_in(const Json& report, std::string_view name);
/// The change with this id, such as "spark-01/sysctl/net.core.somaxconn"; null when the report has no such change.
Json change_in(const Json& report, const std::string& id);

/// The check with this id in verify's report; fails the case when the report has no such check.
Json check_in(const Json& report, const std::string& id);
/// Every check of verify's report that is neither passed nor skipped, as "STATUS ID".
std::vector<std::string> troubles_in(const Json& report);
/// The number of passed checks of a level in verify's report.
std::size_t passed_at(const Json& report, const std::string& level);

/// A directory that is removed with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A user's machine that reaches the hosts. It has a working directory with cluster.yaml, and a HOME with its own key
/// and known hosts.
class Controller {
 public:
  explicit Controller(const Lab& lab = Lab::get());

  /// Writes cluster.yaml: a version, the name `lab`, then the sections given.
  void cluster(const std::string& sections) const;
  void file(const std::string& name, const std::string& content) const;
  std::string text(const std::string& name) const;
  std::filesystem::path directory() const { return scratch_.path(); }
  std::filesystem::path known_hosts() const { return home() / ".ssh/known_hosts"; }
  std::filesystem::path home() const { return scratch_.path() / "home"; }

  /// Runs sparkplan with these arguments in the directory of cluster.yaml.
  Run run(const Words& arguments, std::chrono::milliseconds deadline = std::chrono::seconds(100)) const;
  /// The argv of `run`, for cases that start the program themselves.
  Words command(const Words& arguments) const;

 private:
  const Lab* lab_;
  ScratchDirectory scratch_;
};

/// The section `nodes` with the first `count` hosts of the lab, after an `ssh` section for `user`.
std::string nodes_of_lab(int count, const std::string& user = "root");

}  // namespace sparkplan::test
