// Private keys with a passphrase.
#include "engine/remote/keys/unlocked_keys.h"

#include <libssh/libssh.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/core/digest.h"
#include "engine/remote/keys/private_key_file.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

constexpr const char* kPassphrase = "correct horse";

/// A key file as ssh-keygen writes it.
std::string key_file(const ScratchDirectory& root, const std::string& name, const char* passphrase) {
  ssh_key key = nullptr;
  REQUIRE(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK);
  const auto path = (root / name).string();
  REQUIRE(ssh_pki_export_privkey_file(key, passphrase, nullptr, nullptr, path.c_str()) == SSH_OK);
  ssh_key_free(key);
  return path;
}

Result<Secret> secret(const std::string& text) { return Secret::copy_of(text); }

bool is_unlocked(const UnlockedKeys& keys, const std::string& path) {
  ssh_key_struct* key = keys.copy_of(path);
  ssh_key_free(key);
  return key != nullptr;
}

}  // namespace

TEST_CASE("keys: a key file shows whether it is encrypted, and its public key") {
  const ScratchDirectory root;
  for (const char* passphrase : {static_cast<const char*>(nullptr), kPassphrase}) {
    const auto text = read_private_key(key_file(root, "/key", passphrase));
    REQUIRE(text);
    const auto form = form_of_private_key(*text);
    CHECK(form.encrypted == (passphrase != nullptr));
    CHECK(form.type == "ssh-ed25519");
    CHECK(form.public_key.starts_with("AAAAC3NzaC1lZDI1NTE5"));
  }
  CHECK(form_of_private_key("-----BEGIN ENCRYPTED PRIVATE KEY-----\nx\n").encrypted);
  CHECK(form_of_private_key("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n").encrypted);
}

TEST_CASE("keys: a text that is no key, or is cut off, is not taken for an encrypted one") {
  const ScratchDirectory root;
  const auto text = read_private_key(key_file(root, "/key", nullptr));
  REQUIRE(text);
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  const std::string end = "\n-----END OPENSSH PRIVATE KEY-----\n";
  const std::string magic("openssh-key-v1\0", 15);
  for (const std::string& bad :
       {std::string(), std::string("hello"), text->substr(0, text->size() / 2), begin + end, begin + "!!!!" + end,
        begin + base64_encode(magic) + end, begin + base64_encode(magic + "\xff\xff\xff\xff") + end}) {
    const auto form = form_of_private_key(bad);
    CHECK_FALSE(form.encrypted);
    CHECK(form.public_key.empty());
  }
}

TEST_CASE("keys: the passphrase of a key is asked for once, for all threads") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  std::atomic<int> asked = 0;
  UnlockedKeys keys([&](const KeyQuestion& question) {
    CHECK(question.file == "~/key");
    CHECK(question.server == "spark-01");
    CHECK_FALSE(question.again);
    ++asked;
    return secret(kPassphrase);
  });
  CHECK_FALSE(is_unlocked(keys, path));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { (void)keys.unlock(path, "~/key", "spark-01"); });
  }
  CHECK(asked == 1);
  CHECK(is_unlocked(keys, path));
}

TEST_CASE("keys: a wrong passphrase is asked for again, three times in all, and not for the next node") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  int asked = 0;
  UnlockedKeys keys([&](const KeyQuestion& question) {
    CHECK(question.again == (asked > 0));
    return secret(++asked < 3 ? "wrong" : kPassphrase);
  });
  CHECK(keys.unlock(path, "~/key", "spark-01"));
  CHECK(asked == 3);
  UnlockedKeys never([&](const KeyQuestion&) {
    ++asked;
    return secret("wrong");
  });
  asked = 0;
  for (int node = 0; node < 2; ++node) {
    const auto refused = never.unlock(path, "~/key", "spark-01");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kPermissionDenied);
    CHECK(refused.error().message == "the passphrase of the key ~/key was wrong");
    CHECK(refused.error().hint == "run the command again, or load the key into ssh-agent with `ssh-add ~/key`");
  }
  CHECK(asked == 3);
}

TEST_CASE("keys: without a terminal the key is named") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  UnlockedKeys keys([](const KeyQuestion&) { return Result<Secret>(failure(ErrorCode::kFailed, "no terminal")); });
  const auto refused = keys.unlock(path, "~/key", "spark-01");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the key ~/key has a passphrase, and no terminal");
  CHECK(refused.error().hint == "run sparkplan on a terminal, or load the key into ssh-agent with `ssh-add ~/key`");
}

TEST_CASE("keys: a user who gives no passphrase is not sent to a terminal") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  UnlockedKeys keys([](const KeyQuestion&) { return secret(""); });
  const auto refused = keys.unlock(path, "~/key", "spark-01");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "the key ~/key has a passphrase, and none was given");
  CHECK(refused.error().hint.find("terminal") == std::string::npos);
}

TEST_CASE("keys: after a stop at a question, no other connection asks, also not for another key") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  const auto other = key_file(root, "/other", kPassphrase);
  std::atomic<int> asked = 0;
  std::atomic<int> stopped = 0;
  UnlockedKeys keys([&](const KeyQuestion&) {
    ++asked;
    return Result<Secret>(failure(ErrorCode::kInterrupted, "stopped"));
  });
  {
    std::vector<std::jthread> nodes;
    for (int i = 0; i < 3; ++i) {
      nodes.emplace_back([&] {
        const auto unlocked = keys.unlock(path, "~/key", "spark-01");
        if (!unlocked && unlocked.error().code == ErrorCode::kInterrupted) ++stopped;
      });
    }
  }
  CHECK_FALSE(keys.unlock(other, "~/other", "spark-01"));
  CHECK(asked == 1);
  CHECK(stopped == 3);
}

TEST_CASE("keys: a stop at the question is a stop") {
  const ScratchDirectory root;
  const auto path = key_file(root, "/key", kPassphrase);
  UnlockedKeys keys([](const KeyQuestion&) { return Result<Secret>(failure(ErrorCode::kInterrupted, "stopped")); });
  const auto stopped = keys.unlock(path, "~/key", "spark-01");
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kInterrupted);
}

}  // namespace sparkplan
