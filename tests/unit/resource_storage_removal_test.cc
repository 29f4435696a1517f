// Mounts that change or go: what nobody may lose by it, and who is asked before.
#include <algorithm>

#include "engine/resource/mount_table.h"
#include "engine/resource/registry.h"
#include "engine/resource/storage.h"
#include "resources/mount/mount_change.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_unit.h"
#include "resources/nvme_tcp/connection_change.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "tests/support/catch.h"
#include "tests/support/fake_storage.h"

namespace sparkplan::test {
namespace {

StorageMount volume(const std::string& target) {
  StorageMount mount;
  mount.target = target;
  mount.kind = StorageKind::kNvmeTcp;
  mount.nvme = NvmeTcpVolume{"10.0.0.9", 4420, "vol", 1};
  mount.what = nvme_device_link(*mount.nvme);
  mount.type = "ext4";
  mount.options = {"nofail", "_netdev"};
  return mount;
}

/// A machine that is connected to the volume.
FakeNode client() {
  FakeNode node;
  install_fake_storage(node);
  node.put_file("/fake/servers/vol", "nvme1n1");
  node.put_file("/fake/devices/nvme1n1", "ext4");
  connect_subsystem(node, "vol", "10.0.0.9", 4420);
  return node;
}

}  // namespace

TEST_CASE("a volume that a container has mounted writable is written to", "[storage]") {
  FakeNode node = client();
  const auto written = [&] { return display(*builtin_registry().find("mount")->exports(Value::list(), node)); };
  const std::string link = "/dev/disk/by-id/sparkplan-nvme-vol-1";
  CHECK(written().find(link) == std::string::npos);
  node.put_file("/proc/fs/ext4/nvme1n1/options", "rw\nbsddf\n");
  CHECK(written().find(link) != std::string::npos);
  node.put_file("/proc/fs/ext4/nvme1n1/options", "ro\nbsddf\n");
  CHECK(written().find(link) == std::string::npos);
}

TEST_CASE("no login waits for a server, and no shutdown cuts a volume off", "[storage]") {
  nvme_tcp::Connection one;
  one.server = {"10.0.0.9", 4420, "vol", 1};
  const std::string text = nvme_tcp::render_unit(one);
  CHECK(text.find("remote-fs-pre.target") == std::string::npos);
  CHECK(text.find("Before=") == std::string::npos);
  CHECK(text.find("TimeoutStopSec=5\n") != std::string::npos);
  CHECK(text.find("ExecStop") == std::string::npos);
  // The order that the mounts need is in their own units.
  const std::string mount = mount::render_unit(volume("/mnt/a"));
  CHECK(mount.find("\nRequires=sparkplan-nvme-vol.service\nAfter=sparkplan-nvme-vol.service\n") != std::string::npos);
  FakeNode node = client();
  const Observation there =
      Present{Value::map({{"unit", text, {}}, {"enabled", true, {}}, {"state", "connected", {}}}), {}};
  REQUIRE(nvme_tcp::make_connection("vol", there, node));
  REQUIRE(nvme_tcp::make_connection("vol", Absent{}, node));
  CHECK_FALSE(node.text_of("/sys/class/nvme/nvme0/subsysnqn"));
}

}  // namespace sparkplan::test
