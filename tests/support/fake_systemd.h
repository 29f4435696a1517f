#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Gives the node units, systemctl, systemd-analyze, journalctl and rmdir, as far as sparkplan uses them. The node's
/// files contain the unit files. Files below /fake/systemd hold systemd's memory:
///   loaded/NAME      the texts systemd has read; a different text on the disk needs a daemon-reload
///   running/NAME     the texts the unit was started with; exists while the unit is active
///   finished/NAME    a oneshot that has run with success
///   failed/NAME      the last start did not succeed
///   properties/NAME  KEY=VALUE lines of properties that replace its own
/// `enable` creates a link in multi-user.target.wants if the unit has a WantedBy=. A unit's text decides its behaviour:
///   ExecStart=/fake/fails  its start fails
///   ExecStart=/fake/dies   it fails directly after its start
///   ExecStart=/fake/ends   it ends directly after its start
///   Type=oneshot           it finishes
/// `systemd-analyze verify` objects to each line that begins with "Bogus".
void add_systemd(FakeNode& node);

/// Starts the unit with its current files, without `systemctl`.
void start_unit(FakeNode& node, const std::string& name);
/// True while the unit is active.
bool is_running(const FakeNode& node, const std::string& name);
/// The texts that the unit was started with.
std::string running_text(const FakeNode& node, const std::string& name);
bool is_enabled(const FakeNode& node, const std::string& name);
void enable_unit(FakeNode& node, const std::string& name);
/// The answer of units() for this unit.
UnitProperties unit_properties(const FakeNode& node, const std::string& name);
/// KEY=VALUE lines.
void set_unit_properties(FakeNode& node, const std::string& name, const std::string& lines);

}  // namespace sparkplan::test
