#include "engine/report/plan/plan_markdown.h"

#include "engine/core/text.h"
#include "engine/load/load.h"
#include "engine/report/plan/plan_for_others.h"
#include "engine/resource/shell_environment.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/page_rules.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/cluster_of_eight.h"
#include "tests/unit/report/golden.h"
#include "tests/unit/report/page_samples.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using test::occurrences;
using testing::sample_change;
using testing::sample_node;
using testing::sample_report;

using test::has;

/// A file without a section: no text of a report comes from it.
const Cluster kWithoutSections;

Cluster file_with(const std::string& sections) {
  const auto loaded = load_cluster("version: 1\nname: lab\nnodes: [{name: spark-01, address: 10.0.0.11}]\n" + sections,
                                   "cluster.yaml", builtin_registry());
  for (const auto& diagnostic : loaded.diagnostics) UNSCOPED_INFO(diagnostic.message);
  REQUIRE(loaded.cluster);
  return *loaded.cluster;
}

/// The line with that number, from 0.
std::string line_of(const std::string& text, std::size_t number) {
  const auto lines = split_lines(text);
  return number < lines.size() ? std::string(lines[number]) : "";
}

}  // namespace

TEST_CASE("a plan as markdown reads as specified") {
  testing::check_golden("markdown-eight-first-plan", to_markdown(testing::first_plan_of_eight(), kWithoutSections));
  testing::check_golden("markdown-eight-trouble", to_markdown(testing::trouble_among_eight(), kWithoutSections));
}

TEST_CASE("markdown begins with a heading of the second rank, and its parts are folded") {
  for (const auto& [name, report] : testing::sample_reports()) {
    INFO(name);
    const std::string text = to_markdown(report, kWithoutSections);
    CHECK(text.starts_with("## sparkplan plan: <code>"));
    CHECK(line_of(text, 2).starts_with("<code>"));
    CHECK(line_of(text, 2).ends_with("</code>"));
    CHECK(occurrences(text, "<details>") == occurrences(text, "</details>"));
    CHECK(text.size() <= kMostMarkdownCharacters);
    CHECK(has(text, "| nodes | state | add | change | remove | drift | blocked |\n"));
  }
}

TEST_CASE("texts of nodes cannot become markup, links or mentions in markdown") {
  NodeReport node = sample_node(1, NodeStatus::kFailed);
  node.error = Error{ErrorCode::kFailed, testing::kHostileText, {}, {}, ""};
  node.plan.changes = {sample_change("sysctl/a", Action::kUpdate, {{"v", "```", testing::kHostileText}}),
                       sample_change("file//etc/motd", Action::kUpdate,
                                     {{"content", "a\n````\n</details>\nb\n", "a\n````\n<img src=x>\n@all\n"}})};
  const std::string text = to_markdown(sample_report("plan", {node}), kWithoutSections);
  INFO(text);
  for (const char* part : {"<script", "onerror=", "@anna", "\x1b", "\xe2\x80\xae"}) CHECK_FALSE(has(text, part));
  // The diff is in a fence that no line of the file closes.
  CHECK(has(text, "\n`````diff\n"));
  const auto begin = testing::place_in(text, "`````diff");
  CHECK(testing::place_in(text, "<img src=x>") > begin);
  CHECK(testing::place_in(text, "@all") > begin);
}

TEST_CASE("markdown that is too long is cut, and says what is left out") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  for (int number = 0; number < 3000; ++number) {
    const std::string before(40, static_cast<char>('a' + number % 26));
    node.plan.changes.push_back(sample_change("sysctl/net.k" + std::to_string(number * 7 % 3001), Action::kUpdate,
                                              {{"v", before, std::to_string(number)}}));
    node.plan.changes.push_back(sample_change("file//etc/f" + std::to_string(number * 7 % 3001), Action::kUpdate,
                                              {{"content", "x\n", before + "\n" + before + "\n"}}));
  }
  for (const std::size_t most : {kMostMarkdownCharacters, std::size_t{5000}, std::size_t{1500}}) {
    const std::string text = to_markdown(sample_report("plan", {node}), kWithoutSections, most);
    INFO(text.substr(text.size() > 500 ? text.size() - 500 : 0));
    CHECK(text.size() <= most);
    CHECK(occurrences(text, "<details>") == occurrences(text, "</details>"));
    CHECK(has(text, "Left out, because a comment has a limit: "));
    CHECK(text.ends_with("`sparkplan plan` prints everything.\n"));
  }
}

