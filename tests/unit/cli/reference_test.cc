// Every description of the program describes all of it, and nothing else.
#include <regex>
#include <set>

#include "engine/cli/reference/reference.h"
#include "engine/cli/reference/roff.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/load/load.h"
#include "tests/support/source_folder.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

const fs::path kSource = test::source_folder();
const std::string kManual = "docs/man/sparkplan.1";
const std::string kFileManual = "docs/man/cluster.yaml.5";

std::string page_text(const fs::path& path) {
  std::ifstream file(kSource / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "plan", "plan --only GLOB", "plan [FILE]". A general option has no command, as in "--quiet"; -f FILE also gives
/// "--file FILE".
using Entries = std::set<std::string>;

void add_options(Entries& entries, const std::string& command, const std::vector<OptionUsage>& options) {
  for (const auto& option : options) {
    for (const auto& name : option.names) entries.insert(command + usage_text(option, name));
  }
}

Entries entries_of_table(bool with_arguments) {
  const auto program = program_usage();
  Entries entries;
  add_options(entries, "", program.options);
  for (const auto& command : program.commands) {
    entries.insert(command.name);
    add_options(entries, command.name + " ", command.options);
    if (!with_arguments) continue;
    for (const auto& argument : command.arguments) entries.insert(command.name + " " + argument.name);
  }
  return entries;
}

/// Adds the comma-separated names at the start of `text`, each with the value that follows them.
void add_names(Entries& entries, const std::string& command, std::string text) {
  std::string value;
  if (const auto blank = text.rfind(' '); blank != std::string::npos && text[blank + 1] != '-') {
    value = text.substr(blank);
    text.resize(blank);
  }
  for (const auto name : split(text, ',')) entries.insert(command + std::string(trim(name)) + value);
}

/// Adds everything that a printed help text lists.
void add_help(Entries& entries, const std::string& command, const std::string& help, bool general) {
  static const std::regex option("^  (-\\S+( [A-Z]+)?)( \\.\\.\\.)?(  .*|)$");
  static const std::regex subcommand("^  ([a-z]+)  .*$");
  bool in_list = false;
  for (const auto line : split_lines(help)) {
    const std::string text(line);
    std::smatch match;
    in_list = in_list || text == "Begin:";
    if (in_list && std::regex_match(text, match, subcommand)) entries.insert(match[1]);
    if (!std::regex_match(text, match, option)) continue;
    if (general || !contains(text, "-h,--help")) add_names(entries, command, match[1]);
  }
}

Entries entries_of_help() {
  Entries entries;
  add_help(entries, "", sparkplan({"--help"}).standard_output, true);
  for (const auto& command : program_usage().commands) {
    add_help(entries, command.name + " ", sparkplan({command.name, "--help"}).standard_output, false);
  }
  return entries;
}

/// The entries in the sections COMMANDS and GENERAL OPTIONS of sparkplan(1).
Entries entries_of_manual(const std::string& page) {
  Entries entries;
  std::string command;
  bool listed = false;
  bool tag = false;
  for (const auto line : split_lines(page)) {
    auto text = std::regex_replace(std::string(line), std::regex("\\\\f[BIR]"), "");
    text = std::regex_replace(text, std::regex("\\\\-"), "-");
    if (text.starts_with(".SH ")) {
      listed = text == ".SH COMMANDS" || text == ".SH GENERAL OPTIONS";
      command.clear();
    } else if (listed && text.starts_with(".SS ")) {
      command = text.substr(4) + " ";
      entries.insert(text.substr(4));
    } else if (listed && tag && text.starts_with(".B ")) {
      add_names(entries, command, text.substr(3));
    }
    tag = text == ".TP";
  }
  return entries;
}

/// The entries in the tables of docs/commands.md.
Entries entries_of_document(const std::string& document) {
  static const std::regex row("^\\| `([^`]+)`(, `([^`]+)`)* \\| .* \\|$");
  static const std::regex span("`([^`]+)`");
  Entries entries;
  std::string command;
  bool flags = false;
  for (const auto line : split_lines(document)) {
    const std::string text(line);
    if (text == "<!-- flags: end -->") break;
    flags = flags || text == "## Flags";
    if (text.starts_with("### ")) command = text == "### Every command" ? "" : text.substr(4) + " ";
    if (!std::regex_match(text, row)) continue;
    const auto first_cell = text.substr(0, text.find(" | "));
    for (std::sregex_iterator at(first_cell.begin(), first_cell.end(), span), end; at != end; ++at) {
      const std::string words = (*at)[1];
      entries.insert(flags ? command + words : words.substr(0, words.find(' ')));
    }
  }
  return entries;
}

bool is_command(const std::string& words) {
  static const auto commands = program_usage().commands;
  return std::any_of(commands.begin(), commands.end(),
                     [&](const auto& command) { return words.starts_with(command.name + " "); });
}

/// The uses of commands in code spans and code blocks. Both `sparkplan plan --json` and `plan --json` give "plan" and
/// "plan --json". A flag that fills a code span gives "--json".
Entries uses_in(const std::string& document) {
  static const std::regex span("`(?:sparkplan ([^`]+)|([a-z]+ --[^`]+)|(--[a-z-]+)[^`]*)`");
  static const std::regex code("^(?:\\$ )?sparkplan (.*)$");
  static const std::regex words("^([a-z]+)((?: [^\\s|;#()<>]+)*)");
  static const std::regex flag(" (--[a-z][a-z-]*)");
  Entries found;
  const auto add = [&](const std::string& use) {
    std::smatch match;
    if (!std::regex_search(use, match, words)) return;
    const std::string command = match[1];
    std::string rest = match[2];
    rest.erase(std::min(rest.find(" -- "), rest.size()));  // What follows is a program of the nodes.
    found.insert(command);
    for (std::sregex_iterator at(rest.begin(), rest.end(), flag), end; at != end; ++at) {
      found.insert(command + " " + (*at)[1].str());
    }
  };
  bool block = false;
  for (const auto line : split_lines(document)) {
    const std::string text(line);
    std::smatch match;
    if (text.starts_with("```")) block = !block;
    if (block && std::regex_match(text, match, code)) add(match[1]);
    for (std::sregex_iterator at(text.begin(), text.end(), span), end; !block && at != end; ++at) {
      if ((*at)[1].matched) add((*at)[1]);
      if ((*at)[2].matched && is_command((*at)[2])) add((*at)[2]);
      if ((*at)[3].matched) found.insert((*at)[3]);
    }
  }
  return found;
}

/// Every command, alone and with each of its long options, without the option's value.
Entries possible_uses() {
  const auto program = program_usage();
  Entries uses;
  for (const auto& command : program.commands) {
    uses.insert(command.name);
    for (const auto* options : {&command.options, &program.options}) {
      for (const auto& option : *options) {
        for (const auto& name : option.names) uses.insert({name, command.name + " " + name});
      }
    }
  }
  return uses;
}

Entries missing_in(const Entries& some, const Entries& all) {
  Entries missing;
  std::set_difference(some.begin(), some.end(), all.begin(), all.end(), std::inserter(missing, missing.end()));
  return missing;
}

/// The output of a program that may be missing on this machine.
std::optional<CapturedOutput> judged_by(const std::vector<std::string>& command) {
  auto output = run_and_capture(command, {std::chrono::minutes(1)});
  if (output) return std::move(*output);
  REQUIRE(output.error().code == ErrorCode::kNotFound);
  return std::nullopt;
}

/// Paths of all keys in a schema, as the manual page writes them.
void add_keys(Entries& keys, const Value& rule, const std::string& path) {
  if (const auto* properties = rule.find("properties")) {
    for (const auto& [key, value, where] : *properties->entries()) {
      keys.insert(path + key);
      add_keys(keys, value, path + key + ".");
    }
  }
  if (const auto* others = rule.find("additionalProperties"); others != nullptr && others->is_map()) {
    keys.insert(path + "NAME");
  }
  if (const auto* items = rule.find("items")) {
    add_keys(keys, *items, path.empty() ? "" : path.substr(0, path.size() - 1) + "[].");
  }
}

/// The tags below ".SS heading".
Entries tags_below(const std::string& page, const std::string& heading) {
  Entries tags;
  bool here = false;
  bool tag = false;
  for (const auto line : split_lines(page)) {
    if (line.starts_with(".S")) here = line == ".SS " + heading;
    if (here && tag && line.starts_with(".B ")) tags.emplace(line.substr(3));
    tag = line == ".TP";
  }
  return tags;
}

}  // namespace

TEST_CASE("the usage table contains every option given to CLI11") {
  const auto entries = entries_of_table(true);
  for (const std::string entry :
       {"plan", "plan FILE", "plan --only GLOB", "apply --lock-timeout DURATION", "trust NODE", "-f FILE",
        "--file FILE", "-v", "--verbose", "--workers N", "-h", "completion SHELL", "drift --textfile PATH"}) {
    INFO(entry);
    CHECK(entries.count(entry) == 1);
  }
  for (const auto& command : program_usage().commands) {
    INFO(command.name);
    CHECK_FALSE(command.help.empty());
    for (const auto& option : command.options) CHECK_FALSE(option.help.empty());
    for (const auto& argument : command.arguments) CHECK_FALSE(argument.help.empty());
  }
}

TEST_CASE("flag --help shows every command and flag, and no other") {
  CHECK(entries_of_help() == entries_of_table(false));
}

TEST_CASE("sparkplan(1) shows every command, argument and flag, and no other") {
  CHECK(entries_of_manual(page_text(kManual)) == entries_of_table(true));
}

TEST_CASE("docs/commands.md shows every command and flag, and no other") {
  CHECK(entries_of_document(page_text("docs/commands.md")) == entries_of_table(false));
}

TEST_CASE("all command lines in the documents are accepted") {
  Entries all;
  const auto possible = possible_uses();
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "docs")) {
    if (entry.path().extension() != ".md") continue;
    auto uses = uses_in(page_text(entry.path()));
    // On other pages a flag alone may belong to another program.
    if (entry.path().filename() != "commands.md") std::erase_if(uses, [](const auto& use) { return use[0] == '-'; });
    INFO(entry.path().string());
    CHECK(missing_in(uses, possible) == Entries{});
    all.insert(uses.begin(), uses.end());
  }
  const auto uses = uses_in(page_text("README.md"));
  CHECK(missing_in(uses, possible) == Entries{});
  CHECK(uses.count("plan --detailed-exitcode") == 1);
  CHECK(uses_in("run `sparkplan plan --detailed-exitcod FILE`").count("plan --detailed-exitcod") == 1);
  CHECK(all.size() > 15);
}

