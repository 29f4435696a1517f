// Queries to systemd over its own socket: the covered queries, the bytes, and a systemd with late, wrong or missing
// answers.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/bus_message.h"
#include "engine/agent/node/systemd_bus.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;
using Properties = std::vector<std::string_view>;
using Units = std::vector<UnitProperties>;
using namespace std::chrono_literals;

const Words kNames{"a.service"};
const Properties kActiveState{"ActiveState"};

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

/// A message as systemd writes it: `type` 2 returns a value, 3 is an error, 4 a signal. `body` begins at a multiple of
/// 8.
std::string message(char type, std::uint32_t answers, const std::string& body) {
  const std::string none(1, '\0');
  std::string fields = "\x05\x01u" + none + number(answers);
  fields = padded(fields, 8) + "\x07\x01s" + none + text("org.freedesktop.systemd1");
  fields = padded(fields, 8) + "\x08\x01g" + none + "\x05" + "a{sv}" + none;
  std::string header = std::string("l") + type + "\x01\x01" + number(static_cast<std::uint32_t>(body.size())) +
                       number(77) + number(static_cast<std::uint32_t>(fields.size())) + fields;
  return padded(header, 8) + body;
}

struct Property {
  std::string name;
  std::string type;
  std::string bytes;          ///< The encoded value.
  std::size_t alignment = 4;  ///< Alignment of the value's first byte.
};

/// The body of a message that answers GetAll.
std::string all(const std::vector<Property>& properties) {
  const std::string none(1, '\0');
  std::string list(8, '\0');  // The length, and padding for the first entry.
  for (const Property& one : properties) {
    list = padded(list, 8) + text(one.name);
    list.push_back(static_cast<char>(one.type.size()));
    list = padded(list + one.type + none, one.alignment) + one.bytes;
  }
  return number(static_cast<std::uint32_t>(list.size() - 8)) + list.substr(4);
}

Property plain(const std::string& name, const std::string& value) { return {name, "s", text(value)}; }

/// One connection, answered by `play`, which receives all bytes up to the last call.
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

/// Reads until the peer has sent all of `last`.
void hear(int connection, const std::string& last, std::string* all = nullptr) {
  std::string heard;
  std::array<char, 4096> part{};
  while (heard.find(last) == std::string::npos) {
    const auto size = ::recv(connection, part.data(), part.size(), 0);
    if (size <= 0) return;
    heard.append(part.data(), static_cast<std::size_t>(size));
    if (all != nullptr) *all = heard;
  }
}

void hear_all(int connection) { hear(connection, "there is no such text"); }

}  // namespace

TEST_CASE("a unit's object path escapes its name character by character", "[agent][systemd]") {
  CHECK(object_name("tune.service") == "tune_2eservice");
  CHECK(object_name("1-a@x\\x20b.mount") == "_31_2da_40x_5cx20b_2emount");
}

TEST_CASE("a call follows the D-Bus specification byte for byte", "[agent][systemd]") {
  const std::string call = properties_call(7, "a.service");
  const std::string none(1, '\0');
  CHECK(call.starts_with("l\x01" + none + "\x01"));
  const std::string body = text("");
  CHECK(call.ends_with(body));
  CHECK(call.substr(4, 8) == number(static_cast<std::uint32_t>(body.size())) + number(7));
  CHECK((call.size() - body.size()) % 8 == 0);
  CHECK(call.find(text("/org/freedesktop/systemd1/unit/a_2eservice")) != std::string::npos);
}

TEST_CASE("a value has the text that systemctl prints, or is left to systemctl", "[agent][systemd]") {
  const auto printed = [](const Property& property) {
    std::string bytes = message(2, 3, all({plain("Before", "x"), property, plain("After", "y")}));
    const auto reply = take_reply(bytes, Properties{property.name});
    REQUIRE(reply);
    REQUIRE(*reply);
    CHECK(bytes.empty());
    CHECK((*reply)->serial == 3);
    REQUIRE((*reply)->values.size() == 1);
    return (*reply)->values.at(property.name);
  };
  const std::string largest(8, '\xff');
  CHECK(printed(plain("P", "active")) == "active");
  CHECK(printed(plain("P", "")) == "");
  CHECK(printed({"P", "b", number(1)}) == "yes");
  CHECK(printed({"P", "b", number(0)}) == "no");
  CHECK(printed({"P", "u", number(42)}) == "42");
  CHECK(printed({"P", "t", number(5) + number(1), 8}) == "4294967301");
  CHECK(printed({"ConditionTimestampMonotonic", "t", number(7) + number(0), 8}) == "7");
  CHECK(printed({"LimitMEMLOCK", "t", number(8388608) + number(0), 8}) == "8388608");
  CHECK(printed({"LimitMEMLOCK", "t", largest, 8}) == "infinity");
  CHECK(printed({"InvocationID", "ay", number(2) + "\x0a\xff"}) == "0aff");
  CHECK(printed({"P", "as", number(0)}) == "");
  const std::string list = padded(text("/a"), 4) + text("/b");
  CHECK(printed({"P", "as", number(static_cast<std::uint32_t>(list.size())) + list}) == "/a /b");
  // Times, sizes, modes, and unset properties.
  for (const Property& other : std::vector<Property>{{"TimeoutStartUSec", "t", number(5) + number(0), 8},
                                                     {"ActiveEnterTimestamp", "t", number(5) + number(0), 8},
                                                     {"MemoryCurrent", "t", largest, 8},
                                                     {"UMask", "u", number(18)},
                                                     {"StandardInputData", "ay", number(2) + "ab"}}) {
    INFO(other.name);
    std::string bytes = message(2, 3, all({other}));
    CHECK_FALSE(take_reply(bytes, Properties{other.name}));
  }
}

