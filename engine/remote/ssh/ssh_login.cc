// Logging in to an SSH server: keys in files, ssh-agent, passwords.
#include <chrono>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/process/own_user.h"
#include "engine/remote/keys/private_key_file.h"
#include "engine/remote/keys/ssh_key_pointer.h"
#include "engine/remote/ssh/ssh_session.h"

namespace sparkplan::ssh {
namespace {

/// PAM prompts a few times at most. More rounds, even without a prompt, could keep the program busy for ever.
constexpr int kMostRounds = 10;
/// IdentityFile::place of the usual files, which need not exist.
constexpr const char* kByDefault = "by default";
KeyPointer imported(const std::string& text) {
  ssh_key raw = nullptr;
  // An empty passphrase prevents a prompt.
  const int answer = ssh_pki_import_privkey_base64(text.c_str(), "", nullptr, nullptr, &raw);
  KeyPointer key(raw);
  return answer == SSH_OK ? std::move(key) : KeyPointer();
}

/// The public part of a private key: from the file itself, else from the file beside it. Null if neither has it.
KeyPointer public_part(const std::string& path, const PrivateKeyForm& form) {
  ssh_key raw = nullptr;
  if (!form.public_key.empty()) {
    const auto type = ssh_key_type_from_name(form.type.c_str());
    ssh_pki_import_pubkey_base64(form.public_key.c_str(), type, &raw);
  } else {
    ssh_pki_import_pubkey_file((path + ".pub").c_str(), &raw);
  }
  return KeyPointer(raw);
}

/// One login attempt. The peer can delay each of its answers, so one deadline limits all of them together.
class Login {
 public:
  Login(const SessionPointer& session, const SshStation& station, const ConnectOptions& options)
      : session_(session),
        station_(station),
        options_(options),
        end_(std::chrono::steady_clock::now() + options.timeout) {}

  /// A whole cluster logs in at once, and each attempt costs the peer a fork. So the right key is tried first, without
  /// a "none" probe: a key that is named for the host, else those of ssh-agent. Keys with a passphrase come last, as
  /// the user has to be asked.
  Result<void> by_keys(std::optional<LockedKey>& locked) {
    SPARK_TRY(const bool accepted, by_any_key(locked));
    if (accepted) return {};
    if (locked) {
      // With `options_.keys`, the user is asked next.
      return failure(ErrorCode::kPermissionDenied,
                     station_.login() + " accepts the key " + locked->shown + ", which has a passphrase",
                     (options_.keys ? "" : "this command never asks: ") +
                         std::string("load the key into ssh-agent with `ssh-add ") + locked->shown +
                         "`; if no agent runs, first start one with `eval $(ssh-agent)`");
    }
    return failure(no_key_accepted());
  }

  /// Both methods of sshd: a plain password, or a PAM conversation with a hidden prompt.
  Result<void> by_password() {
    tried_ = "password";
    const int plain = await([this] { return ssh_userauth_password(session_.get(), nullptr, password()); });
    SPARK_TRY(const bool accepted, judge(plain == SSH_AUTH_DENIED ? converse() : plain));
    if (accepted) return {};
    return failure(ErrorCode::kPermissionDenied, station_.login() + " accepts neither our keys nor the password");
  }

 private:
  Result<bool> by_any_key(std::optional<LockedKey>& locked) {
    const bool one_is_given = station_.identities.size() == 1 && station_.identities.front().place.empty();
    if (station_.usual_identities) {
      SPARK_TRY(const bool accepted, by_agent());
      if (accepted) return true;
      std::vector<IdentityFile> usual;
      for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
        const std::string shown = std::string("~/.ssh/") + name;
        usual.push_back({expand_home(shown), shown, kByDefault});
      }
      return by_files(usual, locked);
    }
    SPARK_TRY(const bool accepted, by_files(station_.identities, locked));
    if (accepted || (one_is_given && !locked)) return accepted;
    // With IdentitiesOnly, ssh-agent can only help with a key whose passphrase is not known here.
    if (station_.only_identities && !locked) return false;
    SPARK_TRY(const bool accepted_of_agent, by_agent());
    if (accepted_of_agent) locked.reset();
    return accepted_of_agent;
  }

  Result<bool> by_agent() {
    if (station_.agent.empty() || (station_.only_identities && station_.usual_identities)) return false;
    ssh_options_set(session_.get(), SSH_OPTIONS_IDENTITY_AGENT, station_.agent.c_str());
    const int answer = await([this] { return ssh_userauth_agent(session_.get(), nullptr); });
    // A stopped ssh-agent is not an error of the node.
    const bool is_of_node = session_.get_deleter().watch->flooded || ssh_is_connected(session_.get()) == 0;
    if (answer == SSH_AUTH_ERROR && !is_of_node) return false;
    return judge(answer);
  }

