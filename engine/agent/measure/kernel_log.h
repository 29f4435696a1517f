#pragma once

#include <string_view>

#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// The errors of GPUs that the kernel's log still has. Source: kernel, Documentation/ABI/testing/dev-kmsg.
/// Errors: those of opening and reading /dev/kmsg.
Result<GpuErrorsReply> gpu_errors_in_kernel_log();

/// Pure. Adds the Xid of a record of /dev/kmsg, if the kernel itself logged it and it has one.
/// Source: NVIDIA, Xid Errors: "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
void note_record(std::string_view record, GpuErrorsReply& into);

}  // namespace sparkplan
