#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Gives the node units, systemctl, systemd-analyze, journalctl and rmdir, as far as sparkplan uses them. Unit
/// files are those of the node; what systemd keeps in memory lies in files below /fake/systemd:
///   loaded/NAME      the texts it has read; another text on the disk needs a daemon-reload
///   running/NAME     the texts it was started with; there while the unit is up
///   finished/NAME    a oneshot that has run with success
///   failed/NAME      the last start did not succeed
///   properties/NAME  KEY=VALUE lines of properties that replace its own
/// `enable` makes a link in multi-user.target.wants where the unit has a WantedBy=. A unit's text
/// decides how it behaves: with "ExecStart=/fake/fails" its start fails, with "ExecStart=/fake/dies" it is
/// failed right after it, with "ExecStart=/fake/ends" it is over; "Type=oneshot" finishes.
/// `systemd-analyze verify` objects to each line that begins with "Bogus".
void add_systemd(FakeNode& node);

/// As if the unit had been started with the files that are there.
void start_unit(FakeNode& node, const std::string& name);
/// True while it is up.
bool is_running(const FakeNode& node, const std::string& name);
/// The texts that it was started with.
std::string running_text(const FakeNode& node, const std::string& name);
bool is_enabled(const FakeNode& node, const std::string& name);
void enable_unit(FakeNode& node, const std::string& name);
/// What units() says of it.
UnitProperties unit_properties(const FakeNode& node, const std::string& name);
/// KEY=VALUE lines.
void set_unit_properties(FakeNode& node, const std::string& name, const std::string& lines);

}  // namespace sparkplan::test