TEST_CASE("markdown that is too long keeps as many problems as fit, and says how many are left out") {
  constexpr std::size_t kProblems = 3000;
  Report report = sample_report("plan", {sample_node(1, NodeStatus::kPending)});
  for (std::size_t number = 0; number < kProblems; ++number) {
    Diagnostic one;
    one.severity = Severity::kWarning;
    one.message = "finding " + std::to_string(number);
    report.diagnostics.push_back(one);
  }
  for (const std::size_t most : {kMostMarkdownCharacters, std::size_t{5000}}) {
    const std::string text = to_markdown(report, kWithoutSections, most);
    const std::size_t shown = occurrences(text, "- **warning** ");
    INFO(text.substr(text.size() - 300));
    CHECK(has(text, "| nodes | state |"));
    CHECK(has(text, "- **warning** <code>finding 0</code>\n"));
    CHECK(text.size() <= most);
    CHECK(text.size() + 500 > most);
    CHECK(has(text, "Left out, because a comment has a limit: " + std::to_string(kProblems - shown) + " problems. "));
  }
}

TEST_CASE("in markdown that is too long, every node has its first problems and changes, whatever another node adds") {
  NodeReport flood = sample_node(1, NodeStatus::kPending);
  for (int number = 0; number < 2000; ++number) {
    std::string letters = std::to_string(number);  // Names with numbers would fold into one row.
    for (char& digit : letters) digit = static_cast<char>(digit - '0' + 'a');
    flood.plan.blocked.push_back({{"file", "/etc/" + letters}, {ErrorCode::kFailed, "no " + letters, {}, {}, ""}, {}});
    flood.plan.changes.push_back(sample_change("file//srv/" + letters, Action::kUpdate,
                                               {{"content", "x\n", std::string(2000, 'y') + letters + "\n"}}));
  }
  NodeReport honest = sample_node(2, NodeStatus::kPending);
  honest.plan.blocked.push_back({{"file", "/etc/mine"}, {ErrorCode::kFailed, "no space left", {}, {}, ""}, {}});
  honest.plan.changes = {sample_change("sysctl/vm.of_mine", Action::kUpdate, {{"v", 1, 2}}),
                         sample_change("file//srv/mine", Action::kUpdate, {{"content", "x\n", "of mine\n"}})};
  Report report = sample_report("plan", {flood, honest});
  Diagnostic last;
  last.severity = Severity::kWarning;
  last.message = "a warning of the controller";
  report.diagnostics = {last};
  for (const std::size_t most : {kMostMarkdownCharacters, std::size_t{8000}}) {
    const std::string text = to_markdown(report, kWithoutSections, most);
    INFO(text.substr(text.size() - 3000));
    CHECK(text.size() <= most);
    CHECK(text.size() + 3000 > most);
    CHECK(has(text, "no space left"));
    CHECK(has(text, "a warning of the controller"));
    CHECK(has(text, "vm.of&#95;mine"));
    CHECK(has(text, "<code>/srv/mine</code>"));
    CHECK(has(text, "\n+of mine\n"));
    CHECK(occurrences(text, "<details>") == occurrences(text, "</details>"));
    CHECK(has(text, " problems, "));
  }
}

TEST_CASE("lines beside hidden ones stay as they are, also empty ones") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("file//etc/app.conf", Action::kUpdate, {{"content", "\n\na\n", "\n\npassword = x\n\nb"}})};
  const Report report = for_others(sample_report("plan", {node}), kWithoutSections);
  const FieldChange& field = report.nodes[0].plan.changes[0].fields[0];
  CHECK((field.before == Value("\n\na\n")));
  CHECK((field.after == Value("\n\n(hidden)\n\nb")));
}

TEST_CASE("names that say that a value is secret are known, however they are written") {
  for (const char* name : {"HF_TOKEN",
                           "password",
                           "passwd",
                           "DB_PASS",
                           "APIKEY",
                           "api_key",
                           "X-Api-Key",
                           "ApiKey",
                           "PASSPHRASE",
                           "wpa-psk",
                           "psk=x",
                           "WPA_PSK",
                           "AUTH",
                           "HTTP_AUTH",
                           "_auth",
                           "proxy.auth = x",
                           "Authorization: Bearer x",
                           "OAUTH_ID",
                           "AWS_ACCESS_KEY",
                           "PrivateKey = x",
                           "client_secret"}) {
    INFO(name);
    CHECK(names_a_secret(name));
  }
  for (const char* name : {"HF_HOME", "authorized_keys", "author", "PubkeyAuthentication yes", "net.core.rmem_max",
                           "compass", "bypass", "keyboard", "", "psks"}) {
    INFO(name);
    CHECK_FALSE(names_a_secret(name));
  }
}