  /// Files that need no passphrase first. Sets `locked` to the first other one that the server accepts.
  Result<bool> by_files(const std::vector<IdentityFile>& files, std::optional<LockedKey>& locked) {
    std::vector<std::pair<const IdentityFile*, PrivateKeyForm>> encrypted;
    for (const IdentityFile& file : files) {
      const bool required = file.place.empty();
      const auto text = read_private_key(file.path);
      if (!text) {
        if (required) return failure(unusable(file, text.error()));
        const bool is_absent = text.error().code == ErrorCode::kNotFound;
        if (file.place != kByDefault) {
          missing_.push_back(file.shown + " (" + file.place + ")" + (is_absent ? " is not there" : " cannot be read"));
        }
        continue;
      }
      KeyPointer key(options_.keys ? options_.keys->copy_of(file.path) : nullptr);
      if (!key) {
        auto form = form_of_private_key(*text);
        if (form.encrypted) {
          encrypted.emplace_back(&file, std::move(form));
          continue;
        }
        key = imported(*text);
      }
      if (!key && required)
        return failure(ErrorCode::kInvalidInput, "the identity file " + file.shown + " cannot be used");
      if (!key) continue;
      SPARK_TRY(const bool accepted,
                judge(await([&] { return ssh_userauth_publickey(session_.get(), nullptr, key.get()); })));
      if (accepted) return true;
    }
    for (const auto& [file, form] : encrypted) {
      const KeyPointer key = public_part(file->path, form);
      if (key) {
        SPARK_TRY(const bool wanted,
                  judge(await([&] { return ssh_userauth_try_publickey(session_.get(), nullptr, key.get()); })));
        if (!wanted) continue;
      }
      locked = LockedKey{file->path, file->shown,
                         station_.is_jump_host ? station_.context() + " of " + station_.node : station_.node};
      return false;
    }
    return false;
  }

  Error unusable(const IdentityFile& file, const Error& reason) const {
    if (reason.code == ErrorCode::kNotFound) {
      return make_error(ErrorCode::kInvalidInput, "there is no identity file " + file.path);
    }
    return make_error(ErrorCode::kInvalidInput,
                      "the identity file " + file.shown + " cannot be used: " + reason.describe());
  }

  Error no_key_accepted() const {
    const std::string login = station_.login();
    if (station_.identities.size() == 1 && station_.identities.front().place.empty()) {
      const std::string& key = station_.identities.front().shown;
      return make_error(ErrorCode::kPermissionDenied, login + " does not accept the key " + key,
                        "install it with `ssh-copy-id -i " + key + " " + login + "`");
    }
    Error error =
        make_error(ErrorCode::kPermissionDenied,
                   login + " " + std::string(kNoKeyAccepted) +
                       (station_.usual_identities ? " (ssh-agent and ~/.ssh/id_*)" : " (ssh-agent and IdentityFile)"),
                   "install one with `ssh-copy-id " + login + "`, or name it in `ssh.identity`");
    if (!missing_.empty()) error.hint = join(missing_, ", ") + "; " + error.hint;
    return error;
  }

  int converse() {
    const auto next = [this] { return ssh_userauth_kbdint(session_.get(), nullptr, nullptr); };
    int answer = await(next);
    bool answered = false;
    for (int round = 0; answer == SSH_AUTH_INFO; ++round) {
      if (round == kMostRounds) return SSH_AUTH_DENIED;
      const int prompts = ssh_userauth_kbdint_getnprompts(session_.get());
      if (prompts > 0 && std::exchange(answered, true))
        return SSH_AUTH_DENIED;  // A second prompt: the password was wrong.
      for (int i = 0; i < prompts; ++i) {
        char echo = 0;
        ssh_userauth_kbdint_getprompt(session_.get(), static_cast<unsigned int>(i), &echo);
        ssh_userauth_kbdint_setanswer(session_.get(), static_cast<unsigned int>(i), echo == 0 ? password() : "");
      }
      answer = await(next);
    }
    return answer;
  }

  /// True when the node accepts the login.
  Result<bool> judge(int answer) const {
    if (answer == SSH_AUTH_SUCCESS) return true;
    if (options_.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    if (answer == SSH_AUTH_AGAIN) {
      return failure(ErrorCode::kUnreachable,
                     "log in: " + station_.login() + " did not accept or reject the " + tried_ + " in time");
    }
    if (answer == SSH_AUTH_ERROR) return failure(ErrorCode::kUnreachable, "log in: " + reason_of(session_));
    return false;
  }

  /// libssh wipes its own copy. Ends with a NUL.
  const char* password() const { return options_.password.text().data(); }

  int await(const std::function<int()>& attempt) const {
    const int answer = await_answer(session_, end_, options_.stop, [&] {
      const int outcome = attempt();
      return outcome == SSH_AUTH_AGAIN ? SSH_AGAIN : outcome == SSH_AUTH_ERROR ? SSH_ERROR : outcome;
    });
    return answer == SSH_AGAIN ? SSH_AUTH_AGAIN : answer == SSH_ERROR ? SSH_AUTH_ERROR : answer;
  }

  const SessionPointer& session_;
  const SshStation& station_;
  const ConnectOptions& options_;
  std::chrono::steady_clock::time_point end_;
  std::string tried_ = "keys";
  std::vector<std::string> missing_;  ///< Identity files of the configuration that do not exist.
};

}  // namespace

Result<void> authenticate(const SessionPointer& session, const SshStation& station, const ConnectOptions& options,
                          std::optional<LockedKey>& locked) {
  auto by_keys = Login(session, station, options).by_keys(locked);
  if (by_keys || options.password.empty() || by_keys.error().code != ErrorCode::kPermissionDenied) return by_keys;
  if (locked && options.keys) return by_keys;  // The passphrase comes first.
  return Login(session, station, options).by_password();
}

}  // namespace sparkplan::ssh
