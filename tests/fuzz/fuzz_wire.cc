// Everything that is decoded from the other end of a connection: frames, JSON, and each message and record with its own
// decoder. An input is the decoder's name, a newline, and the encoded bytes.
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/model/extended_facts.h"
#include "engine/model/host_facts.h"
#include "engine/model/rdma_facts.h"
#include "engine/wire/build_id.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"
#include "engine/wire/gpu_messages.h"
#include "engine/wire/job_messages.h"
#include "engine/wire/job_record.h"
#include "engine/wire/messages.h"
#include "engine/wire/nccl_messages.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

/// Every value that a decoder accepts must be equal after encoding and decoding it again.
template <class Decode>
void round_trip(const Value& value, Decode decode) {
  const auto first = decode(value);
  if (!first) return;
  const Value written = encode(*first);
  require_lossless_json(written);
  const auto second = decode(written);
  require(second.has_value(), "what was decoded and encoded is refused: " + (second ? "" : second.error().describe()),
          encode_json(written));
  require(encode_json(encode(*second)) == encode_json(written), "decoding loses something", encode_json(written));
}

/// A stream read in pieces must contain the same messages as the stream read at once.
void read_frames(std::string_view stream) {
  Choices choices(stream);
  const std::size_t piece = choices.below(64) + 1;
  FrameReader whole;
  FrameReader pieces;
  std::string bytes(kPreamble);
  bytes += choices.rest();
  if (piece % 4 == 0) bytes.erase(0, kPreamble.size());
  whole.feed(bytes);
  std::string of_whole;
  std::string of_pieces;
  const auto take_all = [](FrameReader& reader, std::string& into) {
    while (true) {
      const auto message = reader.next();
      if (!message) {
        into += "!" + message.error().message;
        return false;
      }
      if (!*message) return true;
      into += encode_json(**message) + "\n";
      if (const auto framed = encode_frame(**message)) require(framed->size() >= 6, "a frame is too short");
      (void)progress_in(**message);
    }
  };
  take_all(whole, of_whole);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    pieces.feed(std::string_view(bytes).substr(at, piece));
    if (!take_all(pieces, of_pieces)) break;
  }
  require(of_whole == of_pieces, "a stream in pieces is another one", of_whole + "\n--\n" + of_pieces);
  require(whole.noise().size() <= kMaxNoiseBytes + kPreamble.size() + bytes.size(), "there is too much noise");
}

void read_values(std::string_view text) {
  const auto value = decode_json(text);
  if (!value) return require_printable(value.error().describe(), "an error about JSON");
  require_lossless_json(*value);
  (void)canonical_json(*value);
  require(
      parse_plain_json(public_json(*value)).has_value() || public_json(*value).find("\"unknown\"") != std::string::npos,
      "JSON for others is none", public_json(*value));
  require_printable(printable(display(*value)), "a displayed value");
}

/// The command line of a process that claims to be a process starter.
void read_job_record(std::string_view command_line) {
  const auto record = job_record_in(command_line);
  if (!record) return;
  const std::string room = text_of(*record);
  require(room.size() < kJobRecordRoom, "a record needs more than its room", room);
  const auto again = job_record_in(std::string("sparkplan-job\0--stdio\0", 22) + room);
  require(again.has_value() && text_of(*again) == room, "a record is another one after it was written", room);
}

/// No entry and no link of a tree leads out of it.
void read_entry(const Value& value) {
  const auto entry = decode<CopyEntry>(value);
  if (!entry) return;
  const std::filesystem::path path(entry->path);
  const auto leads_out = [](const std::filesystem::path& place) {
    const auto normal = place.lexically_normal();
    return normal.is_absolute() || (!normal.empty() && *normal.begin() == "..");
  };
  require(!leads_out(path), "an entry is outside of its tree", entry->path);
  if (entry->kind != CopyKind::kLink) return;
  require(!leads_out(path.parent_path() / entry->target), "a link leads out of its tree", entry->target);
}

void read_running_job(const Value& value) {
  if (const auto job = decode<RunningJob>(value)) {
    require_printable(job->describe(), "a job that is running", 4096);
    require_printable(busy_with({*job, *job}).describe(), "a refusal because of a job", 8192);
  }
}