TEST_CASE("a change between two hidden values is shown as a change") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("profile_env/HF_TOKEN", Action::kUpdate, {{"value", "hf_old", "hf_new"}}),
      sample_change("file//etc/app.conf", Action::kUpdate,
                    {{"content", "a_password = 1\nb_password = 2\nport = 1\n",
                      "a_password = 3\nb_password = 2\nc_password = 4\nport = 1\n"}}),
      sample_change("file//etc/other.conf", Action::kUpdate,
                    {{"content", "token = same\nport = 1\n", "token = same\nport = 2\n"}}),
      sample_change("file//root/key", Action::kUpdate,
                    {{"content", "-----BEGIN PRIVATE KEY-----\nAAAA\n", "-----BEGIN PRIVATE KEY-----\nBBBB\n"}})};
  const Report report = for_others(sample_report("plan", {node}), kWithoutSections);
  const auto after = [&](std::size_t change) { return report.nodes[0].plan.changes[change].fields[0].after; };
  CHECK((report.nodes[0].plan.changes[0].fields[0].before == Value("(hidden)")));
  CHECK((after(0) == Value("(hidden, changed)")));
  CHECK((after(1) == Value("(hidden, changed)\n(hidden)\n(hidden)\nport = 1\n")));
  CHECK((after(2) == Value("(hidden)\nport = 2\n")));
  CHECK((after(3) == Value("(hidden, changed)")));
}

TEST_CASE("a message that quotes a hidden value in quotes of a shell hides it, too") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("profile_env/DB_PASSWORD", Action::kUpdate, {{"value", "it's hunter", "it's ours"}})};
  node.plan.changes[0].note = "/etc/profile.d/z.sh:3 sets it to " + shell_quote("it's hunter") + " and is read later";
  const Report shown = for_others(sample_report("plan", {node}), Cluster());
  CHECK(shown.nodes[0].plan.changes[0].note == "/etc/profile.d/z.sh:3 sets it to '(hidden)' and is read later");
}

TEST_CASE("a message that quotes a hidden value hides it, too") {
  NodeReport node = sample_node(1, NodeStatus::kFailed);
  node.plan.changes = {sample_change("profile_env/HF_TOKEN", Action::kCreate, {{"value", Value(), "hf-value"}}),
                       sample_change("file//etc/app.conf", Action::kCreate,
                                     {{"content", Value(), "port = 8080\npassword = 'pw-of-app'  # new\n"}})};
  node.plan.changes[0].note = "a foreign file sets hf-value";
  node.plan.resulting[{"profile_env", "OLD_TOKEN"}] = Value::map({{"value", "hf-in-sync"}});
  node.error = Error{ErrorCode::kFailed, "cannot write hf-value", {"line pw-of-app"}, {}, "remove hf-in-sync"};
  node.plan.blocked = {
      {{"profile_env", "OLD_TOKEN"}, {ErrorCode::kRefused, "hf-in-sync is refused", {}, {}, "not hf-value"}, {}}};
  node.plan.not_applicable.push_back({{"profile_env", "HF_TOKEN"}, "", "hf-value has no place"});
  Report report = sample_report("plan", {node});
  Diagnostic one;
  one.message = "8080 is taken, hf-value is in clear";
  one.hint = "replace pw-of-app";
  one.notes.push_back({"hf-value first stands here", {}});
  report.diagnostics.push_back(one);
  const Cluster cluster = file_with(
      "profile_env: {HF_TOKEN: hf-value}\n"
      "files: [{path: /etc/app.conf, content: \"port = 8080\\npassword = 'pw-of-app'  # new\\n\"}]\n");
  const Report shown = for_others(report, cluster);
  const NodeReport& first = shown.nodes[0];
  CHECK(first.plan.changes[0].note == "a foreign file sets (hidden)");
  REQUIRE(first.error);
  CHECK(first.error->message == "cannot write (hidden)");
  CHECK(first.error->context == std::vector<std::string>{"line (hidden)"});
  CHECK(first.error->hint == "remove (hidden)");
  CHECK(first.plan.blocked[0].error.message == "(hidden) is refused");
  CHECK(first.plan.blocked[0].error.hint == "not (hidden)");
  CHECK(first.plan.not_applicable[0].reason == "(hidden) has no place");
  CHECK(shown.diagnostics[0].message == "8080 is taken, (hidden) is in clear");
  CHECK(shown.diagnostics[0].hint == "replace (hidden)");
  CHECK(shown.diagnostics[0].notes[0].message == "(hidden) first stands here");
  for (const char* secret : {"hf-value", "hf-in-sync", "pw-of-app"})
    CHECK_FALSE(has(to_markdown(report, cluster), secret));
}

