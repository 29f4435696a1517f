// The memory that a reader needs for the worst messages: a promise to the user, measured in a separate process.
#include <cstdio>
#include <functional>

#include "engine/core/json.h"
#include "engine/model/fact_bounds.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

using test::cost_of;

/// Most memory that one message may need. Together with a controller and its nodes, the total stays below 100 MB.
constexpr long kMostMegabytes = 75;
constexpr std::size_t kChunk = 32768;

std::string header(std::size_t size) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>((size >> shift) & 0xffU));
  return bytes;
}

/// `begin`, repeated `item`, `end`: as many items as a frame holds, or `most`.
struct Shape {
  std::string name;
  std::string begin;
  std::function<std::string(std::size_t)> item;
  std::string end;
  std::size_t most = kMaxFrameBytes;
  bool is_read = false;  ///< Within the limits: an honest message can have such a size.
};

/// Feeds the text in pieces, as a channel does, so that the text itself needs no memory here.
bool read_shape(const Shape& shape) {
  std::size_t size = shape.begin.size() + shape.end.size();
  std::size_t count = 0;
  for (; count < shape.most; ++count) {
    const auto more = shape.item(count).size();
    if (size + more > kMaxFrameBytes) break;
    size += more;
  }
  FrameReader reader;
  reader.feed(std::string(kPreamble) + header(size) + shape.begin);
  std::string chunk;
  bool ended = false;
  bool as_expected = false;
  const auto feed = [&] {
    reader.feed(chunk);
    chunk.clear();
    auto message = reader.next();
    if (!message) {
      ended = true;
      as_expected = !shape.is_read;
    } else if (*message) {
      // Further processing as in AgentClient.
      auto reply = decode_reply(std::move(**message));
      if (reply && reply->body) (void)decode<FactsReply>(*reply->body);
      if (reply && reply->body) (void)decode<ObservedState>(*reply->body);
      if (reply && reply->body) (void)decode<HistoryReply>(*reply->body);
      if (reply && reply->body) (void)decode<UndoReply>(*reply->body);
      ended = true;
      as_expected = shape.is_read == reply.has_value();
    }
  };
  for (std::size_t i = 0; i < count && !ended; ++i) {
    chunk += shape.item(i);
    if (chunk.size() >= kChunk) feed();
  }
  chunk += shape.end;
  if (!ended) feed();
  return as_expected;
}

Shape repeated(const std::string& name, const std::string& begin, const std::string& item, const std::string& end) {
  std::string block = item;
  while (block.size() < kChunk / 8) block += item;
  return {name, begin, [block](std::size_t) { return block; }, end};
}

std::string padded(std::size_t number, std::size_t width) {
  auto digits = std::to_string(number);
  return std::string(width - digits.size(), '0') + digits;
}

