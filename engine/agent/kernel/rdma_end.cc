#include "engine/agent/kernel/rdma_end.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

#include "engine/model/rdma_facts.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// The longest silence of a connected peer.
constexpr std::chrono::seconds kPatience{5};
/// The longest measurement: each lost message costs a fraction of a second.
constexpr std::chrono::seconds kWholePatience{20};
/// Reading the clock takes longer than polling for a completion.
constexpr unsigned kLooksPerClock = 1024;
constexpr std::size_t kPage = 4096;
/// A full cache line for the two bytes, so that it holds no other data.
constexpr std::size_t kSlot = 64;
constexpr std::uint32_t kLatencyBytes = 2;
constexpr std::size_t kMostMemory = std::size_t{64} << 20;

tl::unexpected<Error> failed(RdmaStep step, const std::string& what, int error_number) {
  return failure(system_error(what, error_number).within(std::string(to_string(step))));
}

tl::unexpected<Error> refused(RdmaStep step, ErrorCode code, std::string what) {
  return failure(Error{code, std::move(what), {}, std::nullopt, ""}.within(std::string(to_string(step))));
}

/// The kernel refuses memory for several reasons. The error names a limit of this process if that is the reason.
tl::unexpected<Error> no_memory(const std::string& what, int error_number) {
  Error error = system_error(what, error_number).within(std::string(to_string(RdmaStep::kRegisterMemory)));
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (error_number == ENOMEM && limited && ::geteuid() != 0) {
    error.code = ErrorCode::kPermissionDenied;
    error.message += "; " + std::to_string(limit.rlim_cur / 1024) + " KiB of memory may be locked";
  } else if (error.code == ErrorCode::kPermissionDenied) {
    error.code = ErrorCode::kFailed;
  }
  return failure(std::move(error));
}

ibv_mtu mtu_of(std::int64_t bytes) {
  auto mtu = IBV_MTU_256;
  while (mtu != IBV_MTU_4096 && mtu_bytes(mtu) < bytes) mtu = static_cast<ibv_mtu>(mtu + 1);
  return mtu;
}

tl::unexpected<Error> gone_silent() {
  return refused(RdmaStep::kWrite, ErrorCode::kFailed,
                 "the other end has not answered for " + std::to_string(kPatience.count()) + " s");
}

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

/// Of round trips: half of the shortest, of the median, and of the 99th percentile.
RdmaLatencyReply summary(std::vector<std::int64_t> round_trips) {
  if (round_trips.empty()) return {};
  std::sort(round_trips.begin(), round_trips.end());
  const auto at = [&](std::size_t percent) { return round_trips[(round_trips.size() - 1) * percent / 100] / 2; };
  return {at(0), at(50), at(99)};
}

}  // namespace

RdmaEnd::RdmaEnd(const RdmaOpenRequest& request) : wanted_(request) {}

Result<std::unique_ptr<RdmaEnd>> RdmaEnd::open(const RdmaOpenRequest& request, std::int64_t session) {
  std::unique_ptr<RdmaEnd> end(new RdmaEnd(request));
  end->endpoint_.session = session;
  SPARK_CHECK(end->open_device());
  SPARK_CHECK(end->look_at_port());
  SPARK_CHECK(end->register_memory());
  SPARK_CHECK(end->create_queue_pairs());
  return end;
}

Result<void> RdmaEnd::open_device() {
  int count = 0;
  const VerbsDeviceList list(ibv_get_device_list(&count));
  for (int i = 0; list && i < count; ++i) {
    if (wanted_.device != ibv_get_device_name(list.get()[i])) continue;
    context_.reset(ibv_open_device(list.get()[i]));
    if (context_) return {};
    return failed(RdmaStep::kOpenDevice, wanted_.device, errno);
  }
  return refused(RdmaStep::kOpenDevice, ErrorCode::kNotFound, "there is no RDMA device " + wanted_.device);
}

Result<void> RdmaEnd::look_at_port() {
  const auto number = static_cast<std::uint8_t>(wanted_.port);
  const auto name = "port " + std::to_string(wanted_.port) + " of " + wanted_.device;
  if (const int error = ibv_query_port(context_.get(), number, &port_); error != 0) {
    return failed(RdmaStep::kOpenDevice, "query " + name, error);
  }
  if (port_.state != IBV_PORT_ACTIVE) {
    return refused(RdmaStep::kOpenDevice, ErrorCode::kFailed,
                   name + " is not active, but in state " + ibv_port_state_str(port_.state));
  }
  endpoint_.mtu = mtu_bytes(port_.active_mtu);
  if (port_.link_layer != IBV_LINK_LAYER_ETHERNET) {
    endpoint_.lid = port_.lid;
    return {};
  }
  RdmaPortFacts facts;
  facts.gids = gids_of(context_.get(), number);
  const auto index = roce_v2_gid_index(facts, wanted_.address, wanted_.interface);
  if (!index) return failure(Error(index.error()).within(std::string(to_string(RdmaStep::kFindGid))));
  endpoint_.gid_index = *index;
  endpoint_.gid = "::ffff:" + wanted_.address;
  return {};
}

