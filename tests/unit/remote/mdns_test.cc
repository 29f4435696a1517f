// Finding machines by multicast DNS: the query, and the handling of answers, including hostile answers.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "engine/remote/discovery/mdns_message.h"
#include "engine/remote/discovery/mdns_query.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr const char* kService = "_ssh._tcp.local";

std::string labels(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += static_cast<char>(part.size()) + part;
  return text + '\0';
}

std::string word(unsigned int number) { return {static_cast<char>(number >> 8), static_cast<char>(number)}; }

std::string record(const std::string& name, unsigned int type, const std::string& data) {
  return name + word(type) + word(1) + word(0) + word(120) + word(static_cast<unsigned int>(data.size())) + data;
}

std::string answer(unsigned int answers, const std::string& records) {
  return word(0) + word(0x8400) + word(0) + word(answers) + word(0) + word(0) + records;
}

/// An answer like avahi's: the instance name points back to the service name (0xc00c), and the other records point to
/// the instance.
std::string spark(const std::string& last_of_address = "\x0b", unsigned int port = 22) {
  const std::string service = labels({"_ssh", "_tcp", "local"});
  const std::string instance = "\x08spark-01\xc0\x0c";
  const std::string host = labels({"spark-01", "local"});
  return answer(3, record(service, 12, instance) +
                       record("\x08spark-01\xc0\x0c", 33, word(0) + word(0) + word(port) + host) +
                       record(host, 1, std::string("\x0a\x00\x00", 3) + last_of_address));
}

/// A responder on this machine that sends this answer to each query.
class Responder {
 public:
  explicit Responder(const std::string& message) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    socklen_t length = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, message] {
      std::array<char, 512> buffer{};
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const auto count =
          ::recvfrom(socket_, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      asked_.assign(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
      ::sendto(socket_, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    });
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() { ::close(socket_); }

  std::uint16_t port() const { return port_; }
  std::string asked() {
    thread_.join();
    return asked_;
  }

 private:
  int socket_;
  std::uint16_t port_ = 0;
  std::string asked_;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("the query asks for pointers of the service") {
  CHECK(encode_mdns_query(kService) == word(0) + word(0) + word(1) + word(0) + word(0) + word(0) +
                                           labels({"_ssh", "_tcp", "local"}) + word(12) + word(1));
}

TEST_CASE("an answer gives host, address and port, also with compressed names") {
  const auto hosts = decode_mdns_answer(spark(), kService);
  REQUIRE(hosts);
  CHECK(*hosts == std::vector<AnnouncedHost>{{"spark-01.local", {"10.0.0.11"}, 22}});
  CHECK(decode_mdns_answer(spark("\x0c", 2222), kService)->front().port == 2222);
}

TEST_CASE("answers for other services, and queries, give no host") {
  CHECK(decode_mdns_answer(spark(), "_ipp._tcp.local")->empty());
  CHECK_FALSE(decode_mdns_answer(encode_mdns_query(kService), kService));
}

TEST_CASE("an answer truncated at any byte, or with circular names, is refused") {
  const std::string whole = spark();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK_FALSE(decode_mdns_answer(whole.substr(0, length), kService));
  }
  const std::string circle = "\xc0\x0c";
  CHECK_FALSE(decode_mdns_answer(answer(1, record(circle, 12, circle)), kService));
}

TEST_CASE("an answer with any byte changed is decoded without a crash") {
  const std::string whole = spark();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char byte : {'\0', '\x01', '\x3f', '\x7f', '\xc0', '\xff'}) {
      std::string changed = whole;
      changed[place] = byte;
      const auto hosts = decode_mdns_answer(changed, kService);
      if (!hosts) continue;
      for (const auto& host : *hosts) CHECK(host.name.find('\x01') == std::string::npos);
    }
  }
}

TEST_CASE("avahi-browse's output is parsed, limited to resolved IPv4 lines") {
  const auto hosts = hosts_in_avahi_output(
      "+;eth0;IPv4;spark-01;_ssh._tcp;local\n"
      "=;eth0;IPv4;spark-01;_ssh._tcp;local;spark-01.local;10.0.0.11;22;\n"
      "=;eth0;IPv6;spark-01;_ssh._tcp;local;spark-01.local;fe80::1;22;\n"
      "=;eth1;IPv4;spark\\04602;_ssh._tcp;local;spark-02.local;10.0.0.12;x;\n");
  CHECK(hosts == std::vector<AnnouncedHost>{{"spark-01.local", {"10.0.0.11"}, 22}});
}

