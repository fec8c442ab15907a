#include "libpsgd/model/network_presets.hpp"

#include <array>
#include <vector>

#include <fmt/ranges.h>

#include "libpsgd/base/error.hpp"

namespace psgd::model {
namespace {

// Latency of one step of a ring in NCCL's own cost model, protocol Simple: src/graph/tuning.cc of NCCL 2.8, hwLat, rows
// NET, PCI and NVLINK. NCCL makes no difference between RDMA and TCP; TCP takes more.
constexpr double net_alpha = 9.6e-6;
constexpr double pci_alpha = 5.7e-6;
constexpr double nvlink_alpha = 3.4e-6;

constexpr double gigabit = 1e9 / 8;
constexpr double gigabyte = 1e9;

constexpr Network by_net(double bandwidth) { return {net_alpha, 1 / bandwidth}; }

constexpr std::array table{
    NetworkPreset{"ethernet-1g", by_net(1 * gigabit), "1 Gbit/s Ethernet", "IEEE 802.3ab line rate"},
    NetworkPreset{"ethernet-10g", by_net(10 * gigabit), "10 Gbit/s Ethernet, as in the PowerSGD paper",
                  "IEEE 802.3ae line rate"},
    NetworkPreset{"ethernet-25g", by_net(25 * gigabit), "25 Gbit/s Ethernet", "IEEE 802.3by line rate"},
    NetworkPreset{"ethernet-100g", by_net(100 * gigabit), "100 Gbit/s Ethernet", "IEEE 802.3bj line rate"},
    NetworkPreset{"infiniband-edr", by_net(100 * gigabit), "InfiniBand EDR, 4 lanes, 100 Gbit/s",
                  "InfiniBand Trade Association roadmap, EDR 4x"},
    NetworkPreset{"infiniband-hdr", by_net(200 * gigabit), "InfiniBand HDR, 4 lanes, 200 Gbit/s",
                  "InfiniBand Trade Association roadmap, HDR 4x"},
    NetworkPreset{"pcie-4", Network{pci_alpha, 1 / (31.5 * gigabyte)}, "PCI Express 4.0, 16 lanes",
                  "PCI-SIG: 16 GT/s, 128b/130b, 16 lanes"},
    NetworkPreset{"infiniband-ndr", by_net(400 * gigabit), "InfiniBand NDR, 4 lanes, 400 Gbit/s",
                  "InfiniBand Trade Association roadmap, NDR 4x"},
    NetworkPreset{"nvlink-3", Network{nvlink_alpha, 1 / (300 * gigabyte)}, "NVLink 3 (A100), 300 GB/s a direction",
                  "NVIDIA A100 data sheet: 600 GB/s in both directions"},
    NetworkPreset{"nvlink-4", Network{nvlink_alpha, 1 / (450 * gigabyte)}, "NVLink 4 (H100), 450 GB/s a direction",
                  "NVIDIA H100 data sheet: 900 GB/s in both directions"},
};

}  // namespace

std::span<const NetworkPreset> network_presets() { return table; }

const NetworkPreset& network_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NetworkPreset& preset : table) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  throw Error::usage("unknown network \"{}\" (known: {})", name, fmt::join(names, ", "));
}

}  // namespace psgd::model