std::size_t RdmaEnd::half() const {
  return static_cast<std::size_t>(wanted_.queue_pairs) * static_cast<std::size_t>(wanted_.message_bytes);
}
std::size_t RdmaEnd::memory_bytes() const { return 2 * half() + 2 * kSlot; }

Result<void> RdmaEnd::register_memory() {
  const auto pages = (memory_bytes() + kPage - 1) / kPage * kPage;
  if (pages > kMostMemory) {
    return refused(RdmaStep::kRegisterMemory, ErrorCode::kInvalidInput, "a measurement may not use that much memory");
  }
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, pages)));
  if (!memory_) return failed(RdmaStep::kRegisterMemory, "allocate " + std::to_string(pages) + " bytes", ENOMEM);
  std::memset(memory_.get(), 0, pages);
  domain_.reset(ibv_alloc_pd(context_.get()));
  if (!domain_) return no_memory("ibv_alloc_pd", errno);
  registered_.reset(ibv_reg_mr(domain_.get(), memory_.get(), pages, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!registered_) return no_memory("ibv_reg_mr of " + std::to_string(pages) + " bytes", errno);
  completions_.reset(
      ibv_create_cq(context_.get(), static_cast<int>(wanted_.queue_pairs * wanted_.depth), nullptr, nullptr, 0));
  if (!completions_) return no_memory("ibv_create_cq", errno);
  endpoint_.memory = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory_.get()));
  endpoint_.key = registered_->rkey;
  return {};
}

Result<void> RdmaEnd::create_queue_pairs() {
  constexpr std::uint32_t kPacketNumbers = 0xffffff;
  endpoint_.first_packet = std::random_device()() & kPacketNumbers;
  for (std::int64_t i = 0; i < wanted_.queue_pairs; ++i) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.send_cq = completions_.get();
    wanted.recv_cq = completions_.get();
    wanted.cap.max_send_wr = static_cast<std::uint32_t>(wanted_.depth);
    wanted.cap.max_recv_wr = 1;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = kLatencyBytes;
    pairs_.emplace_back(ibv_create_qp(domain_.get(), &wanted));
    if (!pairs_.back()) return failed(RdmaStep::kCreateQueuePair, "ibv_create_qp", errno);
    ibv_qp_attr initial{};
    initial.qp_state = IBV_QPS_INIT;
    initial.port_num = static_cast<std::uint8_t>(wanted_.port);
    initial.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    const int error = ibv_modify_qp(pairs_.back().get(), &initial,
                                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error != 0) return failed(RdmaStep::kConnect, "ibv_modify_qp to INIT", error);
    endpoint_.queue_pairs.push_back(pairs_.back()->qp_num);
  }
  return {};
}

Result<void> RdmaEnd::connect(const RdmaEndpoint& peer) {
  if (peer.queue_pairs.size() != pairs_.size()) {
    return refused(RdmaStep::kConnect, ErrorCode::kInvalidInput, "the other end has a different number of queue pairs");
  }
  peer_ = peer;
  for (std::size_t i = 0; i < pairs_.size(); ++i) SPARK_CHECK(connect_one(pairs_[i].get(), peer.queue_pairs[i]));
  return {};
}

