#include "engine/agent/rdma.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace sparkplan {
namespace {

struct ListDeleter {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
struct ContextDeleter {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};

std::string guid_text(std::uint64_t network_order) {
  const auto guid = be64toh(network_order);
  std::string text(24, '\0');
  const int size = std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(guid));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

RdmaDeviceFacts facts_of(ibv_device* device) {
  RdmaDeviceFacts facts;
  facts.name = ibv_get_device_name(device);
  facts.node_guid = guid_text(ibv_get_device_guid(device));
  const std::unique_ptr<ibv_context, ContextDeleter> context(ibv_open_device(device));
  ibv_device_attr attributes{};
  if (context && ibv_query_device(context.get(), &attributes) == 0) facts.ports = attributes.phys_port_cnt;
  return facts;
}

}  // namespace

Result<std::vector<RdmaDeviceFacts>> read_rdma_devices() {
  // Without the module libibverbs reports an error where there is just no device.
  std::error_code ignored;
  if (!std::filesystem::exists("/sys/class/infiniband", ignored)) return std::vector<RdmaDeviceFacts>();
  int count = 0;
  const std::unique_ptr<ibv_device*, ListDeleter> list(ibv_get_device_list(&count));
  if (!list) {
    if (errno == ENOSYS || errno == ENOENT) return std::vector<RdmaDeviceFacts>();
    return failure(system_error("list the RDMA devices", errno));
  }
  std::vector<RdmaDeviceFacts> devices;
  for (int i = 0; i < count; ++i) devices.push_back(facts_of(list.get()[i]));
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return devices;
}

}  // namespace sparkplan
