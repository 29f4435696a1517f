// Messages about changes on trial.
#include "engine/wire/messages.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

template <class T>
T sent_trial(const T& request) {
  const auto decoded = decode_request(over_the_wire(encode(NumberedRequest{7, request})));
  REQUIRE(decoded);
  REQUIRE(std::holds_alternative<T>(decoded->request));
  return std::get<T>(decoded->request);
}

/// The request with one field replaced.
Result<NumberedRequest> trial_with(const Request& request, std::string_view field, Value value) {
  Value encoded = encode(NumberedRequest{7, request});
  encoded.set(field, std::move(value));
  return decode_request(encoded);
}

}  // namespace

TEST_CASE("requests about a change on trial survive the wire") {
  CHECK(sent_trial(ConfirmRequest{"run-1"}).run == "run-1");
  CHECK(sent_trial(RollBackRequest{"run-1", "it was cut"}).reason == "it was cut");
  CHECK(sent_trial(ExtendRequest{"run-1", 90}).seconds == 90);
  sent_trial(TransactionRequest{});
  const ProbeRequest probes{{{"192.168.100.12", "enp1s0f1np1", 9000, 0}, {"10.0.0.12", "", 0, 22}}, 500};
  const auto arrived = sent_trial(probes);
  CHECK(arrived.targets == probes.targets);
  CHECK(arrived.patience_ms == 500);
  ApplyRequest apply;
  apply.run = "run-1";
  apply.window_seconds = 90;
  CHECK(sent_trial(apply).window_seconds == 90);
  CHECK(sent_trial(FactsRequest{{}, true}).set_damaged_aside);
}

TEST_CASE("a report on a change on trial survives the wire") {
  TransactionReport report{
      "run-1",           TransactionState::kRollbackFailed,   "anna@laptop",       12, true, true, true,
      "a disk was full", {"first command", "second command"}, {"eth0: no address"}};
  const auto arrived = decode<TransactionReport>(over_the_wire(encode(report)));
  REQUIRE(arrived);
  CHECK(arrived->run == report.run);
  CHECK(arrived->state == report.state);
  CHECK(arrived->who == report.who);
  CHECK(arrived->seconds_left == 12);
  CHECK(arrived->carried_out);
  CHECK(arrived->at_work);
  CHECK(arrived->undone);
  CHECK(arrived->reason == report.reason);
  CHECK(arrived->manual_commands == report.manual_commands);
  CHECK(arrived->not_restored == report.not_restored);
  for (const auto state : {TransactionState::kBegun, TransactionState::kArmed, TransactionState::kCommitted,
                           TransactionState::kRolledBack}) {
    report.state = state;
    CHECK(decode<TransactionReport>(encode(report))->state == state);
  }
}

TEST_CASE("windows, waiting times and packet sizes outside their limits are refused") {
  CHECK_FALSE(trial_with(ApplyRequest{}, "window_seconds", -1));
  CHECK_FALSE(trial_with(ApplyRequest{}, "window_seconds", 3601));
  CHECK_FALSE(trial_with(ProbeRequest{}, "patience_ms", 60'000));
  CHECK_FALSE(trial_with(ConfirmRequest{"run-1"}, "anyway", true));
  CHECK_FALSE(decode<TransactionReport>(Value::map({{"state", "perhaps"}})));
  CHECK_FALSE(decode<ProbeReply>(Value::map({{"answered", "yes"}})));
}

}  // namespace sparkplan
