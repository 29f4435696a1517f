#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// The GPU itself, as `verify --level gpu` measures it. Rows that `doctor` knows too are in rows_readiness.h.
// Sources: NVIDIA, Xid Errors and nvidia-smi(1); public reports of DGX Spark owners.
inline constexpr auto kGpuRows = std::to_array<DoctorRow>({
    {"gpu-clock-low", "the busy GPU runs far below its highest clock",
     "a clock that someone set, or a limit of its power; more power than a stuck GPU uses",
     "undo a clock that was set with `nvidia-smi -rgc`, and a limit of the power with `nvidia-smi -pl WATTS`; then "
     "verify again",
     "NVML under load: the SM clock", "gpu"},
    {"gpu-hot", "a thermal zone of the board reaches 93 C", "the air flow is blocked, or machines are stacked",
     "give the machine air on all sides; the GPU itself reads up to 20 C less",
     "/sys/class/thermal, the zones of type acpitz", "gpu"},
    {"gpu-memory-slow", "a copy in the GPU's memory is slower than 185 GB/s on a DGX Spark",
     "another program uses the memory, or its clock is low",
     "end what runs beside it and verify again; if the value stays, shut down, unplug the machine for a minute and "
     "boot",
     "a copy of 256 MiB from memory to memory", "gpu"},
    {"gpu-wrong-results", "the GPU calculates or copies wrongly", "the GPU or its memory is faulty",
     "take the machine out of use; repeat after a boot without any clock setting; if it returns, replace the machine",
     "the same calculation in all blocks, and a copied pattern", "gpu"},
    {"gpu-ecc", "the GPU's memory had errors that could not be corrected", "memory of the GPU is failing",
     "reboot, so that the driver maps the memory out; if it returns, replace the machine", "nvidia-smi -q -d ECC",
     "gpu"},
    {"gpu-xid", "NVIDIA's kernel module logged errors since the boot",
     "Xid 48, 64, 92, 95 and 140 are of the memory, 79 of the bus or the power, 119 and 120 of the firmware",
     "read `dmesg | grep Xid` and NVIDIA's page on Xid errors; after 119, compare the versions of driver and firmware "
     "packages; a reboot clears most of them. If one returns, replace the machine",
     "/dev/kmsg", "gpu"},
    {"gpu-no-nvml", "NVIDIA's management library cannot be loaded",
     "the driver's packages are incomplete, or of different versions",
     "run `nvidia-smi` on the node, and reinstall the package libnvidia-compute of the loaded driver's version",
     "libnvidia-ml.so.1", "gpu"},
    {"gpu-hangs", "a measurement of the GPU does not finish", "the GPU or its driver hangs",
     "read `dmesg | grep NVRM` on the node; reboot if `nvidia-smi` hangs, too", "the time of the measurement", "gpu"},
    {"gpu-other-software", "a node has another GPU or driver than the others",
     "it was bought or updated at another time",
     "bring all nodes to the same driver and hold it: `packages: [{name: NAME, hold: true}]`",
     "the driver and the model that NVML and CUDA report", "gpu"},
    {"gpu-slower-node", "a node's GPU is slower than those of the other nodes",
     "its clock or its power is limited, it is hot, or a program ran beside the measurement",
     "compare `nvidia-smi -q -d CLOCK,POWER,PERFORMANCE` under load with another node; then shut the slow one down, "
     "unplug it for a minute and boot",
     "the medians of clock, FP32 rate and copy", "gpu"},
});

}  // namespace sparkplan
