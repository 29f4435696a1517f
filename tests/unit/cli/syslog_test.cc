// The messages of `drift --syslog`, and that each one is valid under RFC 5424.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "engine/cli/output/drift_outputs.h"
#include "engine/cli/output/syslog_message.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/reports.h"

namespace sparkplan {
namespace {

using test::change;
using test::full_report;
using test::node;
using test::report_of;

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// A message parsed by the grammar of RFC 5424, section 6, character by character.
struct Parsed {
  int priority = -1;
  std::string time;
  std::string host;
  std::string program;
  std::string process;
  std::string id;
  std::string structured_data_id;
  Parameters parameters;
  std::string text;
};

class Parser {
 public:
  explicit Parser(std::string_view rest) : rest_(rest) {}

  /// Nothing when the text does not match the grammar.
  std::optional<Parsed> parse() {
    Parsed parsed;
    const bool is_message = take('<') && number(parsed.priority) && take('>') && take('1') && take(' ') &&
                            timestamp(parsed.time) && take(' ') && printable_ascii(parsed.host, 255) && take(' ') &&
                            printable_ascii(parsed.program, 48) && take(' ') && printable_ascii(parsed.process, 128) &&
                            take(' ') && printable_ascii(parsed.id, 32) && take(' ') && element(parsed) && take(' ');
    if (!is_message) return std::nullopt;
    parsed.text = rest_;
    return parsed;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(int& into) {
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') ++digits;
    if (digits == 0 || digits > 3) return false;
    into = std::stoi(std::string(rest_.substr(0, digits)));
    rest_.remove_prefix(digits);
    return into <= 191;
  }
  bool timestamp(std::string& into) {
    constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    if (rest_.size() < kShape.size()) return false;
    for (std::size_t i = 0; i < kShape.size(); ++i) {
      const bool fits = kShape[i] == 'd' ? rest_[i] >= '0' && rest_[i] <= '9' : rest_[i] == kShape[i];
      if (!fits) return false;
    }
    into = rest_.substr(0, kShape.size());
    rest_.remove_prefix(kShape.size());
    return true;
  }
  bool printable_ascii(std::string& into, std::size_t longest) {
    while (!rest_.empty() && rest_.front() > 32 && rest_.front() < 127) {
      into += rest_.front();
      rest_.remove_prefix(1);
    }
    return !into.empty() && into.size() <= longest;
  }
  bool name(std::string& into) {
    while (!rest_.empty() && rest_.front() > 32 && rest_.front() < 127 && rest_.front() != '=' &&
           rest_.front() != ']' && rest_.front() != '"') {
      into += rest_.front();
      rest_.remove_prefix(1);
    }
    return !into.empty() && into.size() <= 32;
  }
  bool value(std::string& into) {
    while (!rest_.empty() && rest_.front() != '"' && rest_.front() != ']') {
      if (take('\\') && (rest_.empty() || std::string_view("\"\\]").find(rest_.front()) == std::string_view::npos)) {
        return false;  // Section 6.3.3 permits it, and advises against it.
      }
      into += rest_.front();
      rest_.remove_prefix(1);
    }
    return is_valid_utf8(into);
  }
  bool element(Parsed& parsed) {
    if (!take('[') || !name(parsed.structured_data_id)) return false;
    while (take(' ')) {
      auto& [parameter, content] = parsed.parameters.emplace_back();
      if (!name(parameter) || !take('=') || !take('"') || !value(content) || !take('"')) return false;
    }
    return take(']');
  }

  std::string_view rest_;
};

const SyslogSender kSender{"controller", 4711, std::chrono::system_clock::time_point(std::chrono::milliseconds(1500))};

std::vector<std::string> rendered(const Report& report) {
  std::vector<std::string> lines;
  for (const auto& message : drift_messages(report, Cluster())) lines.push_back(render(message, kSender));
  return lines;
}

/// The parsed form of exactly one message.
Parsed parsed(const std::string& line) {
  INFO(line);
  const auto message = Parser(line).parse();
  REQUIRE(message);
  return *message;
}

/// A socket in place of the syslog daemon's.
class Listener {
 public:
  Listener() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(socket_); }

