#include "tests/support/fake_ssh.h"

#include <algorithm>
#include <utility>

#include "engine/core/digest.h"

namespace sparkplan::test {
namespace {

constexpr int kGetentNotFound = 2;
constexpr std::size_t kKeyBytes = 32;

/// RFC 4251, 5: a number of four bytes, and a string after its length.
std::string number(std::size_t value) {
  std::string bytes(4, '\0');
  for (std::size_t i = bytes.size(); i-- > 0; value >>= 8U) bytes[i] = static_cast<char>(value & 0xFFU);
  return bytes;
}

std::string text(const std::string& bytes) { return number(bytes.size()) + bytes; }

std::string public_blob(const std::string& comment, const std::string& seed) {
  return text("ssh-ed25519") + text(sha256(seed + "/" + comment).substr(0, kKeyBytes));
}

std::string word_after(const std::vector<std::string>& argv, const std::string& option) {
  const auto found = std::find(argv.begin(), argv.end(), option);
  return found == argv.end() || std::next(found) == argv.end() ? std::string() : *std::next(found);
}

std::string passwd_line(const FakeUser& user) {
  return user.name + ":x:" + std::to_string(user.uid) + ":" + std::to_string(user.gid) + "::" + user.home + ":" +
         user.shell + "\n";
}

std::string group_line(const FakeUser& user) { return user.name + ":x:" + std::to_string(user.gid) + ":\n"; }

}  // namespace

void install_fake_accounts(FakeNode& node, std::vector<FakeUser> users) {
  node.add_program("getent", [users = std::move(users)](const FakeNode::Call& call) -> Result<CommandOutput> {
    const std::string& key = call.argv.back();
    const bool group = call.argv.at(1) == "group";
    for (const FakeUser& user : users) {
      const int id = group ? user.gid : user.uid;
      if (user.name != key && std::to_string(id) != key) continue;
      return CommandOutput{0, group ? group_line(user) : passwd_line(user), ""};
    }
    return CommandOutput{kGetentNotFound, "", ""};
  });
}

void install_fake_ssh_keygen(FakeNode& node, const std::string& seed) {
  node.add_program("ssh-keygen", [seed](const FakeNode::Call& call) -> Result<CommandOutput> {
    const std::string file = word_after(call.argv, "-f");
    const std::string comment = word_after(call.argv, "-C");
    if (call.writable == nullptr) return failure(ErrorCode::kBug, "a key was made while looking");
    call.writable->put_file(file, fake_private_key(comment, seed));
    call.writable->put_file(file + ".pub", fake_public_key(comment, seed) + " " + comment + "\n");
    return CommandOutput{0, "", ""};
  });
}

void add_fake_key(FakeNode& node, const FakeUser& user, const std::string& comment, const std::string& seed) {
  const std::string file = user.home + "/.ssh/sparkplan_ed25519";
  const auto uid = static_cast<std::uint32_t>(user.uid);
  const auto gid = static_cast<std::uint32_t>(user.gid);
  node.add_file(file, fake_private_key(comment, seed), 0600, uid, gid);
  node.add_file(file + ".pub", fake_public_key(comment, seed) + " " + comment + "\n", 0644, uid, gid);
}

std::string fake_public_key(const std::string& comment, const std::string& seed) {
  return "ssh-ed25519 " + base64_encode(public_blob(comment, seed));
}

std::string fake_private_key(const std::string& comment, const std::string& seed) {
  const std::string blob = std::string("openssh-key-v1\0", 15) + text("none") + text("none") + text("") + number(1) +
                           text(public_blob(comment, seed)) + text("the secret part of " + comment);
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64_encode(blob) + "\n-----END OPENSSH PRIVATE KEY-----\n";
}

}  // namespace sparkplan::test
