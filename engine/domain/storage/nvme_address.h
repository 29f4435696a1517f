#pragma once

#include <string>
#include <string_view>

/// The address of an NVMe server. All functions are pure.
namespace sparkplan {

/// The value of `key` in the address of a controller, as in "traddr=10.0.0.9,trsvcid=4420"; empty if it is missing, as
/// for a PCI device. Source: nvmf_get_address() in the kernel's drivers/nvme/host/fabrics.c.
std::string part_of_nvme_address(std::string_view address, std::string_view key);

}  // namespace sparkplan
