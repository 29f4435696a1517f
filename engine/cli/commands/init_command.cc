#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/discovery/discovery.h"
#include "engine/cli/discovery/first_contact.h"
#include "engine/cli/discovery/host_argument.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/new_file.h"
#include "engine/core/text.h"
#include "engine/init/cluster_draft.h"
#include "engine/init/members.h"
#include "engine/load/files_beside.h"
#include "engine/report/text/shared_errors.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

constexpr const char* kStandardOutput = "-";
constexpr const char* kInstalledSchema = "/usr/share/sparkplan/cluster.schema.json";
constexpr std::size_t kMostOfSchema = std::size_t{1} << 20;
constexpr const char* kSchemaName = "cluster.schema.json";

Error usage(std::string message, std::string hint) {
  return make_error(ErrorCode::kInvalidInput, std::move(message), std::move(hint));
}

/// May `file` be written? Checked before any machine is contacted.
bool destination_is_free(const std::string& file, bool& replace, const Interrupts& interrupts, const Console& console) {
  struct stat status {};
  if (file == kStandardOutput) return true;
  if (::lstat(file.c_str(), &status) != 0) {
    const auto directory = std::filesystem::path(file).parent_path();
    std::error_code unreadable;
    if (directory.empty() || std::filesystem::is_directory(directory, unreadable)) return true;
    console.error(
        usage("there is no directory " + directory.string() + " for the file", "create it, or name another file"));
    return false;
  }
  if (!console.interactive()) {
    console.error(usage(file + " already exists and is not replaced", "write another with -o, or print it with -o -"));
    return false;
  }
  replace = console.confirm(file + " already exists. Replace it?", interrupts.token());
  if (!replace) console.remark("The file was not changed. To write another one, use -o.");
  return replace;
}