TEST_CASE("all generated files are up to date") {
  const auto files = reference_files(kSource);
  REQUIRE(files);
  CHECK(files->size() == 9);
  CHECK(files->contains("docs/doctor.md"));
  for (const auto& [path, text] : *files) {
    INFO(path << " differs: cmake --build build --target reference");
    CHECK(page_text(path) == text);
  }
}

TEST_CASE("a template without a place for the generated text is an error") {
  const ScratchDirectory folder;
  CHECK_FALSE(reference_files(folder.path()));
  for (const std::string path : {"docs/man/sparkplan.1.in", "docs/man/cluster.yaml.5.in", "docs/commands.md"}) {
    folder.write("/" + path, page_text(path));
  }
  CHECK(reference_files(folder.path()));
  for (const std::string path : {"docs/man/sparkplan.1.in", "docs/man/cluster.yaml.5.in", "docs/commands.md"}) {
    INFO(path);
    folder.write("/" + path, "nothing\n");
    CHECK_FALSE(reference_files(folder.path()));
    folder.write("/" + path, page_text(path));
  }
}

TEST_CASE("cluster.yaml(5) describes every key of the schema") {
  const auto schema = parse_plain_json(cluster_schema(builtin_registry()));
  REQUIRE(schema);
  const auto page = page_text(kFileManual);
  std::size_t sections = 0;
  for (const auto& [key, rule, where] : *schema->find("properties")->entries()) {
    INFO(key);
    CHECK(contains(page, ".TP\n.B " + key + "\n"));
    const auto* section = schema->find("definitions")->find("section_" + key);
    if (section == nullptr) continue;
    Entries keys;
    add_keys(keys, *section, "");
    CHECK(tags_below(page, key) == keys);
    ++sections;
  }
  CHECK(sections > 10);
  Entries keys;
  add_keys(keys, *schema->find("definitions")->find("node"), "");
  add_keys(keys, *schema->find("definitions")->find("node_fabric"), "fabric.");
  add_keys(keys, *schema->find("definitions")->find("node_interfaces"), "interfaces.");
  CHECK(tags_below(page, "nodes") == keys);
  for (const std::string piece : {"1280 to 9978", "direct, dual\\-cable, ring, switch, custom", "Default: \\-fabric"}) {
    INFO(piece);
    CHECK(contains(page, piece));
  }
}

