#include "tests/integration/lab/controller.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns the schema violations of `document`; empty when it is valid.
std::string complaints(const Json& document, const std::string& schema_file) {
  const auto text = Json::parse(content_of(fs::path(source_folder()) / "schemas" / schema_file));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  valijson::ValidationResults results;
  valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results);
  std::string found;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const auto& step : error.context) found += step;
    found += ": " + error.description + "\n";
  }
  return found;
}

}  // namespace

Json Run::document(const std::string& schema_file) const {
  INFO("stdout:\n" << out << "\nstderr:\n" << err);
  REQUIRE(Json::accept(out));
  auto document = Json::parse(out);
  const auto found = complaints(document, schema_file);
  INFO(found);
  REQUIRE(found.empty());
  return document;
}

void require_exit(const Run& run, int code) {
  INFO("stdout:\n" << run.out << "\nstderr:\n" << run.err);
  REQUIRE(run.code == code);
}

const Json& node_in(const Json& report, std::string_view name) {
  for (const auto& node : report.at("nodes")) {
    if (node.at("name") == name) return node;
  }
  throw std::runtime_error("the report has no node " + std::string(name));
}

Json change_in(const Json& report, const std::string& id) {
  for (const auto& node : report.at("nodes")) {
    for (const auto& change : node.at("changes")) {
      if (change.at("id") == id) return change;
    }
  }
  return nullptr;
}

Json check_in(const Json& report, const std::string& id) {
  for (const auto& check : report.at("checks")) {
    if (check.at("id") == id) return check;
  }
  FAIL("there is no check " + id + " in " + report.at("checks").dump(1));
  return nullptr;
}

std::vector<std::string> troubles_in(const Json& report) {
  std::vector<std::string> troubles;
  for (const auto& check : report.at("checks")) {
    const std::string status = check.at("status");
    if (status != "pass" && status != "skip") troubles.push_back(status + " " + check.at("id").get<std::string>());
  }
  return troubles;
}

std::size_t passed_at(const Json& report, const std::string& level) {
  std::size_t count = 0;
  for (const auto& check : report.at("checks")) {
    if (check.at("level") == level && check.at("status") == "pass") ++count;
  }
  return count;
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (fs::temp_directory_path() / "sparkplan-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Controller::Controller(const Lab& lab) : lab_(&lab) {
  fs::create_directory(home());
  fs::copy(lab_->home() / ".ssh", home() / ".ssh", fs::copy_options::recursive);
}

void Controller::cluster(const std::string& sections) const {
  file("cluster.yaml", "version: 1\nname: lab\n" + sections);
}

void Controller::file(const std::string& name, const std::string& content) const {
  std::ofstream(directory() / name, std::ios::binary) << content;
}

std::string Controller::text(const std::string& name) const { return content_of(directory() / name); }

Words Controller::command(const Words& arguments) const {
  Words program{"env"};
  // No SSH agent of the developer may offer keys, and no cache of the developer may be a source.
  for (const char* name :
       {"SSH_AUTH_SOCK", "SPARKPLAN_CLUSTER", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"}) {
    program.emplace_back("-u");
    program.emplace_back(name);
  }
  program.push_back("--chdir=" + directory().string());
  program.push_back("HOME=" + home().string());
  program.push_back("COLUMNS=1000");  // Without a terminal: no text that a case looks for is broken into lines.
  program.push_back(SPARKPLAN_PROGRAM);
  program.insert(program.end(), arguments.begin(), arguments.end());
  return lab_->in_controller(program);
}

Run Controller::run(const Words& arguments, std::chrono::milliseconds deadline) const {
  const auto begin = std::chrono::steady_clock::now();
  auto output = run_program(command(arguments), deadline);
  return {output.exit_status, std::move(output.standard_output), std::move(output.standard_error),
          std::chrono::steady_clock::now() - begin};
}

std::string nodes_of_lab(int count, const std::string& user) {
  std::string text = "ssh: {user: " + user + "}\nnodes:\n";
  for (int i = 1; i <= count; ++i) {
    const auto number = std::to_string(i);
    text += "  - {name: spark-0" + number + ", address: 10.77.0." + number + "}\n";
  }
  return text;
}

}  // namespace sparkplan::test