  std::string path() const { return (folder_ / "log").string(); }
  /// The next datagram; nothing if none is waiting.
  std::optional<std::string> receive() const {
    std::array<char, 16384> datagram{};
    const auto size = ::recv(socket_, datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (size < 0) return std::nullopt;
    return std::string(datagram.data(), static_cast<std::size_t>(size));
  }

 private:
  test::ScratchDirectory folder_;
  int socket_;
};

}  // namespace

TEST_CASE("syslog receives one message per field of each finding, and one per unreadable node") {
  CHECK(
      rendered(full_report()) ==
      std::vector<std::string>{
          R"(<28>1 1970-01-01T00:00:01.500000Z controller sparkplan 4711 drift [sparkplan@32473 cluster="lab" node="n1" resource="sysctl/a" field="persistent" before="1" after="2"] n1: sysctl/a persistent is 1, should be 2)",
          R"(<28>1 1970-01-01T00:00:01.500000Z controller sparkplan 4711 drift [sparkplan@32473 cluster="lab" node="n1" resource="sysctl/a" field="running" before="x"] n1: sysctl/a running is x, should be absent)",
          R"(<28>1 1970-01-01T00:00:01.500000Z controller sparkplan 4711 foreign [sparkplan@32473 cluster="lab" node="n1" resource="hosts/h" field="address" before="10.0.0.1" after="10.0.0.2"] n1: hosts/h address is 10.0.0.1, should be 10.0.0.2)",
          R"(<27>1 1970-01-01T00:00:01.500000Z controller sparkplan 4711 unreachable [sparkplan@32473 cluster="lab" node="n3" error="unreachable"] n3: no route to "n3")",
          R"(<27>1 1970-01-01T00:00:01.500000Z controller sparkplan 4711 unreadable [sparkplan@32473 cluster="lab" node="n4" error="permission_denied" resource="sysctl/c"] n4: sysctl/c: read it)"});
}

TEST_CASE("a cluster without findings sends nothing to syslog") {
  auto pending = node("n1");
  pending.plan.changes = {change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  CHECK(drift_messages(report_of({pending, node("n2")}), Cluster()).empty());
}

TEST_CASE("an error in the file is logged with its place and code, and a warning is not logged") {
  Report report;
  Diagnostic wrong;
  wrong.code = "yaml.unknown-key";
  wrong.message = "unknown key nodse";
  wrong.file = "cluster.yaml";
  wrong.where = {3, 1, 6};
  Diagnostic doubtful = wrong;
  doubtful.severity = Severity::kWarning;
  report.diagnostics = {wrong, doubtful};
  const auto lines = rendered(report);
  REQUIRE(lines.size() == 1);
  const auto message = parsed(lines[0]);
  CHECK(message.id == "invalid");
  CHECK(message.priority == 27);
  CHECK(message.parameters == Parameters{{"code", "yaml.unknown-key"}});
  CHECK(message.text == "cluster.yaml:3: unknown key nodse");
}

TEST_CASE("values survive a strict parser unchanged") {
  const std::string strange = R"(quote " backslash \ bracket ] equals = [x@1 y="z"])";
  auto drifted = node("n1");
  drifted.plan.changes = {change("sysctl/a", Origin::kDrift, {{"running", strange, "\xC3\xA4\xE2\x82\xAC"}})};
  const auto message = parsed(rendered(report_of({drifted})).at(0));
  CHECK(message.structured_data_id == "sparkplan@32473");
  CHECK(message.parameters == Parameters{{"cluster", "lab"},
                                         {"node", "n1"},
                                         {"resource", "sysctl/a"},
                                         {"field", "running"},
                                         {"before", strange},
                                         {"after", "\xC3\xA4\xE2\x82\xAC"}});
}

TEST_CASE("a node's text can neither forge a message nor control a terminal") {
  auto hostile = node("n1");
  const std::string evil = "x\" is=\"fine\"]\n<0>1 - - - - - - kernel: panic\r\x1b[2J\\\x7f\xff\xc2\x85\xe2\x80\xae";
  hostile.plan.changes = {change("sysctl/" + evil, Origin::kDrift, {{evil, evil, evil}})};
  hostile.error = Error{ErrorCode::kFailed, evil, {evil}, {}, evil};
  const auto lines = rendered(report_of({hostile}));
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    const auto message = parsed(line);
    CHECK(is_valid_utf8(line));
    CHECK(message.parameters[1] == std::pair<std::string, std::string>("node", "n1"));
    CHECK(printable(line) == line);
  }
  CHECK(parsed(lines[1]).parameters.size() == 6);
}

