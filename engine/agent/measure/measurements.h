#pragma once

#include <functional>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/wire/measure_messages.h"
#include "engine/wire/trial_messages.h"

/// The measurements that one request makes from its beginning to its end. LinkProbe and TrafficReceiver last longer.
namespace sparkplan {

/// Tries all targets at the same time, each until it answers or the patience is over. A target that cannot be tried (no
/// such interface, no route) counts as one that did not answer.
ProbeReply probe(const ProbeRequest& request);

/// The errors of GPUs that the kernel's log still has. Source: kernel, Documentation/ABI/testing/dev-kmsg.
/// Errors: those of opening and reading /dev/kmsg.
Result<GpuErrorsReply> gpu_errors_in_kernel_log();

/// Pure. Adds the Xid of a record of /dev/kmsg, if the kernel itself logged it and it has one.
/// Source: NVIDIA, Xid Errors: "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off the bus.";
/// open-gpu-kernel-modules, src/nvidia/src/kernel/gpu/rc/kernel_rc.c, for the instances of a GPU.
void note_record(std::string_view record, GpuErrorsReply& into);

/// Tries the logins one after the other, as the user, with this node's ssh and its settings. After a stop, the
/// remaining logins count as failed. Errors: kNotFound (no runuser or no ssh), kUnsupported when the node is not live.
Result<SshLoginReply> try_logins(const SshLoginRequest& request, const NodeReader& node,
                                 const std::function<bool()>& stop_asked);

/// Sends to a receiver. Datagrams that the interface cannot send unfragmented are not sent; the receiver then misses
/// them. Errors: kInvalidInput, those of the system calls (the interface does not have the address).
Result<void> send_datagrams(const SendDatagramsRequest& request);

/// Sends to a receiver over several connections at the same time until the duration is over or `stop_asked` returns
/// true. `stop_asked` is called from time to time. Errors: those of send_datagrams(). The reply reports connections
/// that fail.
Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked);

}  // namespace sparkplan