TEST_CASE("man and mandoc are installed for the manual page tests") {
  for (const std::string judge : {"man", "mandoc"}) {
    if (!judged_by({judge, "-w", "sh"})) WARN("SKIPPED: " + judge + " is not installed");
  }
}

TEST_CASE("the manual pages are plain ASCII, and man and mandoc accept them") {
  for (const auto& path : {kManual, kFileManual}) {
    const auto page = page_text(path);
    INFO(path);
    CHECK(std::all_of(page.begin(), page.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    const auto file = (kSource / path).string();
    if (const auto lint = judged_by({"mandoc", "-T", "lint", file})) {
      CHECK(lint->standard_output + lint->standard_error == "");
    }
    if (const auto set = judged_by({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file})) {
      CHECK(set->exit_status == 0);
      CHECK(set->standard_error == "");
      CHECK_FALSE(set->standard_output.empty());
    }
  }
}

TEST_CASE("text cannot become a request or an escape in a manual page") {
  CHECK(roff_text("a\\fB -x 'q' \"d\" ~ ^") == "a\\efB \\-x \\(aqq\\(aq \\(dqd\\(dq \\(ti \\(ha");
  CHECK(roff_text("use `a -b` now") == "use \\fBa \\-b\\fR now");
  CHECK(roff_paragraph(".so /etc/passwd\n'x") == "\\&.so /etc/passwd \\(aqx\n");
  const auto long_text = roff_paragraph(std::string(70, 'a') + " .yaml bbbbbbb");
  CHECK(long_text == std::string(70, 'a') + " .yaml\nbbbbbbb\n");
  CHECK(roff_paragraph(std::string(76, 'a') + " .yaml") == std::string(76, 'a') + "\n\\&.yaml\n");
}

}  // namespace sparkplan