TEST_CASE("unrequested properties are skipped, whatever their type", "[agent][systemd]") {
  const std::string none(1, '\0');
  const Property other = GENERATE_COPY(
      Property{"O", "y", "x", 1},
      Property{"O", "g",
               "\x02"
               "as" +
                   none,
               1},
      Property{"O", "x", std::string(8, 'x'), 8}, Property{"O", "q", "ab", 2},
      Property{"O", "(uo)", number(7) + text("/o"), 8},
      Property{"O", "a(sasbttttuii)", number(0) + std::string(4, '\0'), 4},
      Property{"O", "aay", number(8) + number(2) + "abcd"}, Property{"O", "a{ss}", number(0) + std::string(4, '\0'), 4},
      Property{"O", "v", "\x01y" + none + "z", 1}, Property{"O", "(bs)", number(1) + text("x"), 8});
  CAPTURE(other.type);
  std::string bytes = message(2, 3, all({plain("P", "1"), other, plain("Q", "2")}));
  const auto reply = take_reply(bytes, Properties{"P", "Q"});
  REQUIRE(reply);
  REQUIRE(*reply);
  CHECK((*reply)->values == std::map<std::string, std::string>{{"P", "1"}, {"Q", "2"}});
}

TEST_CASE("a partial message waits, an error reply is returned, and an invalid message is refused",
          "[agent][systemd]") {
  const Properties wanted{"P"};
  const std::string whole = message(2, 3, all({plain("P", "active")}));
  std::string half = whole.substr(0, whole.size() - 1);
  auto none = take_reply(half, wanted);
  REQUIRE(none);
  CHECK_FALSE(*none);
  CHECK(half.size() == whole.size() - 1);
  std::string failed = message(3, 9, text("no such thing")) + "next";
  const auto error = take_reply(failed, wanted);
  REQUIRE(error);
  REQUIRE(*error);
  CHECK((*error)->is_error);
  CHECK((*error)->serial == 9);
  CHECK(failed == "next");
  const std::string list = text("/a b");
  std::string damaged = GENERATE_COPY(
      message(2, 3, all({{"P", "(ss)", text("a"), 8}})), message(2, 3, all({{"P", "s", number(1000) + "short"}})),
      message(2, 3, all({{"P", "as", number(static_cast<std::uint32_t>(list.size())) + list}})),
      message(2, 3, all({plain("P", "two\nlines")})), message(2, 3, all({{"O", "s", number(1000) + "short"}})),
      message(2, 3, all({{"O", "(", "", 1}})), "B" + whole.substr(1),
      whole.substr(0, 4) + number(1U << 30U) + whole.substr(8), message(2, 3, ""), std::string(64, '\xff'));
  CHECK_FALSE(take_reply(damaged, wanted));
}

TEST_CASE("systemd's answers may arrive in parts, in any order and among signals", "[agent][systemd]") {
  const SystemdOfTheTest systemd([](int connection) {
    hear(connection, "BEGIN\r\n");
    say(connection, "OK 0123456789abcdef0123456789abcdef\r");
    say(connection, "\n");
    hear(connection, "b_2eservice");
    const std::string second = message(2, 2, all({plain("Type", "simple"), plain("ActiveState", "active")}));
    say(connection, message(4, 0, text("unasked")) + second.substr(0, 30));
    say(connection, second.substr(30) + message(2, 1, all({plain("ActiveState", "failed")})));
    hear_all(connection);
  });
  const Properties properties{"ActiveState", "Type"};
  const auto answer = units_by_bus(Words{"a.service", "b.service"}, properties, 10s, systemd.path());
  REQUIRE(answer);
  CHECK(*answer == Units{{{"ActiveState", "failed"}}, {{"ActiveState", "active"}, {"Type", "simple"}}});
}

