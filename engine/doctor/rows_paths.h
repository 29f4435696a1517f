#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Paths between nodes: levels mtu, ssh and tcp.
inline constexpr auto kPathRows = std::to_array<DoctorRow>({
    {"mtu-no-reply", "not even a small packet gets there, in neither direction",
     "the two halves are not on one wire: cables are swapped or go elsewhere, a VLAN or a firewall is in between",
     "follow the cables (`ethtool -p INTERFACE` blinks a port), then look at the switch's VLANs and at "
     "`nft list ruleset` on both nodes",
     "packets from agent to agent", "mtu"},
    {"mtu-one-way", "packets get through in the other direction only",
     "a firewall on the receiving node, or a filter on the switch, drops what comes in",
     "look at `nft list ruleset` and `ufw status` on the receiving node, and at the filters of its switch port",
     "packets from agent to agent", "mtu"},
    {"mtu-narrow", "small packets get through, and full-size ones do not",
     "something on the way carries no frame as large as the declared MTU",
     "set the MTU of the switch's ports, and of the bridge behind them, to 9216 (l2mtu on some), or `fabric: mtu` to "
     "what gets through",
     "packets from agent to agent, not to be fragmented", "mtu"},
    {"ssh-no-user", "the user does not exist on the node", "there is no such account",
     "create the account, with the same name on all nodes, or take it out of `ssh_trust: users`", "getent passwd",
     "ssh"},
    {"ssh-unknown-name", "the name does not resolve", "/etc/hosts on the node that logs in does not have it",
     "run `sparkplan apply` with `hosts` in cluster.yaml", "getent hosts NAME", "ssh"},
    {"ssh-host-key", "the host key is unknown, or another than recorded",
     "/etc/ssh/ssh_known_hosts does not have the node's key: it was reinstalled, or trust was never applied",
     "if the node was reinstalled, run `sparkplan trust NODE`, then `sparkplan apply`; if not, find out what answers "
     "at that address",
     "/etc/ssh/ssh_known_hosts", "ssh"},
    {"ssh-denied", "the login is refused",
     "the user's key is not accepted there: authorized_keys lacks it, or sshd_config keeps the user out",
     "run `sparkplan apply`, and read its warnings; on the other node, `journalctl -u ssh` says why",
     "~/.ssh/authorized_keys, sshd_config", "ssh"},
    {"ssh-timeout", "nothing answers at the SSH port", "a firewall drops it, or the node is not there",
     "look at `nft list ruleset` and `ufw status` on the node that does not answer", "the SSH port", "ssh"},
    {"ssh-refused", "the SSH port is closed", "no sshd listens at that address and port",
     "look at `systemctl status ssh` and at ListenAddress and Port in sshd_config", "the SSH port", "ssh"},
    {"ssh-no-route", "there is no route to the node", "no interface leads to that address",
     "look at `ip route get ADDRESS` on the node that logs in", "ip route", "ssh"},
    {"ssh-other", "the login fails", "ssh gave a reason that is none of the usual ones",
     "try it by hand on that node, as that user, with `ssh -v`", "ssh", "ssh"},
    {"tcp-dropped", "TCP gets no answer, though packets of other kinds do",
     "a firewall on the receiving node drops connections: a default of deny, as ufw has it, lets only known ports in",
     "let the fabric's networks in on all ports (`ufw allow in on INTERFACE`): NCCL chooses its ports by itself",
     "a TCP connection from agent to agent", "tcp"},
    {"tcp-refused", "the connection is refused, though the agent listens",
     "a firewall on the receiving node rejects connections",
     "let the fabric's networks in on all ports (`ufw allow in on INTERFACE`): NCCL chooses its ports by itself",
     "a TCP connection from agent to agent", "tcp"},
    {"tcp-no-route", "there is no way to the address",
     "no route leads there, or no machine answers for the address on that interface",
     "look at `ip route get ADDRESS` and `ip neigh` on the sending node", "ip route", "tcp"},
    {"tcp-broken", "the connection broke", "the way was cut, or a node lost its address meanwhile",
     "look at the kernel's log of both nodes (`dmesg`), then verify again", "a TCP connection from agent to agent",
     "tcp"},
    {"slower-than-before", "it is slower than it was",
     "something has changed since: a cable, a driver, the firmware, or what else the machines are doing",
     "verify again while nothing else runs; if it stays so, compare with the time before (`sparkplan history`)",
     "/var/lib/sparkplan/verify", "tcp, rdma, nccl"},
});

}  // namespace sparkplan
