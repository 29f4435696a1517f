#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/diagnostic.h"
#include "engine/core/keyed_digest.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// Secrets in cluster.yaml: `{secret: {command: [...]}}`, `{secret: {env: NAME}}` or `{secret: {file: PATH}}` in place
/// of a text. An artifact with a secret is sealed: its `content` is a secret_token() keyed on the node. Only the agent
/// puts the value in its place, when it writes the file.
namespace sparkplan {

/// The key of a node's digests (root, 0600), made by the first apply of a secret.
inline constexpr std::string_view kSecretKeyFile = "/var/lib/sparkplan/secret.key";

/// The export with the node's key, of each type that can hold secrets.
inline constexpr const char* kSecretKeyExport = "secret_key";
/// The length of a node's key: hexadecimal digits.
inline constexpr std::size_t kSecretKeyDigits = 64;

/// The finding for a node whose key is not known: its code, its message for one resource, its hint.
inline constexpr const char* kNoSecretKey = "secret.no-key";
std::string no_secret_key(std::string_view resource);
inline constexpr std::string_view kNoSecretKeyHint = "it needs an SSH host key in /etc/ssh: ssh-keygen -A makes one";

/// The reference below "secret" of a section's value; null for any other value.
const Value* secret_reference(const Value& value);

/// True if a value in `section` is a reference to a secret.
bool asks_for_secrets(const Value& section);

/// The reference for people, on one line: "sops -d secrets.yaml", "environment variable HF_TOKEN", "file hf.token".
/// A long one is cut in its middle.
std::string secret_text(const Value& reference);
/// As secret_text(), and never cut: for the question whether to run a command.
std::string whole_secret_text(const Value& reference);

/// The error of a reference that does not name exactly one source; nothing for a usable one.
std::optional<Diagnostic> check_secret(const Value& reference, const std::string& code);

/// A warning for a variable that is named like a secret and has its value in clear.
std::optional<Diagnostic> warn_of_clear_secret(std::string_view name, SourceRange where, const std::string& code);

/// The values that a command has read. Digests of them, never the values, reach plans.
class SecretValues {
 public:
  virtual ~SecretValues() = default;
  /// secret_token() of the value that `reference` leads to; kUnreadSecret if it was not read.
  virtual std::string token(const Value& reference, std::string_view key) const = 0;
};

/// SecretValues::token() with the key that the node has exported; kUnreadSecret in commands that read no secrets.
std::string token_in(const ClusterView& view, const Value& reference, std::string_view key);

/// I/O, read-only. The node's key. Before the first apply it is derived from the node's SSH host key. So a plan writes
/// nothing, and a later apply finds the same digests.
/// Errors: kUnsupported without a host key; as NodeReader::read_file().
Result<std::string> secret_key(const NodeReader& node);

bool holds_secret(const Observation& observation);
/// True if the artifact of the step holds a secret before it or after it.
bool concerns_secret(const Step& step);

/// The file artifact with the token of its content. An Error if the node has no key.
Observation sealed(Observation file, const NodeReader& node);

/// I/O, read-only. As read_artifact(), sealed if the step concerns a secret.
Observation read_artifact_of(const Step& step, const ResourceType& type, const NodeReader& node);

}  // namespace sparkplan