std::vector<Shape> worst_shapes() {
  const std::string reply = R"({"id":1,"reply":)";
  const std::string file_begin =
      R"({"id":1,"reply":{"types":{"file":{"artifacts":{"file:/etc/a":{"state":"present","value":{"content":")";
  const std::string file_end = R"("}}}}}}})";
  std::vector<Shape> shapes{
      repeated("empty lists", reply + "[[]", ",[]", "]}"),
      repeated("empty maps", reply + "[{}", ",{}", "]}"),
      repeated("zeros", reply + "[0", ",0", "]}"),
      repeated("small texts", reply + R"([""])", R"(,"a")", "]}"),
      repeated("maps of one", reply + R"([{"a":0})", R"(,{"a":0})", "]}"),
      repeated("long numbers", reply + "[0", "," + std::string(900, '7') + ".5", "]}"),
      repeated("one number", reply + "[1", "1", "]}"),
      repeated("brackets", reply, "[", ""),
      repeated("nested to the limit", reply + "[0", "," + std::string(60, '[') + std::string(60, ']'), "]}"),
      repeated("an error with one text", R"({"id":1,"error":{"code":"failed","message":")", "xxxxxxxx", R"("}})"),
      repeated("escapes", file_begin, R"(\u00e9\n)", file_end),
      repeated("one text", file_begin, "xxxxxxxxxxxxxxxx", file_end),
  };
  // The text of an error is cut, and a file's text is read whole. Any other field of 16 MiB is refused.
  const std::set<std::string> read{"an error with one text", "one text", "escapes"};
  for (auto& shape : shapes) shape.is_read = read.contains(shape.name);
  shapes.push_back(
      {"map keys", reply + R"({"k":0)", [](std::size_t i) { return ",\"" + padded(i, 7) + "\":0"; }, "}}"});
  // As many values as the limit allows, and text for the rest: the largest accepted message.
  const auto texts = [](std::size_t i) { return ",\"" + padded(i, 128) + '"'; };
  shapes.push_back({"texts to the limit", reply + R"({"types":{},"x":[0)", texts, "]}}", 122'000, true});
  const auto observations = [](std::size_t i) {
    return ",\"" + padded(i, 20) + R"(":{"state":"present","value":")" + padded(i, 180) + "\"}";
  };
  shapes.push_back({"observations to the limit", reply + R"({"types":{"file":{"resources":{"a":{"state":"absent"})",
                    observations, "}}}}}", 40'000, true});
  const auto links = [](std::size_t /*i*/) { return std::string(R"(,{"name":"a"})"); };
  shapes.push_back({"links", reply + R"({"facts":{"links":[{"name":"a"})", links, "]}}}", 100'000, true});
  // In the message a verdict has 2 bytes and no field; in the facts it has five texts.
  std::string chain = R"(,{"name":"a","verdicts":[{})";
  for (std::size_t i = 1; i < kMostOfMany; ++i) chain += ",{}";
  chain += "]}";
  const auto chains = [chain](std::size_t /*i*/) { return chain; };
  shapes.push_back({"verdicts", reply + R"({"facts":{"survey":{"firewall":{"input_chains":[{"name":"a"})", chains,
                    "]}}}}}", 50, true});
  const auto runs = [](std::size_t /*i*/) { return std::string(R"(,{"run":"a","outcome":"applied"})"); };
  shapes.push_back({"runs", reply + R"({"runs":[{"run":"a","outcome":"applied"})", runs, "]}}", 60'000, true});
  const std::string step =
      R"({"type":"a","artifact":"a:b","phase":"files","before":{"state":"absent"},"after":{"state":"absent"}})";
  const auto steps = [step](std::size_t /*i*/) { return "," + step; };
  shapes.push_back({"steps", reply + R"({"run":"a","steps":[)" + step, steps, "]}}", 25'000, true});
  const auto keys = [](std::size_t i) { return ",\"" + padded(i, 7) + "\":0"; };
  shapes.push_back({"map keys to the limit", reply + R"({"types":{},"x":{"k":0)", keys, "}}}", 205'000, true});
  return shapes;
}

}  // namespace

TEST_CASE("the worst message costs its reader less than 75 MB and a few seconds") {
  for (const auto& shape : worst_shapes()) {
    DYNAMIC_SECTION(shape.name) {
      const auto cost = cost_of([&] { return read_shape(shape); });
      std::printf("%-28s %4ld MB %7.2f s\n", shape.name.c_str(), cost.megabytes, cost.seconds);
      CHECK(cost.exit_status == 0);
      CHECK(cost.megabytes < kMostMegabytes);
    }
  }
}

TEST_CASE("a reply with as many small values as its kind may have takes at most its limits, and one more is refused") {
  const auto limits = GENERATE(kFactsReply, kObserveReply, kOutcomeReply, kUndoReply, kHistoryReply);
  const std::string begin = R"({"id":1,"reply":{"x":[""])";
  // Five values beside the items. An item is three bytes of text and a value.
  const std::size_t room = limits.memory - begin.size() - 3 - 5 * kJsonValueWeight;
  const std::size_t most = room / (kJsonValueWeight + 3);
  const auto frame_of = [&](std::size_t items) {
    std::string text = begin.substr(0, begin.size() - 1);
    for (std::size_t i = 0; i < items; ++i) text += R"(,"")";
    return text + "]}}";
  };
  const auto read = [&](std::size_t items, bool fits) {
    FrameReader reader;
    reader.feed(std::string(kPreamble) + header(frame_of(items).size()) + frame_of(items));
    return reader.next(limits).has_value() == fits;
  };
  CHECK(read(most + 2'000, false));
  const auto cost = cost_of([&] { return read(most, true); });
  std::printf("%-28s %4ld MB\n", "values at a limit", cost.megabytes);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes <= static_cast<long>((limits.memory >> 20U) + 2));
}

TEST_CASE("a list that no machine has is refused at its bound, and a list of facts is sent up to it") {
  Facts facts;
  facts.links.resize(kMostLinks);
  for (LinkFacts& link : facts.links) link.name = "a";
  facts.links.front().addresses.resize(kMostLinkAddresses, "10.0.0.1/8");
  CHECK(decode<Facts>(encode(facts)));
  facts.links.front().addresses.emplace_back("10.0.0.1/8");
  CHECK_FALSE(decode<Facts>(encode(facts)));
  facts.links.front().addresses.clear();
  facts.links.push_back(facts.links.front());
  CHECK_FALSE(decode<Facts>(encode(facts)));
  HistoryReply history;
  history.runs.resize(50);
  CHECK(decode<HistoryReply>(encode(history)));
  history.runs.resize(1000);
  CHECK_FALSE(decode<HistoryReply>(encode(history)));
  UndoReply undo;
  undo.run = "r";
  undo.kept.resize(kMostResources, KeptArtifact{"file", {"file", "/etc/a"}, {}, ""});
  CHECK(decode<UndoReply>(encode(undo)));
  undo.kept.push_back(undo.kept.front());
  CHECK_FALSE(decode<UndoReply>(encode(undo)));
  // An honest machine may have a longer fstab, which must not make all of its facts unreadable.
  ExtendedFacts extended;
  extended.fstab.resize(kMostOfMany + 1);
  extended.nccl_profile = {{std::string(FieldRule::kLongestText + 1, 'x'), "1"}, {"NCCL_DEBUG", "INFO"}};
  const auto back = decode<ExtendedFacts>(encode(extended));
  REQUIRE(back);
  CHECK(back->fstab.size() == kMostOfMany);
  CHECK(back->nccl_profile == std::map<std::string, std::string>{{"NCCL_DEBUG", "INFO"}});
}

TEST_CASE("of the ports, GIDs and verdicts that a node reports in nested lists, the first ones are taken") {
  Facts facts;
  facts.rdma_devices.resize(kMostRdmaDevices);
  for (RdmaDeviceFacts& device : facts.rdma_devices) {
    device.port_facts.resize(17);
    for (RdmaPortFacts& port : device.port_facts) port.gids.resize(4);
  }
  auto& firewall = facts.extended.emplace().firewall.emplace();
  firewall.input_chains.resize(4);
  for (InputChainFacts& chain : firewall.input_chains) chain.verdicts.resize(kMostOfMany - 1);
  firewall.forward_chains.resize(4);
  for (InputChainFacts& chain : firewall.forward_chains) chain.verdicts.resize(5);
  const auto read = decode<Facts>(encode(facts));
  REQUIRE(read);
  std::size_t ports = 0;
  std::size_t gids = 0;
  for (const RdmaDeviceFacts& device : read->rdma_devices) {
    ports += device.port_facts.size();
    for (const RdmaPortFacts& port : device.port_facts) gids += port.gids.size();
  }
  CHECK(ports == kMostRdmaPortsInAll);
  CHECK(gids == std::min(kMostRdmaPortsInAll * 4, kMostRdmaGidsInAll));
  const auto& kept = *read->extended->firewall;
  CHECK(kept.input_chains.back().verdicts.size() == kMostOfMany - 1);
  CHECK(kept.forward_chains.front().verdicts.size() == 4);
  CHECK(kept.forward_chains.back().verdicts.empty());
}

/// Texts that take six bytes each in JSON, and as many links, GIDs and verdicts as the limit of memory leaves.
static Facts largest_facts() {
  Facts facts;
  auto& extended = facts.extended.emplace();
  for (std::size_t i = 0; i < 1900; ++i) extended.sshd[std::to_string(i)].assign(FieldRule::kLongestText, '\x7f');
  facts.links.resize(kMostLinks);
  for (LinkFacts& link : facts.links) link.name = "a";
  facts.rdma_devices.resize(16);
  for (RdmaDeviceFacts& device : facts.rdma_devices) {
    device.port_facts.resize(1);
    device.port_facts.front().gids.resize(200);
  }
  extended.firewall.emplace().input_chains.resize(3);
  for (InputChainFacts& chain : extended.firewall->input_chains) chain.verdicts.resize(4000);
  return facts;
}

TEST_CASE("facts: the largest ones take less than 60 MB of memory as JSON, and larger ones are refused") {
  Facts facts = largest_facts();
  REQUIRE(decode<Facts>(encode(facts)));
  facts.extended->neighbours.resize(4 * kMostOfMany);
  const auto refused = decode<Facts>(encode(facts));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().describe().find("more memory than the limit") != std::string::npos);
  const auto cost = cost_of([] {
    const Facts held = largest_facts();
    std::size_t written = 0;
    public_json(encode(held), [&](std::string_view piece) { written += piece.size(); });
    return written > (std::size_t{50} << 20);
  });
  std::printf("%-28s %4ld MB %7.2f s\n", "facts as JSON", cost.megabytes, cost.seconds);
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 60);
}

TEST_CASE("a text of facts is cut to a line, and a text of another message has at most 8192 bytes") {
  const auto facts = decode<Facts>(Value::map({{"product", std::string(1 << 20, 'p')}}));
  REQUIRE(facts);
  CHECK(facts->product.size() == kLongestShortText);
  CHECK_FALSE(decode<ManagedArtifact>(
      Value::map({{"type", std::string(8193, 't')}, {"original", Value::map({{"state", "absent"}})}})));
}

TEST_CASE("a message over the budget of values is refused before it is decoded") {
  const std::string lists = "[" + std::string(std::size_t{4} << 20, ' ') + "[]";
  std::string text = lists;
  while (text.size() < (std::size_t{8} << 20)) text += ",[]";
  text += "]";
  const auto cost = cost_of([&] { return !decode_json(text); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 8);
}

TEST_CASE("small messages have a small size limit") {
  FrameReader reader;
  reader.feed(std::string(kPreamble) + header(kSmallMessage.bytes + 1));
  const auto next = reader.next(kSmallMessage);
  REQUIRE_FALSE(next);
  CHECK(next.error().message.find(std::to_string(kSmallMessage.bytes)) != std::string::npos);
}

TEST_CASE("a message over the receiver's budget of values is not sent, and the limit is named") {
  Value list = Value::list();
  for (int i = 0; i < 300'000; ++i) list.push_back(Value::list());
  const auto frame = encode_frame(list);
  REQUIRE_FALSE(frame);
  CHECK(frame.error().code == ErrorCode::kUnsupported);
  CHECK(frame.error().message.find(std::to_string(kMaxMessageMemory)) != std::string::npos);
  const auto text = encode_frame(std::string(kMaxFrameBytes, 'x'));
  REQUIRE_FALSE(text);
  CHECK(text.error().message.find(std::to_string(kMaxFrameBytes)) != std::string::npos);
}

TEST_CASE("a request with megabytes of escaped text is refused before it takes memory") {
  const Value message = Value::map({{"before", std::string(std::size_t{12} << 20, '\x7f')}});
  const auto cost = cost_of([&] {
    const auto frame = encode_frame(message);
    return !frame && frame.error().code == ErrorCode::kUnsupported;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("every message within a sender's budget is within the receiver's") {
  // At the limit: one value less than too many.
  Value list = Value::list();
  while (json_weight(list) < kMaxMessageMemory - (std::size_t{2} << 20)) {
    for (int i = 0; i < 1000; ++i) list.push_back(i % 2 == 0 ? Value(1) : Value::map({{"a", 1}}));
  }
  const auto frame = encode_frame(list);
  REQUIRE(frame);
  FrameReader reader;
  reader.feed(std::string(kPreamble) + *frame);
  const auto message = reader.next();
  REQUIRE(message);
  CHECK(message->has_value());
}

TEST_CASE("the largest honest replies use at most a third of the budget") {
  SECTION("the roster and the hosts of 1000 nodes") {
    Value roster = Value::list();
    Value resources = Value::map();
    Value observed = Value::map();
    Value::Map entries;
    Value::Map seen;
    for (std::size_t i = 0; i < 1000; ++i) {
      const auto name = "spark-" + padded(i, 4);
      roster.push_back(Value::map({{"name", name},
                                   {"address", "10.100.200.100"},
                                   {"machine_id", padded(i, 32)},
                                   {"host_key", "SHA256:" + padded(i, 43)},
                                   {"leaving", false}}));
      entries.push_back({"hosts/" + name,
                         Value::map({{"last_applied", Value::map({{"address", "10.100.200.100"}})},
                                     {"artifacts", Value::list({"block:/etc/hosts"})}}),
                         {}});
      seen.push_back(
          {name, Value::map({{"state", "present"}, {"value", Value::map({{"address", "10.100.200.100"}})}}), {}});
    }
    const Value whole = Value::list({roster, Value(entries), Value(seen)});
    CHECK(encode_json(whole).size() + json_weight(whole) < kFactsReply.memory / 3);
  }
  SECTION("50 runs of 200 artifacts each") {
    HistoryReply history;
    for (std::size_t run = 0; run < 50; ++run) {
      JournaledRun one;
      one.run = "2026-11-22T10-00-00Z-" + padded(run, 8);
      for (std::size_t i = 0; i < 200; ++i) {
        one.artifacts.push_back({"sysctl", {"sysctl", "net.ipv4.conf." + padded(i, 8)}, "done", ""});
      }
      history.runs.push_back(std::move(one));
    }
    const Value whole = encode(history);
    CHECK(encode_json(whole).size() + json_weight(whole) < kMaxMessageMemory / 3);
  }
}

TEST_CASE("a node's texts are shortened to the documented lengths") {
  Error long_one{ErrorCode::kFailed, std::string(1 << 20, 'm'), {}, {}, std::string(1 << 20, 'h')};
  for (int i = 0; i < 100; ++i) long_one.context.push_back(std::string(1 << 10, 'c'));
  Value encoded = Value::map({{"code", "failed"}, {"message", long_one.message}, {"hint", long_one.hint}});
  Value::List context;
  for (const auto& level : long_one.context) context.emplace_back(level);
  encoded.set("context", Value(std::move(context)));
  const auto error = decode<Error>(encoded);
  REQUIRE(error);
  CHECK(error->message.size() == 4096);
  CHECK(error->message.ends_with("m ..."));
  CHECK(error->hint.size() == 1024);
  CHECK(error->context.size() == 16);
  CHECK(error->context[0].size() == 256);
  const auto holder = decode<LockHolder>(Value::map({{"who", std::string(1 << 20, 'w')}, {"pid", 1}}));
  REQUIRE(holder);
  CHECK(holder->who.size() == 300);
  Value report = encode(TransactionReport{});
  report.set("reason", std::string(1 << 20, 'r'));
  CHECK(decode<TransactionReport>(report)->reason.size() == 4096);
  report.set("manual_commands", Value::list({std::string(1 << 20, 'r')}));
  CHECK_FALSE(decode<TransactionReport>(report));
}

}  // namespace sparkplan
