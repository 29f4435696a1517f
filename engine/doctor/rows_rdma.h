#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// RDMA devices, and the memory that they may register.
// Sources: public reports of DGX Spark owners, perftest's and NCCL's issue trackers, measured bands of public guides.
inline constexpr auto kRdmaRows = std::to_array<DoctorRow>({
    {"rdma-no-device", "a half has no RDMA device",
     "the driver of the adapter is not loaded, or the adapter is powered off",
     "load mlx5_ib (modprobe mlx5_ib) and look at `ibv_devinfo`; a ConnectX-7 without a cable is powered off",
     "/sys/class/infiniband", "rdma, doctor"},
    {"rdma-port-down", "a port of an RDMA device is not active", "its interface is down, or has no cable or no peer",
     "bring the interface up (`sparkplan apply`), look at both ends of the cable",
     "/sys/class/infiniband/HCA/ports/1/state", "rdma, doctor"},
    {"rdma-no-gid", "there is no GID of type RoCE v2 for the half's address",
     "the interface lacks the IPv4 address, or the port works as RoCE v1 only",
     "give the interface its address (`sparkplan apply`), look at `show_gids` or "
     "/sys/class/infiniband/HCA/ports/1/gids",
     "/sys/class/infiniband/HCA/ports/1/gid_attrs/types", "rdma, doctor"},
    {"rdma-locked-memory", "memory cannot be registered: Cannot allocate memory",
     "the limit of locked memory of this login, service or container is too small",
     "set memlock to unlimited: `limits` of cluster.yaml, LimitMEMLOCK= of a unit, --ulimit memlock=-1 of a container",
     "ulimit -l", "rdma"},
    {"rdma-no-memory", "memory cannot be registered: Cannot allocate memory, with memory free and no limit",
     "too little free memory, or a kernel that has lost its contiguous memory (7.0.0-1019-nvidia: CmaTotal 0 in "
     "/proc/meminfo)",
     "free memory; with CmaTotal 0 boot with kho=off, or take kernel 6.17.0-1031-nvidia with driver 580.173.02",
     "/proc/meminfo, /proc/cmdline", "rdma"},
    {"rdma-connect-timeout", "a queue pair cannot be connected: Connection timed out",
     "the two devices are not in one network: halves cabled crosswise, or the neighbour does not answer ARP",
     "cable port 0 to port 0 or port 1 to port 1 as cluster.yaml says; `ping -I INTERFACE ADDRESS` on each half",
     "ibv_modify_qp", "rdma"},
    {"rdma-connect-unreachable", "a queue pair cannot be connected: Network is unreachable or No route to host",
     "the GID belongs to an address from which there is no way to the other end",
     "give both ends addresses of one subnet per half; set no NCCL_IB_GID_INDEX by hand", "ip route get ADDRESS",
     "rdma"},
    {"rdma-not-acknowledged", "writes are never acknowledged (completion status 12)",
     "packets are lost on the way: a firewall drops UDP port 4791, the MTU is smaller in the middle, or the GID is of "
     "the wrong type or address",
     "allow UDP 4791 on the fabric's interfaces, set the same MTU on both halves, both ends and the switch",
     "ibv_poll_cq", "rdma"},
    {"rdma-refused", "the RDMA driver refuses a step", "driver, firmware and rdma-core do not fit together",
     "bring both nodes to the same kernel, driver and rdma-core; look at `dmesg | grep -i mlx5`", "dmesg", "rdma"},
    {"rdma-pcie-width", "a half carries less than it should, and its adapter uses too few PCIe lanes",
     "the adapter was connected with fewer PCIe lanes than it has (a Spark's half has 4; BIOS from before 2026-04 "
     "gives "
     "some ASUS GX10 2)",
     "update the BIOS (fwupdmgr update), shut down, pull the power cord for 90 s, boot",
     "/sys/class/infiniband/HCA/device/current_link_width", "rdma"},
    {"rdma-link-100g", "a half carries less than it should, and its link is slower than 200 Gb/s",
     "the port or the cable runs at 100 Gb/s: a breakout, a 100G cable, or autonegotiation with a switch",
     "take a 200G cable; on the switch set 200G-baseCR4 and switch autonegotiation off",
     "/sys/class/net/INTERFACE/speed", "rdma"},
    {"rdma-half-speed", "a half carries about half of what it should",
     "its PCIe link has 2 lanes in place of 4, or the link runs at 100 Gb/s",
     "look at `lspci -vv` (LnkSta) and `ethtool INTERFACE` of both ends; update the BIOS, take a 200G cable",
     "lspci -vv, ethtool", "rdma"},
    {"rdma-degraded-init", "a half carries 8 to 25 Gb/s although its link says 200 Gb/s",
     "the ConnectX-7 came up badly; a warm reboot does not help",
     "shut down, pull the power cord for 90 s, boot; then update firmware and driver", "ib_write_bw", "rdma"},
    {"rdma-cpu-forwarding", "a half carries less than 8 Gb/s through a switch",
     "the switch forwards by its processor: a second bridge, MAC or VLAN rules, or a blocked link between switches",
     "put all fabric ports into one hardware-offloaded bridge, take rules away, look at RSTP between switches",
     "ib_write_bw, the switch", "rdma"},
    {"rdma-small-mtu", "a half carries less than it should, with an RDMA MTU below 4096",
     "an interface or the switch has an MTU below 4200",
     "set `fabric: {mtu: 9000}` and apply; the switch needs an L2 MTU of 9216", "ibv_devinfo", "rdma"},
    {"rdma-below-par", "a half carries somewhat less than it should",
     "other traffic on the fabric, a processor that saves power, or old firmware",
     "measure again with nothing else running; bring firmware and driver of both nodes to the same version",
     "ib_write_bw", "rdma"},
    {"rdma-below-threshold", "a half carries less than cluster.yaml wants",
     "the link, the adapter or other traffic on it",
     "look at speed, width and load of both ends, or correct verify.rdma_half", "ib_write_bw", "rdma"},
    {"rdma-halves-share", "both halves together carry no more than one of them",
     "they share something that they should not: both in one subnet, one route for both, or one PCIe link",
     "give each half a subnet of its own (`fabric: {subnets: [...]}`), look at `ip route` on both nodes", "ip route",
     "rdma"},
    {"rdma-at-once-below", "both halves together carry less than they should",
     "other traffic on the fabric, an MTU below 9000, or a switch port that is shared",
     "measure again with nothing else running, set the MTU to 9000 on both ends and the switch", "ib_write_bw", "rdma"},
    {"rdma-latency", "the latency is higher than between Sparks it should be",
     "a processor that saves power, other traffic, or more switches in between than one",
     "measure again with nothing else running; set the processor's governor to performance", "ib_write_lat", "rdma"},
    {"rdma-counters-flat", "writes arrived, and the device's byte counter did not move with them",
     "the traffic took another way than through this device: addresses of the two halves exchanged, or both in one "
     "subnet",
     "give each half a subnet of its own, look at `ip addr` of both halves",
     "/sys/class/infiniband/HCA/ports/1/counters/port_xmit_data", "rdma"},
    {"rdma-sent-again", "a port has sent clearly more than was written",
     "packets are lost and sent again, or something else uses the fabric",
     "look at packet_seq_err and out_of_sequence in /sys/class/infiniband/HCA/ports/1/hw_counters; clean or change the "
     "cable",
     "/sys/class/infiniband/HCA/ports/1/hw_counters", "rdma"},
    // Reported by `doctor` only.
    {"rdma-mtu-small", "an RDMA port uses packets below 4096 bytes, though its interface could carry them",
     "the port was brought up before the interface had its MTU",
     "set the interface down and up again (`ip link set INTERFACE down`, `up`), or boot", "ibv_devinfo"},
    {"rdma-errors", "an RDMA port counts errors",
     "a bad cable or connector, or packets lost for want of flow control in the switch",
     "seat or change the cable; look whether the counter still grows under load",
     "/sys/class/infiniband/HCA/ports/1/counters, hw_counters"},
    {"memlock-login", "a command started over ssh may lock little memory",
     "no limit is set for logins, or sshd does not use PAM; RDMA then fails with: Cannot allocate memory",
     "limits: [{domain: \"*\", item: memlock, type: both, value: unlimited}] in cluster.yaml, and one for root",
     "/proc/PID/limits of the session"},
    {"memlock-service", "a service that starts ranks may lock little memory",
     "limits of logins do not hold for services",
     "units: [{name: docker.service, drop_in: \"[Service]\\nLimitMEMLOCK=infinity\\n\"}], or --ulimit memlock=-1 of "
     "the "
     "container",
     "systemctl show -p LimitMEMLOCK"},
    {"peermem-at-boot", "a module for GPUDirect RDMA is to be loaded at boot",
     "a GB10 has no GPUDirect RDMA: it can never be loaded, and systemd-modules-load fails with every boot",
     "take it out of /etc/modules-load.d", "/etc/modules-load.d"},
});

}  // namespace sparkplan
