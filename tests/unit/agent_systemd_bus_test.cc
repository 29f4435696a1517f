// systemd asked over its own socket: what is asked this way, the bytes, and a systemd that answers late, badly or
// never.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "engine/agent/bus_message.h"
#include "engine/agent/file_descriptor.h"
#include "engine/agent/systemd_bus.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;
using namespace std::chrono_literals;

std::string number(std::uint32_t value) {
  std::string bytes;
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xFFU));
  return bytes;
}

std::string padded(std::string bytes, std::size_t to) {
  while (bytes.size() % to != 0) bytes.push_back('\0');
  return bytes;
}

std::string text(const std::string& value) { return number(static_cast<std::uint32_t>(value.size())) + value + '\0'; }

/// A message as systemd writes it: `type` 2 returns a value, 3 is an error, 4 a signal. `body` begins at a multiple
/// of 8.
std::string message(char type, std::uint32_t answers, const std::string& body) {
  const std::string none(1, '\0');
  std::string fields = "\x05\x01u" + none + number(answers);
  fields = padded(fields, 8) + "\x07\x01s" + none + text("org.freedesktop.systemd1");
  fields = padded(fields, 8) + "\x08\x01g" + none + "\x01v" + none;
  std::string header = std::string("l") + type + "\x01\x01" + number(static_cast<std::uint32_t>(body.size())) +
                       number(77) + number(static_cast<std::uint32_t>(fields.size())) + fields;
  return padded(header, 8) + body;
}

std::string value_of(const std::string& type, const std::string& bytes, std::size_t alignment = 4) {
  std::string body;
  body.push_back(static_cast<char>(type.size()));
  body += type + '\0';
  return padded(body, alignment) + bytes;
}

/// One connection, answered by `play`, which gets what was heard up to the last call.
class SystemdOfTheTest {
 public:
  explicit SystemdOfTheTest(std::function<void(int)> play) {
    std::string name = "/tmp/sparkplan-bus-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    path_ = name + "/private";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), address.sun_path);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    thread_ = std::thread([this, play = std::move(play)] {
      const FileDescriptor connection(::accept(listener_, nullptr, nullptr));
      play(connection.get());
    });
  }
  SystemdOfTheTest(const SystemdOfTheTest&) = delete;
  SystemdOfTheTest& operator=(const SystemdOfTheTest&) = delete;
  ~SystemdOfTheTest() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    std::filesystem::remove_all(directory_);
  }
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path directory_;
  std::string path_;
  int listener_ = -1;
  std::thread thread_;
};