Result<std::vector<HostArgument>> parse_hosts(const std::vector<std::string>& texts) {
  std::vector<HostArgument> hosts;
  for (const std::string& text : texts) {
    SPARK_TRY(HostArgument host, parse_host_argument(text));
    const auto twin = std::ranges::find_if(
        hosts, [&](const HostArgument& one) { return one.address == host.address && one.port == host.port; });
    if (twin != hosts.end()) {
      return failure(usage(twin->given + " and " + host.given + " are the same machine", "name each machine once"));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::optional<std::vector<HostArgument>> hosts_for(const InitOptions& options, const GlobalOptions& global,
                                                   const Interrupts& interrupts, Console& console) {
  auto hosts = parse_hosts(options.hosts);
  if (!hosts) {
    console.error(hosts.error());
    return std::nullopt;
  }
  if (options.discover) {
    auto found = discover(*hosts, global, interrupts, console);
    if (!found) return std::nullopt;
    std::move(found->begin(), found->end(), std::back_inserter(*hosts));
  }
  if (!hosts->empty()) return *std::move(hosts);
  console.error(usage("no HOST given", "name them: sparkplan init nvidia@10.0.0.11 nvidia@10.0.0.12, or --discover"));
  return std::nullopt;
}

/// Reads the machines that answered on the fabric, like the others.
void add_neighbours(FirstContact& contact, std::vector<InitMachine>& machines, const Interrupts& interrupts,
                    Console& console) {
  std::vector<NodeSpec> nodes;
  for (const HostArgument& host : discover_neighbours(machines, interrupts, console)) {
    nodes.push_back(node_at(host, machines.front().ssh.user));
  }
  if (nodes.empty()) return;
  auto more = contact.read(nodes);
  if (more) std::move(more->begin(), more->end(), std::back_inserter(machines));
}

bool tell_failures(const std::vector<InitMachine>& machines, const Console& console) {
  std::vector<NodeTrouble> troubles;
  for (const InitMachine& machine : machines) {
    if (machine.error) troubles.push_back(trouble_of(machine.given, machine.address, *machine.error));
  }
  console.errors(troubles);
  return !troubles.empty();
}

/// The place of the schema as the file names it. For standard output, the installed one: nothing is beside it.
std::string schema_for(const std::string& file) {
  std::error_code ignored;
  const bool installed = file == kStandardOutput && std::filesystem::exists(kInstalledSchema, ignored);
  return installed ? kInstalledSchema : kSchemaName;
}

/// Writes the schema beside `file`, so that editors find it, also on the machine of another user who gets both. A file
/// of that name that is no schema of sparkplan stays. Errors: those of write_new_file().
Result<void> write_schema_beside(const std::string& file, const Console& console) {
  constexpr std::string_view kMark = "\"sparkplan cluster.yaml\"";
  const auto path = (std::filesystem::path(file).parent_path() / kSchemaName).string();
  const std::string schema = cluster_schema(builtin_registry());
  struct stat status {};
  const bool exists = ::lstat(path.c_str(), &status) == 0;
  if (exists) {
    // In a folder of several users, any of them can make a FIFO of that name. open() would wait for its writer.
    const std::string text = read_regular_file(path, kMostOfSchema).value_or("");
    if (text == schema) return {};
    if (!S_ISREG(status.st_mode) || text.find(kMark) == std::string::npos) {
      console.remark(printable(path) + " is no schema of sparkplan and was not changed; `sparkplan schema` prints it.");
      return {};
    }
  }
  SPARK_CHECK(write_new_file(path, schema, exists));
  console.remark("Wrote " + printable(path) + ", the JSON Schema with which editors check the file.");
  return {};
}

void tell_of_the_file(const std::string& file, const LoadedCluster& loaded, const Console& console) {
  console.diagnostics(loaded.diagnostics, loaded.source);
  const Cluster& cluster = *loaded.cluster;
  if (file == kStandardOutput) return;
  console.result("Wrote " + printable(file) + ": name " + printable(cluster.name) + ", " +
                 counted(cluster.nodes.size(), "node") + ".\n");
  console.remark("Next: `sparkplan plan" + (file == cluster_file("") ? std::string() : " " + file) +
                 "` shows what an apply would change.");
}

}  // namespace

Result<ExitCode> run_init(const InitOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  const std::string file = options.output.empty() ? cluster_file("") : options.output;
  bool replace = false;
  if (!destination_is_free(file, replace, interrupts, console)) return ExitCode::kUsage;
  const auto hosts = hosts_for(options, global, interrupts, console);
  if (!hosts) return ExitCode::kUsage;
  std::vector<NodeSpec> nodes;
  for (const HostArgument& host : *hosts) nodes.push_back(node_at(host, host.announced ? login_name() : ""));
  FirstContact contact(global, interrupts, console);
  auto machines = contact.read(nodes);
  const std::stop_token stop = interrupts.token();
  if (machines && options.discover && !stop.stop_requested()) add_neighbours(contact, *machines, interrupts, console);
  if (machines && stop.stop_requested()) console.remark("Stopped. No file was written.");
  if (!machines || stop.stop_requested()) return ExitCode::kUsage;
  console.diagnostics(drop_second_contacts(*machines, options.hosts.size()), "");
  const bool some_failed = tell_failures(*machines, console);
  InitInput input{*std::move(machines), schema_for(file)};
  const auto draft = draft_cluster(input, builtin_registry());
  if (!draft) {
    console.error(draft.error());
    return draft.error().code == ErrorCode::kUnreachable ? ExitCode::kNodeFailed : ExitCode::kUsage;
  }
  console.diagnostics(draft->remarks, "");
  if (file == kStandardOutput) {
    console.result(draft->text);
  } else {
    SPARK_CHECK(write_new_file(file, draft->text, replace));
    SPARK_CHECK(write_schema_beside(file, console));
  }
  auto loaded = load_cluster(draft->text, file, builtin_registry());
  tell_of_the_file(file, loaded, console);
  return some_failed || contact.key_is_missing() ? ExitCode::kNodeFailed : ExitCode::kDone;
}

}  // namespace sparkplan
