#include "engine/cli/input/ssh_options.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "engine/cli/terminal/typed_input.h"
#include "engine/core/text.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/config/ssh_way.h"

namespace sparkplan {
namespace {

void trace_ignored(const SshConfig& config, const std::vector<NodeSpec>& nodes, const Console& console) {
  const LocalUser me = local_user();
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> nodes_of;
  for (const NodeSpec& node : nodes) {
    if (node.transport != TransportKind::kSsh) continue;
    const auto way = way_to(node, config, me);
    if (!way) continue;  // The connection reports it.
    for (const IgnoredSetting& one : way->ignored) nodes_of[{one.place, one.what}].push_back(node.name.str());
  }
  for (const auto& [setting, names] : nodes_of) {
    console.trace(setting.first + ": " + setting.second + " is ignored (" + fold_names(names) + ")");
  }
}

}  // namespace

Result<void> add_ssh_of_user(ConnectOptions& options, const std::vector<NodeSpec>& nodes, Passphrases passphrases,
                             const Console& console) {
  const auto uses_ssh = [](const NodeSpec& node) { return node.transport == TransportKind::kSsh; };
  if (std::none_of(nodes.begin(), nodes.end(), uses_ssh)) return {};
  SPARK_TRY(auto config, read_ssh_config({local_user().home}));
  trace_ignored(config, nodes, console);
  options.config = std::make_shared<const SshConfig>(std::move(config));
  if (passphrases == Passphrases::kAreNotAsked) return {};
  options.keys = std::make_shared<UnlockedKeys>([&console, stop = options.stop](const KeyQuestion& question) {
    const std::string why =
        question.again ? "That was not the passphrase" : question.server + " accepts a key of yours";
    return ask_passphrase(printable(why + ". Passphrase for the key " + question.file + ": "), console.screen(), stop);
  });
  return {};
}

}  // namespace sparkplan
