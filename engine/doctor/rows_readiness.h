#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Faults that keep jobs from starting or slow them down: containers, memory in use, the GPU's clock.
// Sources: public reports of DGX Spark owners, NVIDIA's forum and documentation of the container toolkit, the kernel's
// accounting/psi.rst.
inline constexpr auto kReadinessRows = std::to_array<DoctorRow>({
    {"docker-group", "the login user may not use Docker",
     "the user is not in the group docker, so each docker command ends with permission denied on docker.sock",
     "add `users: [{name: USER, groups: [docker]}]` to cluster.yaml and apply, then log in again; every member of "
     "that group can become root",
     "/etc/group, getent group docker"},
    {"container-runtime-missing", "containers cannot use the GPU",
     "Docker has neither NVIDIA's runtime nor a CDI specification of the GPU",
     "add `packages: [nvidia-container-toolkit]` to cluster.yaml, then run `nvidia-ctk runtime configure` on the node "
     "and restart Docker, which stops its containers",
     "/etc/docker/daemon.json, /etc/cdi, /var/run/cdi"},
    {"cdi-stale", "the CDI specification is of another driver than the running one",
     "the driver was updated after the specification was written; containers fail on a missing lib*.so.VERSION",
     "run `systemctl restart nvidia-cdi-refresh`, or `nvidia-ctk cdi generate --output=FILE`; `units: [{name: "
     "nvidia-cdi-refresh.path, enabled: true, state: started}]` in cluster.yaml keeps it up to date",
     "/etc/cdi, /var/run/cdi, /proc/driver/nvidia/version"},
    {"hostname-differs", "the host name is not the node's name in cluster.yaml",
     "the machine was renamed, or multicast DNS gave it another name because two machines had the same one; programs "
     "that look up their settings by host name do not find them",
     "run `hostnamectl set-hostname NAME` on the node, or give the node that name in cluster.yaml", "uname -n"},
    {"memory-pressure", "all programs wait for memory at times",
     "GPU and CPU share the memory, and what runs needs more than there is: logins time out before anything is killed",
     "give the engine a smaller share of the memory; do not switch swap off under load",
     "/proc/pressure/memory: full avg10"},
    {"swap-used", "more than 1 GiB is swapped out",
     "memory was short, and pages of running programs are on the disk: reports name a loss of up to 95 % of the speed",
     "stop the jobs, then `swapoff -a && swapon -a`; `sysctl: {vm.swappiness: 1}` in cluster.yaml makes it rarer",
     "/proc/swaps"},
    {"shm-small", "/dev/shm is missing or smaller than 1 GiB",
     "NCCL and the workers of an engine share memory there, and fail or hang without room",
     "remove the limit from the line of /dev/shm in /etc/fstab, then `mount -o remount,size=50% /dev/shm`; a container "
     "needs --ipc=host or --shm-size",
     "/proc/mounts"},
    {"shm-full", "files in /dev/shm use 4 GiB or more",
     "a job that was killed leaves its files (psm_*, nccl-*) there, and they take memory from the GPU",
     "if no job is running, remove them; `ls -la /dev/shm` lists them", "/dev/shm"},
    {"gpu-clock-stuck", "the busy GPU runs below 1400 MHz, without heat and without using power",
     "the power supply and the machine have agreed on too little power, after a crash, sleep or a brown-out",
     "shut down, unplug the power supply at both ends, hold the power button for 30 s, wait 60 s, then boot; a reboot "
     "or another driver does not help. If it returns, replace the machine",
     "nvidia-smi under load: utilization.gpu, clocks.sm, power.draw, clocks_event_reasons.active", "gpu, doctor"},
    {"gpu-throttled", "the GPU lowers its clock because of heat or power",
     "the air flow is blocked, machines are stacked, or the power supply delivers too little",
     "give it air and the supplied 240 W power supply; `nvidia-smi -lgc 300,2200` lowers the load by a few "
     "percent, and a unit of yours in `units` of cluster.yaml sets it at each boot",
     "nvidia-smi: clocks_event_reasons.active", "gpu, doctor"},
    {"gpu-clock-capped", "a unit limits the GPU's clock",
     "someone set the limit, often against switching off under load",
     "if you no longer need it: `units: [{name: gb10-clock-cap.service, enabled: false, state: stopped}]` in "
     "cluster.yaml, then `nvidia-smi -rgc` on the node",
     "systemctl show gb10-clock-cap.service"},
});

}  // namespace sparkplan
