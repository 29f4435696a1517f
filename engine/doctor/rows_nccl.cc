#include <array>

#include "engine/doctor/rows.h"

namespace sparkplan {
namespace {

constexpr auto kRows = std::to_array<DoctorRow>({
    // What a node has.
    {"nccl-no-gpu", "the driver is not there, or shows no GPU", "there is no GPU to measure with",
     "nothing to do on a machine without one; else `nvidia-smi` says what the driver lacks", "nvidia-smi", "nccl"},
    {"nccl-no-library", "the loader finds no libnccl.so.2", "NCCL is not installed on the host",
     "install the package libnccl2, or name a build of your own: nccl: {library: PATH}", "ldconfig -p", "nccl"},
    {"nccl-not-a-library", "the loader refuses the file, or it is no NCCL",
     "the file is no NCCL, or one for another architecture",
     "check the path below `nccl: library` with `file` on the node", "file PATH", "nccl"},
    {"nccl-too-old", "NCCL is older than 2.21.5",
     "this NCCL does not choose the GID of a RoCE v2 port by itself and hangs or falls back to TCP",
     "install a newer libnccl2, the same on all nodes", "dpkg-query -W libnccl2", "nccl, doctor"},
    {"nccl-version-hang", "NCCL before 2.29.3 on a DGX Spark", "this version may hang under load on aarch64, rarely",
     "install NCCL 2.29.3 or later on all nodes", "dpkg-query -W libnccl2", "nccl, doctor"},
    {"nccl-version-ring", "NCCL before 2.30.7 in a ring of DGX Sparks",
     "this version pairs HCAs across cables that do not join them, and hangs or fails at the first operation",
     "install NCCL 2.30.7 or later on all nodes", "dpkg-query -W libnccl2", "nccl, doctor"},
    {"nccl-mixed-versions", "two nodes load different NCCLs", "NCCL speaks to its own version only",
     "install the same libnccl2 on all nodes, or name the same build: nccl: {library: PATH}",
     "dpkg-query -W libnccl2 on all nodes", "nccl, doctor"},
    {"nccl-memory", "less memory is free than the test needs", "something else holds the GPU's memory",
     "stop what runs on the GPU (`nvidia-smi` lists it) and run again", "nvidia-smi; MemAvailable in /proc/meminfo",
     "nccl"},
    // How it ended.
    {"nccl-not-started", "the program of the test could not be started on the node",
     "the connection, sudo or the node's file system did not let it be put in place",
     "`sparkplan verify --level link` shows whether the node can be reached at all; sudo has to allow the installation",
     "ssh NODE /usr/local/libexec/sparkplan/sparkplan-nccl", "nccl"},
    {"nccl-cuda-error", "the CUDA driver refused a call", "the GPU or its driver is not in order",
     "`nvidia-smi` and `dmesg | grep NVRM` on the node tell more; a boot clears most of it", "dmesg | grep NVRM",
     "nccl"},
    {"nccl-error", "NCCL refused a call", "NCCL could not set up or carry out the operation",
     "the warnings of NCCL's log are part of the cause; a variable of `nccl: env` may be the reason", "NCCL_DEBUG=INFO",
     "nccl"},
    {"nccl-peer-gone", "NCCL lost its connection to another rank",
     "another rank ended, or the network between them went away", "run `sparkplan verify --level tcp`",
     "NCCL_DEBUG=INFO", "nccl"},
    {"nccl-rank-ended", "a rank ended without a word",
     "somebody or the kernel killed it (out of memory), or it crashed in NCCL or in the driver",
     "`journalctl -k` on the node tells of a kill for want of memory and of crashes", "journalctl -k", "nccl"},
    {"nccl-join-hangs", "the ranks do not find each other",
     "a firewall drops the TCP ports that NCCL chooses, or NCCL_SOCKET_IFNAME names an interface that does not lead to "
     "the others",
     "allow all TCP between the nodes on that interface (`ufw allow from SUBNET`); `sparkplan verify --level tcp` "
     "shows where it stops",
     "nft list ruleset; ufw status", "nccl"},
    {"nccl-run-hangs", "an operation does not come to an end",
     "the data path is broken though the ranks have found each other: wrong GID, MTU or cabling",
     "run `sparkplan verify --level rdma`; `sparkplan verify --level mtu`", "show_gids", "nccl"},
    {"nccl-load-hangs", "driver or NCCL do not come up", "the GPU's driver hangs",
     "`nvidia-smi` on the node; a boot if that hangs as well", "nvidia-smi", "nccl"},
    // What was measured.
    {"nccl-wrong-data", "an element of a result is wrong",
     "data is damaged on its way or in memory: cable, HCA, GPU or a broken NCCL",
     "take the machine out of use; exchange the cable and repeat; compare with NVIDIA's own NCCL package",
     "the check itself", "nccl"},
    {"nccl-sockets", "NET/Socket in NCCL's log where HCAs are declared",
     "NCCL found none of its HCAs usable and goes over TCP without a word",
     "check NCCL_IB_HCA against `ibdev2netdev`; run `sparkplan verify --level rdma`", "NCCL_DEBUG=INFO", "nccl"},
    {"nccl-management-network", "less than 2 GB/s", "the data goes over TCP or over the management network",
     "check NCCL_IB_HCA and NCCL_SOCKET_IFNAME; run `sparkplan verify --level rdma`", "NCCL_DEBUG=INFO", "nccl"},
    {"nccl-wrong-build", "2 to 5 GB/s at every size", "a development build of NCCL, or an MTU of 1500 on the way",
     "use a released NCCL (package libnccl2); run `sparkplan verify --level mtu`", "strings libnccl.so.2", "nccl"},
    {"nccl-one-half", "10 to 14 GB/s, or fewer HCAs in NCCL's log than it was told of",
     "only one half of the cabled port carries data",
     "both HCAs of the port belong in NCCL_IB_HCA, and both interfaces need an address; `sparkplan verify --level "
     "rdma` shows which half is missing",
     "port_xmit_data of both HCAs", "nccl"},
    {"nccl-rank-left", "a rank of the NCCL test was not seen to end",
     "its process hangs in the GPU's driver, or the connection to its node broke before it ended",
     "look for it on that node: `pgrep -a sparkplan-nccl`; what no signal ends goes with a boot", "pgrep", "nccl"},
    {"nccl-tuning", "18 to 21.9 GB/s", "the path is right but not at its best: MTU, or other traffic",
     "check that the MTU is 9000 on both halves, on both ends and on the switch, and that nothing else uses the link",
     "ip link", "nccl"},
    {"nccl-slow", "less than the threshold, and no single cause shows in the value",
     "a degraded link, PCIe width or GPU clock",
     "run `sparkplan verify --level rdma` for the link; `nvidia-smi -q -d CLOCK,PERFORMANCE` for the GPU",
     "nvidia-smi -q; lspci -vv", "nccl"},
});

}  // namespace

std::span<const DoctorRow> nccl_rows() { return kRows; }

}  // namespace sparkplan