TEST_CASE("a host that answers in two networks is one host, and a host without an address is dropped") {
  CHECK(merged({{"b.local", {"10.0.0.2"}, 22}, {"a.local", {}, 22}, {"B.local", {"10.1.0.2"}, 22}}) ==
        std::vector<AnnouncedHost>{{"b.local", {"10.0.0.2", "10.1.0.2"}, 22}});
}

TEST_CASE("discovery: a flood of announced hosts and addresses is cut") {
  std::vector<AnnouncedHost> hosts;
  for (int i = 0; i < 20'000; ++i) hosts.push_back({"host-" + std::to_string(i) + ".local", {"10.0.0.2"}, 22});
  for (int i = 0; i < 1'000; ++i) hosts.push_back({"HOST-7.local", {"10.1.0." + std::to_string(i)}, 22});
  const auto kept = merged(hosts);
  CHECK(kept.size() == kMostAnnouncedHosts);
  const auto seventh = std::ranges::find(kept, "host-7.local", &AnnouncedHost::name);
  REQUIRE(seventh != kept.end());
  CHECK(seventh->addresses.size() == kMostAnnouncedAddresses);
}

TEST_CASE("discovery: one answer with hundreds of addresses gives a host a few of them") {
  const std::string instance = "\x08spark-01\xc0\x0c";
  const std::string host = labels({"spark-01", "local"});
  std::string records = record(labels({"_ssh", "_tcp", "local"}), 12, instance) +
                        record(instance, 33, word(0) + word(0) + word(22) + host);
  for (unsigned int i = 0; i < 300; ++i) records += record(host, 1, std::string("\x0a\x00", 2) + word(i));
  const auto hosts = decode_mdns_answer(answer(302, records), kService);
  REQUIRE(hosts);
  REQUIRE(hosts->size() == 1);
  CHECK(hosts->front().addresses.size() == kMostAnnouncedAddresses);
}

TEST_CASE("a responder answers to the query's source port") {
  Responder responder(spark());
  const auto hosts = ask_mdns({{"127.0.0.1", responder.port(), "127.0.0.1"}}, std::chrono::milliseconds(400), {});
  REQUIRE(hosts);
  CHECK(responder.asked() == encode_mdns_query(kService));
  CHECK(*hosts == std::vector<AnnouncedHost>{{"spark-01.local", {"10.0.0.11"}, 22}});
}

TEST_CASE("only announced addresses in this machine's own networks are used") {
  std::vector<MdnsDestination> networks(2);
  networks[0].from = "10.0.0.5";
  networks[0].prefix_length = 24;
  networks[1].from = "192.168.7.9";
  networks[1].prefix_length = 30;
  CHECK(within_networks({"172.17.0.1", "10.0.0.11", "10.0.1.11", "192.168.7.10", "192.168.7.13"}, networks) ==
        std::vector<std::string>{"10.0.0.11", "192.168.7.10"});
  CHECK(within_networks({"10.0.0.11"}, {}).empty());
  for (const MdnsDestination& own : mdns_destinations()) CHECK(own.prefix_length > 0);
}

TEST_CASE("discovery: a host that is announced with an address of this machine keeps its other addresses") {
  std::vector<MdnsDestination> ours(2);
  ours[0].from = "10.0.0.9";
  ours[0].prefix_length = 24;
  ours[1].from = "172.17.0.1";
  ours[1].prefix_length = 16;
  const std::vector<AnnouncedHost> hosts{{"this.local", {"10.0.0.9", "172.17.0.1"}, 22},
                                         {"spark.local", {"172.17.0.1", "10.0.0.9", "10.0.0.11"}, 22},
                                         {"far.local", {"192.168.7.1"}, 22}};
  CHECK(other_hosts(hosts, ours) == std::vector<AnnouncedHost>{{"spark.local", {"10.0.0.11"}, 22}});
}

TEST_CASE("discovery: a list that reached its limits is known to be cut") {
  const AnnouncedHost usual{"spark.local", {"10.0.0.11"}, 22};
  CHECK_FALSE(may_be_cut({usual}));
  CHECK(may_be_cut(std::vector<AnnouncedHost>(kMostAnnouncedHosts, usual)));
  AnnouncedHost wide = usual;
  wide.addresses.resize(kMostAnnouncedAddresses);
  CHECK(may_be_cut({wide}));
}

}  // namespace sparkplan