void say(int connection, const std::string& bytes) {
  static_cast<void>(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// Hears until the other end has said all of `last`.
void hear(int connection, const std::string& last) {
  std::string heard;
  std::array<char, 4096> part{};
  while (heard.find(last) == std::string::npos) {
    const auto size = ::recv(connection, part.data(), part.size(), 0);
    if (size <= 0) return;
    heard.append(part.data(), static_cast<std::size_t>(size));
  }
}

void hear_all(int connection) { hear(connection, "there is no such text"); }

UnitQuestion two_properties() { return {UnitQuestion::Form::kShow, false, {"ActiveState", "Type"}, {"tune.service"}}; }

}  // namespace

TEST_CASE("plain questions about units are asked of systemd, all others of systemctl", "[agent][systemd]") {
  const auto question = unit_question(
      Words{"systemctl", "show", "--no-pager", "--property", "Id,Result", "--", "a.service", "b@1.timer"});
  REQUIRE(question);
  CHECK(question->properties == Words{"Id", "Result"});
  CHECK(question->units == Words{"a.service", "b@1.timer"});
  const auto active = unit_question(Words{"systemctl", "is-active", "--quiet", "a.timer"});
  REQUIRE(active);
  CHECK(active->quiet);
  CHECK(active->properties == Words{"ActiveState"});
  const Words others = GENERATE(
      Words{"systemctl", "start", "a.service"}, Words{"systemctl", "show"},
      Words{"networkctl", "is-active", "a.service"}, Words{"systemctl", "show", "--property=ExecStart", "a.service"},
      Words{"systemctl", "show", "--property=Id", "a"},
      Words{"systemctl", "show", "--property=Id", "--all", "a.service"}, Words{"systemctl", "show", "a.service"},
      Words{"systemctl", "show", "--property=Id", "*.service"}, Words{"systemctl", "show", "--property=Id", "a.thing"},
      Words{"systemctl", "is-active", "a.service", "b.service"}, Words{"systemctl", "show", "--property", "Id"});
  CAPTURE(others);
  CHECK_FALSE(unit_question(others));
}

TEST_CASE("an object is named after its unit, letter by letter", "[agent][systemd]") {
  CHECK(object_name("tune.service") == "tune_2eservice");
  CHECK(object_name("1-a@x\\x20b.mount") == "_31_2da_40x_5cx20b_2emount");
}

TEST_CASE("a call is a message of the D-Bus specification", "[agent][systemd]") {
  const std::string call = property_call(7, "a.service", "org.freedesktop.systemd1.Unit", "Id");
  const std::string none(1, '\0');
  CHECK(call.starts_with("l\x01" + none + "\x01"));
  const std::string body = text("org.freedesktop.systemd1.Unit") + none + none + text("Id");
  CHECK(call.ends_with(body));
  CHECK(call.substr(4, 8) == number(static_cast<std::uint32_t>(body.size())) + number(7));
  CHECK((call.size() - body.size()) % 8 == 0);
  CHECK(call.find(text("/org/freedesktop/systemd1/unit/a_2eservice")) != std::string::npos);
}

TEST_CASE("a value is told as systemctl prints it", "[agent][systemd]") {
  const auto told = [](const std::string& body) {
    std::string bytes = message(2, 3, body);
    const auto reply = take_reply(bytes);
    REQUIRE(reply);
    REQUIRE(*reply);
    CHECK(bytes.empty());
    CHECK((*reply)->serial == 3);
    return (*reply)->text.value_or("nothing");
  };
  CHECK(told(value_of("s", text("active"))) == "active");
  CHECK(told(value_of("s", text(""))) == "");
  CHECK(told(value_of("b", number(1))) == "yes");
  CHECK(told(value_of("b", number(0))) == "no");
  CHECK(told(value_of("u", number(42))) == "42");
  CHECK(told(value_of("t", number(5) + number(1), 8)) == "4294967301");
  CHECK(told(value_of("ay", number(2) + "\x0a\xff")) == "0aff");
  CHECK(told(value_of("as", number(0))) == "");
  const std::string list = padded(text("/a"), 4) + text("/b c");
  CHECK(told(value_of("as", number(static_cast<std::uint32_t>(list.size())) + list)) == "/a /b c");
}

TEST_CASE("half a message waits, an error is one, and what is no message is refused", "[agent][systemd]") {
  const std::string whole = message(2, 3, value_of("s", text("active")));
  std::string half = whole.substr(0, whole.size() - 1);
  auto none = take_reply(half);
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK(half.size() == whole.size() - 1);
  std::string failed = message(3, 9, text("no such thing")) + "next";
  const auto error = take_reply(failed);
  REQUIRE(error);
  REQUIRE(*error);
  CHECK((*error)->is_error);
  CHECK((*error)->serial == 9);
  CHECK(failed == "next");
  std::string damaged =
      GENERATE_COPY(message(2, 3, value_of("(ss)", text("a"))), message(2, 3, value_of("s", number(1000) + "short")),
                    "B" + whole.substr(1), whole.substr(0, 4) + number(1U << 30U) + whole.substr(8), message(2, 3, ""),
                    std::string(64, '\xff'));
  CHECK_FALSE(take_reply(damaged));
}

TEST_CASE("systemd's answers come in parts, in any order and among signals", "[agent][systemd]") {
  const SystemdOfTheTest systemd([](int connection) {
    hear(connection, text("Type"));
    say(connection, "OK 0123456789abcdef0123456789abcdef\r");
    const std::string type = message(2, 2, value_of("s", text("oneshot")));
    say(connection, "\n" + message(4, 0, value_of("s", text("unasked"))) + type.substr(0, 30));
    say(connection, type.substr(30) + message(2, 1, value_of("s", text("failed"))));
    hear_all(connection);
  });
  const auto answer = ask_systemd(two_properties(), 10s, systemd.path());
  REQUIRE(answer);
  CHECK(answer->printed == "ActiveState=failed\nType=oneshot\n");
  CHECK(answer->exit_status == 0);
}

TEST_CASE("a property that this kind of unit has not is left out, as systemctl does", "[agent][systemd]") {
  const SystemdOfTheTest systemd([](int connection) {
    hear(connection, text("Type"));
    say(connection, "OK 01\r\n" + message(2, 1, value_of("s", text("active"))) + message(3, 2, text("no property")));
    hear_all(connection);
  });
  const auto answer = ask_systemd(two_properties(), 10s, systemd.path());
  REQUIRE(answer);
  CHECK(answer->printed == "ActiveState=active\n");
}

TEST_CASE("who is not let in, not answered or misunderstood asks systemctl", "[agent][systemd]") {
  SECTION("no socket") {
    const auto answer = ask_systemd(two_properties(), 10s, "/nonexistent/private");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kNotFound);
  }
  SECTION("not let in") {
    const SystemdOfTheTest systemd([](int connection) {
      hear(connection, "BEGIN");
      say(connection, "REJECTED EXTERNAL\r\n");
      hear_all(connection);
    });
    CHECK_FALSE(ask_systemd(two_properties(), 10s, systemd.path()));
  }
  SECTION("no answer") {
    const SystemdOfTheTest systemd(hear_all);
    const auto answer = ask_systemd(two_properties(), 20ms, systemd.path());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kUnreachable);
  }
  SECTION("hung up") {
    const SystemdOfTheTest systemd([](int connection) { hear(connection, "BEGIN"); });
    CHECK_FALSE(ask_systemd(two_properties(), 10s, systemd.path()));
  }
  SECTION("no such unit") {
    const SystemdOfTheTest systemd([](int connection) {
      hear(connection, text("Type"));
      say(connection, "OK 01\r\n" + message(3, 1, text("no unit")));
      hear_all(connection);
    });
    CHECK_FALSE(ask_systemd(two_properties(), 10s, systemd.path()));
  }
}

TEST_CASE("is-active ends as systemctl does", "[agent][systemd]") {
  UnitQuestion question{UnitQuestion::Form::kIsActive, false, {"ActiveState"}, {"a.service"}};
  CHECK(unit_answer(question, {{{"ActiveState", "active"}}}).exit_status == 0);
  CHECK(unit_answer(question, {{{"ActiveState", "reloading"}}}).exit_status == 0);
  CHECK(unit_answer(question, {{{"ActiveState", "failed"}}}).exit_status == 3);
  CHECK(unit_answer(question, {{{"ActiveState", "failed"}}}).printed == "failed\n");
  question.quiet = true;
  CHECK(unit_answer(question, {{{"ActiveState", "active"}}}).printed.empty());
}

}  // namespace sparkplan