TEST_CASE("an invalid host name is converted to one that the grammar accepts") {
  const SyslogMessage message{SyslogSeverity::kWarning, "drift", {}, "text"};
  for (const auto& [given, shown] : std::vector<std::pair<std::string, std::string>>{
           {"", "-"}, {"two words", "twowords"}, {"\n\xC3\xA4", "-"}, {std::string(400, 'a'), std::string(255, 'a')}}) {
    CHECK(parsed(render(message, {given, 1, {}})).host == shown);
  }
}

TEST_CASE("a message stays within receivers' limits, however long its values are") {
  auto drifted = node("n1");
  std::string wide;
  for (int i = 0; i < 5000; ++i) wide += "\xE2\x82\xAC";
  drifted.plan.changes = {
      change("sysctl/" + wide, Origin::kDrift, {{wide, std::string(5000, ']'), std::string(5000, '"')}})};
  const auto line = rendered(report_of({drifted})).at(0);
  CHECK(line.size() < 8192);
  const auto message = parsed(line);
  CHECK(is_valid_utf8(line));
  CHECK(message.parameters[4].second.ends_with("]..."));
}

TEST_CASE("file contents and secret values are not logged") {
  auto drifted = node("n1");
  drifted.plan.changes = {change("profile_env/@file", Origin::kDrift, {{"content", "export A=hunter2", "export B=1"}}),
                          change("systemd_unit/a.service", Origin::kDrift, {{"content", "[Service]\nhunter2", ""}}),
                          change("file/etc/app.conf", Origin::kDrift, {{"content", "key=hunter2", "key=hunter3"}}),
                          change("systemd_unit/b.service", Origin::kDrift, {{"api_key", "hunter2", "hunter3"}}),
                          change("profile_env/HF_TOKEN", Origin::kDrift, {{"value", "hunter2", "hunter3"}}),
                          change("profile_env/db_password", Origin::kDrift, {{"value", "hunter2", Value()}})};
  // A later file sets the variable. The note quotes it, and so does an error.
  drifted.plan.changes.push_back(change("profile_env/API_KEY", Origin::kForeign, {{"value", "hunter2", "hunter3"}}));
  drifted.plan.changes.back().note = "/etc/profile.d/z.sh:3 sets it to 'hunter2' and is read later";
  drifted.plan.changes.push_back(change("profile_env/PIN_SECRET", Origin::kForeign, {{"value", "hunt", "1234"}}));
  drifted.plan.changes.back().note = "/etc/profile.d/z.sh:4 sets it to 'hunt' and is read later";
  drifted.plan.blocked.push_back(
      {*ResourceId::parse("profile_env/OTHER"), make_error(ErrorCode::kFailed, "hunter2?"), {}});
  const auto lines = rendered(report_of({drifted}));
  CHECK(lines.size() == 9);
  for (const auto& line : lines) {
    (void)parsed(line);
    CHECK(line.find("hunt") == std::string::npos);
  }
}

TEST_CASE("each message is a separate datagram with this process, this machine and the current time") {
  const Listener listener;
  const auto messages = drift_messages(full_report(), Cluster());
  const auto before = std::chrono::system_clock::now();
  REQUIRE(send_to_syslog(listener.path(), messages));
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  for (const auto& message : messages) {
    const auto datagram = listener.receive();
    REQUIRE(datagram);
    const auto received = parsed(*datagram);
    CHECK(received.id == message.id);
    CHECK(received.process == std::to_string(::getpid()));
    CHECK(received.host == host.data());
    CHECK(received.time >= parsed(render(message, {"h", 1, before})).time);
  }
  CHECK_FALSE(listener.receive());
}

TEST_CASE("an unreachable syslog is an error, except when no message is due") {
  const test::ScratchDirectory folder;
  const auto messages = drift_messages(full_report(), Cluster());
  const auto nowhere = (folder / "log").string();
  const auto sent = send_to_syslog(nowhere, messages);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().describe().find(nowhere) != std::string::npos);
  CHECK_FALSE(sent.error().hint.empty());
  CHECK_FALSE(send_to_syslog(nowhere + std::string(200, 'x'), messages));
  CHECK(send_to_syslog(nowhere, {}));
}

}  // namespace sparkplan