/// Seven retries, each after 2^16 x 4 us. That is longer than in perftest, because a busy machine is no fault of the
/// fabric. It is shorter than kPatience.
Result<void> RdmaEnd::connect_one(ibv_qp* pair, std::int64_t number) {
  constexpr std::uint8_t kHops = 64;
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = mtu_of(std::min(endpoint_.mtu, peer_.mtu));
  ready.dest_qp_num = static_cast<std::uint32_t>(number);
  ready.rq_psn = static_cast<std::uint32_t>(peer_.first_packet);
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = 12;
  ready.ah_attr.port_num = static_cast<std::uint8_t>(wanted_.port);
  ready.ah_attr.dlid = static_cast<std::uint16_t>(peer_.lid);
  if (!peer_.gid.empty()) {
    ready.ah_attr.is_global = 1;
    ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(endpoint_.gid_index);
    ready.ah_attr.grh.hop_limit = kHops;
    if (::inet_pton(AF_INET6, peer_.gid.c_str(), ready.ah_attr.grh.dgid.raw) != 1) {
      return refused(RdmaStep::kConnect, ErrorCode::kInvalidInput, "the other end's GID is invalid: " + peer_.gid);
    }
  }
  int error = ibv_modify_qp(pair, &ready,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) {
    const auto from = peer_.gid.empty() ? "" : ", to " + peer_.gid + " by GID " + std::to_string(endpoint_.gid_index);
    return failed(RdmaStep::kConnect, "ibv_modify_qp to RTR" + from, error);
  }
  ibv_qp_attr sending{};
  sending.qp_state = IBV_QPS_RTS;
  sending.sq_psn = static_cast<std::uint32_t>(endpoint_.first_packet);
  sending.timeout = 16;
  sending.retry_cnt = 7;
  sending.rnr_retry = 7;
  sending.max_rd_atomic = 1;
  error = ibv_modify_qp(
      pair, &sending,
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  if (error != 0) return failed(RdmaStep::kConnect, "ibv_modify_qp to RTS", error);
  return {};
}

Result<void> RdmaEnd::post(std::size_t queue, std::size_t from, std::size_t into, std::uint32_t bytes, bool inlined) {
  ibv_sge piece{};
  piece.addr = static_cast<std::uint64_t>(endpoint_.memory) + from;
  piece.length = bytes;
  piece.lkey = registered_->lkey;
  ibv_send_wr write{};
  write.wr_id = queue;
  write.sg_list = &piece;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.send_flags = inlined ? IBV_SEND_SIGNALED | IBV_SEND_INLINE : IBV_SEND_SIGNALED;
  write.wr.rdma.remote_addr = static_cast<std::uint64_t>(peer_.memory) + into;
  write.wr.rdma.rkey = static_cast<std::uint32_t>(peer_.key);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(pairs_[queue].get(), &write, &bad);
  if (error != 0) return failed(RdmaStep::kWrite, "ibv_post_send", error);
  return {};
}

Result<RdmaWritten> RdmaEnd::write(std::chrono::milliseconds duration) {
  const auto bytes = static_cast<std::uint32_t>(wanted_.message_bytes);
  const auto post_on = [&](std::size_t queue) {
    return post(queue, queue * bytes, half() + queue * bytes, bytes, false);
  };
  const auto began = Clock::now();
  auto last = began;
  std::int64_t posted = 0;
  RdmaWritten written;
  for (std::int64_t i = 0; i < wanted_.depth; ++i) {
    for (std::size_t queue = 0; queue < pairs_.size(); ++queue, ++posted) SPARK_CHECK(post_on(queue));
  }
  std::array<ibv_wc, 16> done{};
  unsigned looks = 0;
  while (written.messages < posted) {
    const int count = ibv_poll_cq(completions_.get(), static_cast<int>(done.size()), done.data());
    if (count < 0) return failed(RdmaStep::kWrite, "ibv_poll_cq", errno);
    if (count == 0) {
      if (++looks % kLooksPerClock == 0 && Clock::now() - last > kPatience) return gone_silent();
      continue;
    }
    last = Clock::now();
    if (last - began > duration + kWholePatience) return gone_silent();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (done[i].status != IBV_WC_SUCCESS) {
        return failure(rdma_completion_error(done[i].status, ibv_wc_status_str(done[i].status)));
      }
      ++written.messages;
      if (last - began >= duration) continue;
      SPARK_CHECK(post_on(static_cast<std::size_t>(done[i].wr_id)));
      ++posted;
    }
  }
  written.nanoseconds = nanoseconds(last - began);
  return written;
}

Result<void> RdmaEnd::await_completion() {
  const auto began = Clock::now();
  ibv_wc done{};
  for (unsigned looks = 1;; ++looks) {
    const int count = ibv_poll_cq(completions_.get(), 1, &done);
    if (count < 0) return failed(RdmaStep::kWrite, "ibv_poll_cq", errno);
    if (count > 0) break;
    if (looks % kLooksPerClock == 0 && Clock::now() - began > kPatience) return gone_silent();
  }
  if (done.status == IBV_WC_SUCCESS) return {};
  return failure(rdma_completion_error(done.status, ibv_wc_status_str(done.status)));
}

Result<void> RdmaEnd::await_value(std::uint16_t value) const {
  const auto began = Clock::now();
  // The other end writes this value, so the compiler must read it each time.
  std::atomic_ref<std::uint16_t> heard(*reinterpret_cast<std::uint16_t*>(memory_.get() + 2 * half() + kSlot));
  for (unsigned looks = 1; heard.load(std::memory_order_acquire) != value; ++looks) {
    if (looks % kLooksPerClock == 0 && Clock::now() - began > kPatience) return gone_silent();
  }
  return {};
}

Result<RdmaLatencyReply> RdmaEnd::measure_latency(bool begins, std::int64_t iterations) {
  const std::size_t from = 2 * half();
  const std::size_t into = from + kSlot;
  const auto warm_up = std::min<std::int64_t>(100, iterations / 10);
  std::vector<std::int64_t> round_trips;
  round_trips.reserve(static_cast<std::size_t>(iterations));
  // Both ends continue the numbers from one measurement to the next. A late end then finds the first message in its
  // memory, and never the last message of the previous measurement.
  const auto began = Clock::now();
  for (std::int64_t i = 0; i < iterations; ++i, ++next_value_) {
    if (Clock::now() - began > kWholePatience) return gone_silent();
    if (!begins) SPARK_CHECK(await_value(next_value_));
    const auto sent = Clock::now();
    std::memcpy(memory_.get() + from, &next_value_, sizeof next_value_);
    SPARK_CHECK(post(0, from, into, kLatencyBytes, true));
    SPARK_CHECK(await_completion());
    if (!begins) continue;
    SPARK_CHECK(await_value(next_value_));
    if (i >= warm_up) round_trips.push_back(nanoseconds(Clock::now() - sent));
  }
  return summary(std::move(round_trips));
}

}  // namespace sparkplan
