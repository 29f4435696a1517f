#include "tests/integration/lab/lock_taker.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "engine/wire/messages.h"

namespace sparkplan::test {
namespace {

ChildProcess start_agent(const Host& host) {
  const auto argv = Lab::get().exec_command(host.number(), {kAgentFile, "--stdio"});
  auto started = ChildProcess::start("/usr/bin/env", {argv.begin() + 1, argv.end()});
  if (!started) throw std::runtime_error(started.error().describe());
  return std::move(*started);
}

}  // namespace

LockTaker::LockTaker(const Host& host, const std::string& who) : agent_(start_agent(host)) {
  const LockHolder holder{who, 4242, "apply", "2026-01-01T00:00:00Z"};
  const auto frame = encode_frame(encode(NumberedRequest{1, LockRequest{holder}}));
  const auto opening = std::string(kPreamble) + frame.value();
  if (::write(agent_.standard_input(), opening.data(), opening.size()) != static_cast<ssize_t>(opening.size())) {
    throw std::runtime_error("the agent takes no request");
  }
  receive();  // The agent's greeting.
  const auto reply = decode_reply(receive());
  if (!reply || !reply->body) throw std::runtime_error("the agent gave no lock");
}

Value LockTaker::receive() {
  while (true) {
    auto message = reader_.next();
    if (!message) throw std::runtime_error(message.error().describe());
    if (*message) return std::move(**message);
    pollfd readable{agent_.standard_output(), POLLIN, 0};
    std::array<char, 4096> buffer{};
    if (::poll(&readable, 1, 20'000) != 1) throw std::runtime_error("the agent says nothing");
    const auto count = ::read(agent_.standard_output(), buffer.data(), buffer.size());
    if (count <= 0) throw std::runtime_error("the agent has ended");
    reader_.feed({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace sparkplan::test