using Reader = std::function<void(const Value&)>;

template <class Decode>
Reader by(Decode decode) {
  return [decode](const Value& value) { round_trip(value, decode); };
}

/// As above, with a check of what else the message promises.
template <class Decode>
Reader by(Decode decode, void (*check)(const Value&)) {
  return [decode, check](const Value& value) {
    round_trip(value, decode);
    check(value);
  };
}

const std::map<std::string, Reader, std::less<>>& readers() {
  static const std::map<std::string, Reader, std::less<>> all{
      {"facts", by(decode<Facts>)},
      {"host_facts", by(decode<HostFacts>)},
      {"survey_facts", by(decode<ExtendedFacts>)},
      {"rdma_device", by(decode<RdmaDeviceFacts>)},
      {"pcie_link", by(decode<PcieLink>)},
      {"manifest", by(decode_manifest)},
      {"roster", by(decode<Roster>)},
      {"managed_resource", by(decode<ManagedResource>)},
      {"step", by(decode<Step>)},
      {"observation", by(decode<Observation>)},
      {"observed", by(decode<ObservedState>)},
      {"error", by(decode<Error>)},
      {"hello", by(decode<Hello>)},
      {"request", by(decode_request)},
      {"reply", by(decode_reply)},
      {"facts_reply", by(decode<FactsReply>)},
      {"apply_reply", by(decode<ApplyReply>)},
      {"effect_reply", by(decode<EffectReply>)},
      {"cables_reply", by(decode<ReadLinkProbesReply>)},
      {"history_reply", by(decode<HistoryReply>)},
      {"undo_reply", by(decode<UndoReply>)},
      {"transaction", by(decode<TransactionReport>)},
      {"probe_reply", by(decode<ProbeReply>)},
      {"storage_reply", by(decode<ReadStorageReply>)},
      {"gpu_errors_reply", by(decode<GpuErrorsReply>)},
      {"open_ear_reply", by(decode<OpenReceiverReply>)},
      {"close_ear_reply", by(decode<CloseReceiverReply>)},
      {"tcp_reply", by(decode<MeasureTcpReply>)},
      {"login_reply", by(decode<SshLoginReply>)},
      {"measurements_reply", by(decode<MeasurementsReply>)},
      {"measurement_history_reply", by(decode<MeasurementHistoryReply>)},
      {"rdma_endpoint", by(decode<RdmaEndpoint>)},
      {"rdma_write_reply", by(decode<RdmaWriteReply>)},
      {"rdma_latency_reply", by(decode<RdmaLatencyReply>)},
      {"rdma_counters_reply", by(decode<RdmaCountersReply>)},
      {"rank_command", by(decode<RankCommand>)},
      {"rank_answer", by(decode<RankAnswer>)},
      {"probe_request", by(decode<ProbeRequest>)},
      {"tcp_request", by(decode<MeasureTcpRequest>)},
      {"rdma_connect_request", by(decode<RdmaConnectRequest>)},
      {"gpu_command", by(decode<MeasureGpus>)},
      {"gpu_answer", by(decode<MeasuredGpus>)},
      {"gpu_report", by(decode<GpuReport>)},
      {"gpu_load", by(decode<GpuLoad>)},
      {"job_command", by(decode<JobCommand>)},
      {"job_answer", by(decode<JobAnswer>)},
      {"job_seen", by(decode<SeenRank>)},
      {"running_job", by(decode<RunningJob>, read_running_job)},
      {"copy_command", by(decode<CopyCommand>)},
      {"copy_answer", by(decode<CopyAnswer>)},
      {"copy_entry", by(decode<CopyEntry>, read_entry)},
      {"copy_tree", by(decode<CopyTree>)},
  };
  return all;
}

void read_one(Choices choices) {
  const auto name = choices.line();
  if (name == "frames") return read_frames(choices.rest());
  if (name == "build_id") return (void)elf_build_id(choices.rest());
  if (name == "json") return read_values(choices.rest());
  if (name == "job_record") return read_job_record(choices.rest());
  const auto reader = readers().find(name);
  if (reader == readers().end()) return;
  if (const auto value = decode_json(choices.rest())) reader->second(*value);
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::read_one({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, true);
}
