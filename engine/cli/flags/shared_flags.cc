#include "engine/cli/flags/shared_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/units.h"

namespace sparkplan {

void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into, const std::string& help,
                  std::chrono::milliseconds least) {
  app.add_option_function<std::string>(
         name,
         [&into, name, least](const std::string& text) {
           const auto duration = parse_duration(text);
           if (!duration) {
             throw CLI::ValidationError(name, duration.error().describe() + "; " + duration.error().hint);
           }
           if (*duration < least) {
             throw CLI::ValidationError(name,
                                        in_quotes(text) + " is too short: " + format_duration(least) + " or more");
           }
           into = *duration;
         },
         help)
      ->type_name("DURATION");
}

void add_safety(CLI::App& app, SafetyOptions& into) {
  add_duration(app, "--confirm-timeout", into.confirm_timeout,
               "roll back if the node is unreachable after DURATION; 5s to 30m [90s]");
  app.add_flag("--allow-mgmt-change", into.allow_management_change,
               "also change the interface that carries the connection");
  app.add_flag("--no-safety-net", into.no_safety_net, "make disruptive changes without automatic rollback");
  app.add_flag("--ignore-jobs", into.ignore_jobs, "also make disruptive changes on nodes where a job is running");
  app.add_option("--max-parallel", into.max_parallel,
                 "after the first node, change the network of at most N nodes at once [all]")
      ->check(whole_number(1, 256))
      ->type_name("N");
}

void add_signer(CLI::App& app, SignerOptions& into) {
  // An empty variable of a script must not disable the check.
  const CLI::Validator not_empty(
      [](std::string& text) { return text.empty() ? std::string("it must not be empty") : std::string(); }, "");
  app.add_option("--signed-by", into.identity, "refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign")
      ->check(not_empty)
      ->type_name("IDENTITY");
  app.add_option("--allowed-signers", into.allowed_signers,
                 "file that assigns keys to identities [~/.ssh/allowed_signers]")
      ->check(not_empty)
      ->type_name("PATH");
}

void add_file(CLI::App& app, CommandLine& line, std::string& into, const char* help) {
  // Without a type name, CLI11 prints its own after the name of the argument.
  app.add_option("FILE", into, help)->type_name("");
  line.files.push_back(&into);
}

CLI::Validator whole_number(int least, int most) {
  const auto check = [least, most](const std::string& text) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [last, code] = std::from_chars(text.data(), end, number);
    if (code == std::errc() && last == end && number >= least && number <= most) return std::string();
    return in_quotes(text) + " is no number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return CLI::Validator([check](std::string& text) { return check(text); }, "");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    const auto near = nearest(word, words);
    return "there is no " + in_quotes(word) + "; " +
           (near ? "did you mean " + *near + "?" : "it is one of " + join(words, ", "));
  };
  return CLI::Validator([check](std::string& word) { return check(word); }, "");
}

void add_selection(CLI::App& app, SelectionOptions& into) {
  app.add_option("--only", into.only, "only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option("--exclude", into.exclude, "everything except what matches GLOB")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_node_selection(CLI::App& app, SelectionOptions& into) {
  app.add_option("--only", into.only, "only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b")
      ->type_name("GLOB")
      ->check(CLI::Validator(
          [](std::string& text) {
            if (text.find('/') == std::string::npos) return std::string();
            return in_quotes(text) + " names resources, and this command takes only nodes";
          },
          ""))
      ->allow_extra_args(false);
}

void add_report(CLI::App& app, std::string& into) {
  app.add_option("--report", into, "also write the result to PATH as an HTML page of one file")->type_name("PATH");
}

}  // namespace sparkplan