TEST_CASE("a node's hidden texts hide nothing in the messages of other nodes, or in warnings about its claims") {
  NodeReport honest = sample_node(1, NodeStatus::kUnreachable);
  honest.error = Error{ErrorCode::kUnreachable, "connect to 10.0.0.11: no route to host", {}, {}, "check the cable"};
  NodeReport other = sample_node(2, NodeStatus::kInSync);
  other.plan.resulting[{"file", "/etc/token"}] =
      Value::map({{"content", "no route to host\nconnect to\nspark-02\nmanifest\nrecords machine-ids\nlab.example\n"}});
  other.plan.blocked = {{{"file", "/etc/token"}, {ErrorCode::kFailed, "lab.example is no host", {}, {}, ""}, {}}};
  Report report = sample_report("plan", {honest, other});
  Diagnostic claim;
  claim.code = "roster.disputed-id";
  claim.message = "the manifest of spark-02 records machine-ids for other members";
  claim.node = "spark-02";
  Diagnostic of_all;
  of_all.message = "no route to host from any node";
  Diagnostic of_other;
  of_other.message = "spark-02 could not resolve lab.example";
  of_other.node = "spark-02";
  report.diagnostics = {claim, of_all, of_other};
  const Report shown = for_others(report, kWithoutSections);
  CHECK(shown.nodes[0].error->message == "connect to 10.0.0.11: no route to host");
  CHECK(shown.diagnostics[0].message == claim.message);
  CHECK(shown.diagnostics[1].message == of_all.message);
  // In its own messages they are hidden, but not its name.
  CHECK(shown.nodes[1].plan.blocked[0].error.message == "(hidden) is no host");
  CHECK(shown.diagnostics[2].message == "spark-02 could not resolve (hidden)");
  CHECK(has(to_markdown(report, kWithoutSections), "no route to host"));
}

TEST_CASE("secrets of the file are hidden in the messages of every node, also of one that has no plan") {
  const Cluster cluster = file_with(
      "profile_env: {HF_TOKEN: hf-value, OTHER: in-clear, NEW_TOKEN: {secret: {command: [print-token, spark-01]}, "
      "users: [anna]}}\n"
      "files:\n  - {path: /etc/token, content: of-token-file}\n"
      "  - {path: /etc/app.conf, content: \"port = 8080\\npassword: pw-of-app\\n\"}\n"
      "storage:\n  - {target: /mnt/share, source: {nfs: {server: nas, path: /share}}, options: "
      "[password=pw-of-mount]}\n");
  NodeReport node = sample_node(2, NodeStatus::kFailed);
  node.error = Error{ErrorCode::kFailed,
                     "hf-value, of-token-file, pw-of-app, pw-of-mount",
                     {"in-clear, 8080, print-token, spark-01, /etc/token"},
                     {},
                     ""};
  Diagnostic of_file;
  of_file.message = "hf-value is in clear";
  Report report = sample_report("plan", {node});
  report.diagnostics = {of_file};
  const Report shown = for_others(report, cluster);
  CHECK(shown.nodes[0].error->message == "(hidden), (hidden), (hidden), (hidden)");
  CHECK(shown.nodes[0].error->context == node.error->context);
  CHECK(shown.diagnostics[0].message == "(hidden) is in clear");
}

