// The size of a short cluster.yaml once each node has its copy: bounded, and refused by one finding.
#include <algorithm>
#include <functional>

#include "engine/load/findings.h"
#include "engine/load/load.h"
#include "engine/load/unresolved_node.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

constexpr long kMostMegabytes = 150;
constexpr std::size_t kLargestText = std::size_t{256} << 10;

/// piece(0), piece(1), ..., in one line with commas.
std::string listed(int count, const std::function<std::string(const std::string&)>& piece) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + piece(std::to_string(i));
  return text;
}

std::string file_of(int nodes, const std::string& sections) {
  return "version: 1\nname: lab\n" + sections + "nodes: [" +
         listed(nodes,
                [](const std::string& number) { return "{name: n" + number + ", address: h" + number + ".lan}"; }) +
         "]\n";
}

std::string files_named(int count) {
  return "files: [" +
         listed(count,
                [](const std::string& number) {
                  return "{path: /etc/f" + number + ", source: f" + number.substr(0, 1) + "}";
                }) +
         "]\n";
}

LoadedCluster load_with_texts(const std::string& text) {
  return load_cluster(text, "cluster.yaml", builtin_registry(),
                      [](const std::string&) -> Result<std::string> { return std::string(kLargestText, 'a'); });
}

std::vector<Diagnostic> errors_of(const LoadedCluster& loaded) {
  std::vector<Diagnostic> errors = loaded.diagnostics;
  std::erase_if(errors, [](const Diagnostic& one) { return one.severity != Severity::kError; });
  return errors;
}

bool is_too_large(const LoadedCluster& loaded) {
  const auto errors = errors_of(loaded);
  return std::any_of(errors.begin(), errors.end(), [](const Diagnostic& one) { return one.code == "nodes.too-large"; });
}

}  // namespace

TEST_CASE("a text beside cluster.yaml that a thousand records of a thousand nodes name costs less than 150 MB") {
  for (const auto& [nodes, records] : {std::pair{1000, 1000}, std::pair{40, 30}, std::pair{2, 1000}}) {
    INFO(nodes << " nodes with " << records << " records");
    std::string records_of_one_file = files_named(records);
    for (auto place = records_of_one_file.find("source: "); place != std::string::npos;
         place = records_of_one_file.find("source: ", place + 1)) {
      records_of_one_file[place + 9] = '0';
    }
    const std::string text = file_of(nodes, records_of_one_file);
    const auto cost = test::cost_of([&] { return is_too_large(load_with_texts(text)); });
    CHECK(cost.exit_status == 0);
    CHECK(cost.megabytes < kMostMegabytes);
  }
}

TEST_CASE("a section that thousands of nodes share, or a profile, costs less than 150 MB") {
  const std::string content = std::string(900'000, 'a');
  std::string nulls =
      "sysctl: {" + listed(20'000, [](const std::string& number) { return "a" + number + ": "; }) + "}\n";
  const std::string secrets =
      "ssh: {user: " + std::string(100'000, 'u') + "}\nprofile_env: {" +
      listed(2'000, [](const std::string& number) { return "A" + number + ": {secret: {file: x}}"; }) + "}\n";
  for (const std::string& text : {
           file_of(1000, "files: [{path: /etc/f, content: " + content + "}]\n"),
           file_of(1000, "ssh: {user: " + content + "}\n"),
           file_of(1000, nulls),
           file_of(1, secrets),
           "version: 1\nname: lab\nprofile: dgx-spark\nnodes: [" +
               listed(1000, [](const std::string&) { return "{}"; }) +
               "]\nsysctl: {net.core.a: " + std::string(150'000, 'a') + "}\n",
       }) {
    INFO(text.substr(0, 100));
    const auto cost = test::cost_of([&] { return !load_with_texts(text).cluster; });
    CHECK(cost.exit_status == 0);
    CHECK(cost.megabytes < kMostMegabytes);
  }
}

TEST_CASE("a finding about each of a thousand shared records costs less than 150 MB for hundreds of nodes") {
  const std::string files = listed(1000, [](const std::string& number) { return "{path: /m/" + number + "}"; });
  const std::string text =
      file_of(250, "storage: [{target: /m, source: {tmpfs: {size: 1GiB}}}]\nfiles: [" + files + "]\n");
  const auto cost = test::cost_of([&] {
    const auto loaded = load_with_texts(text);
    return !loaded.cluster && loaded.diagnostics.size() >= kMostFindings;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostMegabytes);
}

TEST_CASE("a name of 400 KB in the findings about ten thousand nodes costs less than 150 MB") {
  const std::string text = "version: 1\nname: lab\nnodes: [{name: " + std::string(400'000, 'n') +
                           ", address: h.lan}, " +
                           listed(10'000, [](const std::string&) { return "{name: a, address: h.lan}"; }) + "]\n";
  const auto cost = test::cost_of([&] {
    const auto loaded = load_with_texts(text);
    return !loaded.cluster && std::ranges::all_of(loaded.diagnostics, [](const Diagnostic& one) {
      return one.message.size() <= kLongestFinding && one.hint.size() <= kLongestFinding;
    });
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < kMostMegabytes);
}

TEST_CASE("a cluster that is too large has one error, with the section, the node and the bound") {
  const auto shared =
      load_with_texts(file_of(1000, "files: [{path: /etc/f, content: " + std::string(900'000, 'a') + "}]\n"));
  const auto errors = errors_of(shared);
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().message ==
        "with \"files\" of \"n111\", the merged sections of all nodes are larger than 96 MiB");
  CHECK(errors.front().where.line == 3);

  const auto beside = errors_of(load_with_texts(file_of(100, files_named(4))));
  REQUIRE(beside.size() == 1);
  CHECK(beside.front().message ==
        "cannot use \"f3\": with it, the merged sections of all nodes are larger than 96 MiB");
  CHECK_FALSE(beside.front().hint.empty());
}

TEST_CASE("64 nodes may each have all texts that one cluster.yaml can name, and a thousand nodes a long section") {
  CHECK(load_with_texts(file_of(64, "profile: dgx-spark\n" + files_named(4))).cluster);
  const std::string parameters = listed(300, [](const std::string& number) { return "net.core.x" + number + ": 1"; });
  CHECK(load_with_texts(file_of(1000, "profile: dgx-spark\nsysctl: {" + parameters + "}\n")).cluster);
}

TEST_CASE("of equal findings one is kept, and no number of warnings hides an error") {
  Findings findings;
  for (int i = 0; i < 10; ++i) findings.error({1, 1, 2}, "a", "the same");
  CHECK(findings.all().size() == 1);
  CHECK_FALSE(findings.is_cut());
  for (std::size_t i = 0; i < 2 * kMostKeptFindings; ++i) findings.warning({1, 1, 2}, "a", std::to_string(i));
  CHECK(findings.all().size() == kMostKeptFindings + 1);
  CHECK(findings.is_cut());
  findings.error({1, 1, 2}, "a", "another error");
  CHECK(findings.all().back().message == "another error");
}

}  // namespace sparkplan
