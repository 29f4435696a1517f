#include "engine/agent/apply/secret_steps.h"

#include <string.h>
#include <sys/resource.h>

#include <filesystem>
#include <utility>

#include "engine/agent/state/manifest_store.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/secret_artifact.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestRecord = std::size_t{64} << 20;
constexpr std::string_view kSecretFolder = "/etc/sparkplan";

/// The part of a token that names its backup.
std::string digest_in(const std::string& token) { return token.substr(token.find(':') + 1); }

fs::path backup_of(const std::string& token) { return fs::path(kSecretBackups) / digest_in(token); }

/// The token of an observation; empty if it holds no secret.
std::string token_of(const Observation& observation) {
  const auto content = content_of(observation);
  return content && is_secret_token(*content) ? *content : std::string();
}

/// For the programs that the steps start; the agent itself writes no core from its beginning.
void write_no_core() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

/// True if a record mentions the backup. An unreadable record may.
bool mentions(const fs::path& record, const std::string& digest, const NodeReader& node) {
  const auto text = node.read_file(record, kLongestRecord);
  if (!text) return text.error().code != ErrorCode::kNotFound;
  return text->find(digest) != std::string::npos;
}

}  // namespace

SecretSteps::~SecretSteps() {
  for (auto& [token, value] : values_) ::explicit_bzero(value.data(), value.size());
}

void SecretSteps::take(const std::vector<SecretValue>& secrets) {
  if (secrets.empty()) return;
  write_no_core();
  for (const SecretValue& one : secrets) values_.insert_or_assign(one.token, one.value);
}

Result<void> SecretSteps::check_values() const {
  for (const auto& [token, value] : values_) {
    if (secret_token(key_, value) != token) {
      return failure(ErrorCode::kStalePlan, "the key of the secrets' digests has changed since the plan was made",
                     "plan again");
    }
  }
  return {};
}

/// The file as it is now, if it is as planned: any other is stale, and its step does not begin.
Result<void> SecretSteps::keep_copy(const Step& step) {
  const std::string token = token_of(step.before);
  if (token.empty()) return {};
  // If it cannot be read, or is too large, the comparison refuses this step and no other one.
  // A user may own the directory, and put a link to another file or a device there.
  auto file = node_.read_regular_file(step.artifact.name, kLargestTextFile);
  if (!file || secret_token(key_, file->bytes) != token) return {};
  SPARK_CHECK(node_.make_directories(kSecretBackups, 0700));
  return node_.write_file(backup_of(token), private_file(std::move(file->bytes)));
}

Result<void> SecretSteps::prepare(const std::vector<Step>& steps) {
  bool any = false;
  for (const Step& step : steps) any = any || concerns_secret(step);
  if (!any) return {};
  SPARK_TRY(key_, secret_key(node_));
  SPARK_CHECK(check_values());
  SPARK_CHECK(prepare_state_directory(node_));
  // The host key may change one day; the digests in the manifest must keep their meaning.
  SPARK_TRY(const bool stored, node_.is_there(kSecretKeyFile));
  if (!stored) SPARK_CHECK(node_.write_file(kSecretKeyFile, private_file(key_ + "\n")));
  for (const Step& step : steps) SPARK_CHECK(keep_copy(step));
  return {};
}

Result<Observation> SecretSteps::opened(const Observation& observation) const {
  const std::string token = token_of(observation);
  if (token.empty()) return observation;
  Present file = std::get<Present>(observation);
  if (const auto found = values_.find(token); found != values_.end()) {
    file.value.set("content", found->second);
    return Observation(std::move(file));
  }
  auto bytes = node_.read_file(backup_of(token), kLargestTextFile);
  if (!bytes) {
    return failure(ErrorCode::kNotFound, "the value of this secret is not known any more on the node",
                   "run `sparkplan apply`, which reads it from its source");
  }
  if (!key_.empty() && secret_token(key_, *bytes) != token)
    return failure(ErrorCode::kInvalidInput, backup_of(token).string() + " is damaged", "run `sparkplan apply`");
  file.value.set("content", *std::move(bytes));
  return Observation(std::move(file));
}

void remove_empty_secret_directories(const ArtifactId& removed, LocalNode& node) {
  const std::string below = std::string(kSecretFolder) + "/";
  for (fs::path folder = fs::path(removed.name).parent_path();
       folder == kSecretFolder || folder.string().starts_with(below); folder = folder.parent_path()) {
    const auto names = node.list_directory(folder);
    // A directory that stays does no harm.
    if (!names || !names->empty() || !node.remove_directory(folder)) return;
  }
}

void remove_unused_secret_backups(LocalNode& node) {
  const auto backups = or_empty(node.list_directory(kSecretBackups));
  if (!backups || backups->empty()) return;
  std::vector<fs::path> records{fs::path(kStateDirectory) / "manifest.json"};
  const fs::path journals = fs::path(kStateDirectory) / "journal";
  const auto names = or_empty(node.list_directory(journals));
  if (!names) return;
  for (const std::string& name : *names) records.push_back(journals / name);
  for (const std::string& digest : *backups) {
    bool used = false;
    for (const fs::path& record : records) used = used || mentions(record, digest, node);
    if (!used) (void)node.remove_file(fs::path(kSecretBackups) / digest);
  }
}

}  // namespace sparkplan
