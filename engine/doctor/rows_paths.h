#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Paths between nodes: levels mtu, ssh and tcp.
inline constexpr auto kPathRows = std::to_array<DoctorRow>({
    {"mtu-no-reply", "not even a small packet arrives, in either direction",
     "the two halves are not connected: a swapped or misplaced cable, or a VLAN or firewall in between",
     "follow the cables (`ethtool -p INTERFACE` blinks a port), then check the switch's VLANs and "
     "`nft list ruleset` on both nodes",
     "packets from agent to agent", "mtu"},
    {"mtu-one-way", "packets arrive only in the other direction",
     "a firewall on the receiving node, or a filter on the switch, drops incoming packets",
     "check `nft list ruleset` and `ufw status` on the receiving node, and the filters of its switch port",
     "packets from agent to agent", "mtu"},
    {"mtu-narrow", "small packets arrive, but full-size packets do not",
     "a device on the path does not carry frames as large as the declared MTU",
     "set the MTU of the switch's ports, and of the bridge behind them, to 9216 (l2mtu on some), or `fabric: mtu` to "
     "the size that arrives",
     "packets from agent to agent, which must not be fragmented", "mtu"},
    {"ssh-no-user", "the user does not exist on the node", "there is no such account",
     "create the account, with the same name on all nodes, or remove it from `ssh_trust: users`", "getent passwd",
     "ssh"},
    {"ssh-unknown-name", "the name does not resolve", "/etc/hosts of the connecting node does not list it",
     "run `sparkplan apply` with `hosts` in cluster.yaml", "getent hosts NAME", "ssh"},
    {"ssh-host-key", "the host key is unknown, or differs from the recorded one",
     "/etc/ssh/ssh_known_hosts lacks the node's key: the node was reinstalled, or `ssh_trust` was never applied",
     "if the node was reinstalled, run `sparkplan trust NODE`, then `sparkplan apply`; if not, find out what answers "
     "at that address",
     "/etc/ssh/ssh_known_hosts", "ssh"},
    {"ssh-denied", "the login is refused",
     "the node does not accept the user's key: authorized_keys lacks it, or sshd_config denies the user",
     "run `sparkplan apply`, and read its warnings; on the other node, `journalctl -u ssh` shows the reason",
     "~/.ssh/authorized_keys, sshd_config", "ssh"},
    {"ssh-timeout", "no answer from the SSH port", "a firewall drops the packets, or the node is down",
     "check `nft list ruleset` and `ufw status` on the node that does not answer", "the SSH port", "ssh"},
    {"ssh-refused", "the SSH port is closed", "no sshd listens at that address and port",
     "check `systemctl status ssh`, and ListenAddress and Port in sshd_config", "the SSH port", "ssh"},
    {"ssh-no-route", "there is no route to the node", "no interface leads to that address",
     "check `ip route get ADDRESS` on the connecting node", "ip route", "ssh"},
    {"ssh-other", "the login fails", "ssh failed for an unusual reason",
     "log in by hand with `ssh -v`, from that node and as that user", "ssh", "ssh"},
    {"tcp-dropped", "TCP gets no answer, although other packets do",
     "a firewall on the receiving node drops connections: if it denies by default, as ufw does, only known ports work",
     "allow the fabric's networks on all ports (`ufw allow in on INTERFACE`): NCCL can use any port",
     "a TCP connection from agent to agent", "tcp"},
    {"tcp-refused", "the connection is refused, although the agent listens",
     "a firewall on the receiving node rejects connections",
     "allow the fabric's networks on all ports (`ufw allow in on INTERFACE`): NCCL can use any port",
     "a TCP connection from agent to agent", "tcp"},
    {"tcp-no-route", "the address is unreachable",
     "no route leads there, or no machine answers for the address on that interface",
     "check `ip route get ADDRESS` and `ip neigh` on the sending node", "ip route", "tcp"},
    {"tcp-broken", "the connection broke", "the path failed, or a node lost its address meanwhile",
     "check the kernel log of both nodes (`dmesg`), then verify again", "a TCP connection from agent to agent", "tcp"},
    {"slower-than-before", "the result is worse than in earlier runs",
     "something has changed: a cable, a driver, the firmware, or the load of the machines",
     "verify again while nothing else runs; if it stays worse, check what changed (`sparkplan history`)",
     "/var/lib/sparkplan/verify", "tcp, rdma, nccl"},
});

}  // namespace sparkplan