TEST_CASE("thousands of secrets and of messages on one node are all hidden") {
  NodeReport node = sample_node(1, NodeStatus::kFailed);
  std::string content;
  for (int number = 0; number < 20'000; ++number) content += "token = value-" + std::to_string(100'000 + number) + "\n";
  node.plan.changes = {sample_change("file//etc/app.conf", Action::kUpdate, {{"content", content, "port = 1\n"}})};
  for (int number = 0; number < 20'000; ++number) {
    BlockedResource blocked;
    blocked.id = {"sysctl", std::to_string(number)};
    blocked.error.message = std::string(60, 'v') + " value-" + std::to_string(100'000 + number) + " is refused";
    node.plan.blocked.push_back(std::move(blocked));
  }
  const Report shown = for_others(sample_report("plan", {node}), kWithoutSections);
  CHECK(shown.nodes[0].plan.blocked.front().error.message == std::string(60, 'v') + " (hidden) is refused");
  CHECK(shown.nodes[0].plan.blocked.back().error.message == std::string(60, 'v') + " (hidden) is refused");
}

TEST_CASE("hidden texts that overlap in a message leave nothing of each other") {
  NodeReport node = sample_node(1, NodeStatus::kFailed);
  node.plan.changes = {sample_change("profile_env/A_TOKEN", Action::kCreate, {{"value", Value(), "abcde"}}),
                       sample_change("profile_env/B_TOKEN", Action::kCreate, {{"value", Value(), "cdefgh"}}),
                       sample_change("profile_env/C_TOKEN", Action::kCreate, {{"value", Value(), "abcdexyz"}})};
  node.error = Error{ErrorCode::kFailed, "x abcdefgh, abcdexyz, abcd", {}, {}, ""};
  const Report shown = for_others(sample_report("plan", {node}), kWithoutSections);
  REQUIRE(shown.nodes[0].error);
  CHECK(shown.nodes[0].error->message == "x (hidden), (hidden), abcd");
}

TEST_CASE("markdown has no secret") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("profile_env/HF_TOKEN", Action::kCreate, {{"", Value(), "hf-new"}}),
                       sample_change("file//root/key", Action::kCreate,
                                     {{"content", Value(), "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"}}),
                       sample_change("profile_env/OTHER", Action::kCreate, {{"", Value(), "shown"}})};
  const std::string text = to_markdown(sample_report("plan", {node}), kWithoutSections);
  CHECK_FALSE(has(text, "hf-new"));
  CHECK_FALSE(has(text, "AAAA"));
  CHECK(has(text, "shown"));
}

TEST_CASE("secrets in a text of millions of lines are hidden without a list of its lines") {
  Report report;
  Change change;
  change.id = {"file", "/etc/a"};
  change.fields.push_back({"content", "token=abcdef\n" + std::string(std::size_t{4} << 20, '\n'), "a"});
  report.nodes.emplace_back().plan.changes.push_back(std::move(change));
  const auto cost = test::cost_of([&] {
    const Report hidden = for_others(report, kWithoutSections);
    return hidden.nodes[0].plan.changes[0].fields[0].before.string()->starts_with("(hidden)\n\n");
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("a message hides the longest of the secrets that begin alike, however many there are") {
  Report report;
  NodeReport& node = report.nodes.emplace_back();
  Change change;
  change.id = {"file", "/etc/a"};
  std::string text = "token=alpha\ntoken=alphabet soup\n";
  for (std::size_t i = 5; i < 250; ++i) text += "token=" + std::string(i, 'b') + "a\n";
  change.fields.push_back({"content", std::move(text), "a"});
  change.note = "alphabet soup, alphabet song, " + std::string(40'000, 'b');
  node.plan.changes.push_back(std::move(change));
  const auto cost = test::cost_of([&] {
    const Report shown = for_others(report, kWithoutSections);
    return shown.nodes[0].plan.changes[0].note == "(hidden), (hidden)bet song, " + std::string(40'000, 'b');
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 5);
}

TEST_CASE("a message hides a secret of any length, and all hidden texts side by side as one") {
  Report report;
  NodeReport& node = report.nodes.emplace_back();
  std::string secret;
  for (int i = 0; i < 300; ++i) secret += std::to_string(i * 7919);
  Change change;
  change.id = {"file", "/etc/a"};
  change.fields.push_back({"content", "token=" + secret + "\npassword=second\n", "a"});
  change.note = "it has " + secret + ", " + secret + "second, and " + secret.substr(0, 200);
  node.plan.changes.push_back(std::move(change));
  const Report shown = for_others(report, kWithoutSections);
  CHECK(shown.nodes[0].plan.changes[0].note == "it has (hidden), (hidden), and " + secret.substr(0, 200));
}

TEST_CASE("a long hidden text in a long message of a node costs less than five seconds") {
  Report report;
  NodeReport& node = report.nodes.emplace_back();
  Change change;
  change.id = {"file", "/etc/a"};
  change.fields.push_back({"content", "token=" + std::string(2'000'000, 'a') + "!x\n", "a"});
  change.note = std::string(2'000'000, 'a');
  node.plan.changes.push_back(std::move(change));
  const auto cost = test::cost_of([&] {
    const Report shown = for_others(report, kWithoutSections);
    return shown.nodes[0].plan.changes[0].note == "(hidden)";
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 5);
}

}  // namespace sparkplan