TEST_CASE("the login is sent alone, because systemd reads it only when more follows", "[agent][systemd]") {
  std::string first;
  {
    const SystemdOfTheTest systemd([&first](int connection) {
      hear(connection, "BEGIN\r\n", &first);
      hear_all(connection);
    });
    CHECK_FALSE(units_by_bus(kNames, kActiveState, 20ms, systemd.path()));
  }
  CHECK(first.ends_with("BEGIN\r\n"));
}

TEST_CASE("a rejected, unanswered or misunderstood query falls back to systemctl", "[agent][systemd]") {
  SECTION("no socket") {
    const auto answer = units_by_bus(kNames, kActiveState, 10s, "/nonexistent/private");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kNotFound);
  }
  SECTION("rejected") {
    const SystemdOfTheTest systemd([](int connection) {
      hear(connection, "BEGIN");
      say(connection, "REJECTED EXTERNAL\r\n");
      hear_all(connection);
    });
    CHECK_FALSE(units_by_bus(kNames, kActiveState, 10s, systemd.path()));
  }
  SECTION("no answer, which systemctl would not get either") {
    const SystemdOfTheTest systemd(hear_all);
    const auto answer = units_by_bus(kNames, kActiveState, 20ms, systemd.path());
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kUnreachable);
  }
  SECTION("connection closed") {
    const SystemdOfTheTest systemd([](int connection) { hear(connection, "BEGIN"); });
    CHECK_FALSE(units_by_bus(kNames, kActiveState, 10s, systemd.path()));
  }
  SECTION("no such unit") {
    const SystemdOfTheTest systemd([](int connection) {
      hear(connection, "BEGIN\r\n");
      say(connection, "OK 01\r\n");
      hear(connection, "GetAll");
      say(connection, message(3, 1, text("no unit")));
      hear_all(connection);
    });
    CHECK_FALSE(units_by_bus(kNames, kActiveState, 10s, systemd.path()));
  }
}

TEST_CASE("systemctl gives the same values as the bus", "[agent][systemd]") {
  const Words names{"a.service", "b.service"};
  const Properties properties{"Id", "ActiveState", "LimitMEMLOCK", "DropInPaths"};
  const SystemdOfTheTest systemd([](int connection) {
    hear(connection, "BEGIN\r\n");
    say(connection, "OK 01\r\n");
    hear(connection, "b_2eservice");
    const std::string paths = padded(text("/a"), 4) + text("/b");
    say(connection, message(2, 1,
                            all({plain("Id", "a.service"),
                                 plain("ActiveState", "active"),
                                 {"LimitMEMLOCK", "t", std::string(8, '\xff'), 8},
                                 {"DropInPaths", "as", number(static_cast<std::uint32_t>(paths.size())) + paths}})));
    say(connection, message(2, 2, all({plain("Id", "b.service"), plain("ActiveState", "inactive")})));
    hear_all(connection);
  });
  test::FakeNode node;
  node.script("systemctl show --no-pager --property Id,ActiveState,LimitMEMLOCK,DropInPaths -- a.service b.service",
              {0,
               "LimitMEMLOCK=infinity\nId=a.service\nActiveState=active\nDropInPaths=/a /b\n\nId=b.service\n"
               "ActiveState=inactive\n",
               ""});
  const auto by_bus = units_by_bus(names, properties, 10s, systemd.path());
  const auto by_systemctl = units_by_systemctl(names, properties, node, 10s);
  REQUIRE(by_bus);
  REQUIRE(by_systemctl);
  CHECK(*by_bus == *by_systemctl);
  CHECK(property_of(by_bus->front(), "LimitMEMLOCK") == "infinity");
}

TEST_CASE("a systemctl that fails, is missing or omits a unit is an error", "[agent][systemd]") {
  const std::string line = "systemctl show --no-pager --property ActiveState -- a.service";
  test::FakeNode node;
  CHECK(units_by_systemctl(kNames, kActiveState, node, 10s).error().code == ErrorCode::kUnsupported);
  node.script(line, {1, "", "Failed to connect to bus\nsecond line\n"});
  CHECK(units_by_systemctl(kNames, kActiveState, node, 10s).error().message ==
        "systemctl show: Failed to connect to bus");
  node.script(line, {0, "", ""});
  CHECK(units_by_systemctl(kNames, kActiveState, node, 10s).error().code == ErrorCode::kFailed);
}

}  // namespace sparkplan
