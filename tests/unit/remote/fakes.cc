#include "tests/unit/remote/fakes.h"

#include <sys/utsname.h>

#include <algorithm>
#include <thread>

#include "engine/core/text.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/remote/transport/remote_commands.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    react(peer_->on_read);
    if (!peer_->output.empty()) {
      const auto size = peer_->output.size();
      into += std::exchange(peer_->output, "");
      return size;
    }
    if (peer_->cut) return failure(ErrorCode::kUnreachable, "the connection broke (read)");
    if (peer_->ended) return failure(ErrorCode::kNotFound, "end of stream");
    std::this_thread::sleep_for(patience);  // As a real channel waits for missing bytes.
    return std::size_t{0};
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds) override {
    if (peer_->ended || peer_->cut) return failure(ErrorCode::kUnreachable, "it takes no more input");
    peer_->written += bytes;
    react(peer_->on_write);
    return {};
  }
  void close_input() override {
    peer_->input_closed = true;
    react(peer_->on_write);
  }
  std::optional<int> exit_status() override { return peer_->status; }
  const std::string& standard_error() const override { return peer_->standard_error; }

 private:
  /// By copy: a reaction may replace itself.
  void react(std::function<void(Peer&)> reaction) const { reaction(*peer_); }

  std::shared_ptr<Peer> peer_;
};

class FakeConnection final : public Connection {
 public:
  FakeConnection(std::vector<std::shared_ptr<Peer>> peers, std::shared_ptr<RemoteHost> host)
      : peers_(std::move(peers)), host_(std::move(host)), key_(host_->key) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    if (host_->next == peers_.size()) return failure(ErrorCode::kBug, "the test has no further program");
    const auto& peer = peers_[host_->next++];
    peer->connection = host_->connections;
    peer->program = program;
    peer->elevation = elevation;
    return std::make_unique<FakeChannel>(peer);
  }
  std::string host_key() const override { return key_; }
  bool host_key_is_new() const override { return host_->key_is_new; }
  std::string user() const override { return host_->user; }
  std::string peer_address() const override { return host_->address; }

 private:
  std::vector<std::shared_ptr<Peer>> peers_;
  std::shared_ptr<RemoteHost> host_;
  std::string key_;
};

void install(Peer& peer) {
  const auto put = peer.written.find(kInstallerPut);
  const auto line_end = peer.written.find('\n', put == std::string::npos ? 0 : put);
  if (put == std::string::npos || line_end == std::string::npos || !peer.input_closed || peer.ended) return;
  const auto header = peer.written.substr(put, line_end - put);
  const auto bytes = peer.written.substr(line_end + 1);
  peer.ended = true;
  peer.status = 65;
  if (header != kInstallerPut) return;
  const auto architectures = agent_architectures();
  const bool is_ours = std::any_of(architectures.begin(), architectures.end(), [&](const std::string& architecture) {
    for (const auto& image : {agent_image(architecture), nccl_rank_image(architecture), job_image(architecture)}) {
      if (image && image->packed == bytes) return true;
    }
    return false;
  });
  if (!is_ours) return;
  peer.status = 0;
  peer.output += std::string(kInstallerDone) + "\n";
}

}  // namespace

Peer& Remote::add(Peer peer) {
  peers_->push_back(std::make_shared<Peer>(std::move(peer)));
  return *peers_->back();
}

AgentOptions Remote::options(InstallPolicy install) const {
  AgentOptions options;
  options.connector = [peers = peers_, host = host_](const NodeSpec&,
                                                     const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    ++host->connections;
    return std::make_unique<FakeConnection>(*peers, host);
  };
  options.install = install;
  options.reply_timeout = std::chrono::seconds(20);  // Successful calls do not wait.
  return options;
}

std::size_t Remote::started() const {
  return static_cast<std::size_t>(
      std::count_if(peers_->begin(), peers_->end(), [](const auto& peer) { return peer->program.has_value(); }));
}

Result<Value> answer_usually(const Request& request) {
  if (!std::holds_alternative<FactsRequest>(request)) return Value::map();
  FactsReply reply;
  reply.facts.hostname = "spark-01";
  return encode(reply);
}

Hello own_hello() {
  utsname machine{};
  ::uname(&machine);
  const auto image = agent_image(machine.machine);
  REQUIRE(image);
  return Hello{kProtocolMajor, kProtocolMinor, image->build, machine.machine, {"sysctl"}};
}

Peer agent(const Hello& hello, Handler handler) {
  Peer peer;
  peer.output = std::string(kPreamble) + framed(encode(hello));
  auto reader = std::make_shared<FrameReader>();
  auto seen = std::make_shared<std::size_t>(0);
  peer.on_write = [reader, seen, handler](Peer& self) {
    reader->feed(std::string_view(self.written).substr(std::exchange(*seen, self.written.size())));
    while (true) {
      const auto message = reader->next();
      REQUIRE(message);
      if (!*message) return;
      const auto request = decode_request(**message);
      REQUIRE(request);
      if (std::holds_alternative<StopNotice>(request->request)) continue;
      self.output += framed(encode(NumberedReply{request->id, handler(request->request)}));
    }
  };
  return peer;
}

Peer no_agent() {
  Peer peer;
  peer.ended = true;
  peer.status = kNoAgentStatus;
  return peer;
}

Peer installer(const std::string& architecture) {
  Peer peer;
  peer.output = "Last login: yesterday\n" + std::string(kInstallerGreeting) + " " + architecture + "\n";
  peer.on_write = install;
  return peer;
}

Peer behind_sudo(Peer peer, const std::string& password) {
  const auto output = std::exchange(peer.output, "");
  const auto react = std::exchange(peer.on_write, [](Peer&) {});
  peer.standard_error = std::string(kSudoPrompt);
  peer.on_write = [=](Peer& self) {
    if (self.written != password + "\n") {
      self.standard_error += "Sorry, try again.\n" + std::string(kSudoPrompt);
      return;
    }
    self.written.clear();
    self.output = output;
    self.on_write = react;
  };
  return peer;
}

Secret secret(std::string_view text) {
  auto kept = Secret::copy_of(text);
  REQUIRE(kept);
  return *kept;
}

std::string framed(const Value& message) {
  auto frame = encode_frame(message);
  REQUIRE(frame);
  return *frame;
}

NodeSpec node(const std::string& user) {
  NodeSpec spec{*NodeName::parse("spark-01"), 1, "10.0.0.11", {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  spec.ssh.user = user;
  return spec;
}

}  // namespace sparkplan::test
