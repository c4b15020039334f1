// timcl devices: the list and the choice are the library's own, so the command cannot differ from
// what a Context does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/opencl/run/device.h"
#include "base/env.h"
#include "tools/tools.h"

namespace tim::vx::tools {
namespace {

struct Options {
  std::string device, format = "text";
};

std::string Version(int version) { return fmt::format("{}.{}", version / 100, version % 100 / 10); }
std::string MiB(uint64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

std::string Describe(size_t index, const opencl::DeviceEntry& e) {
  const DeviceCaps& c = e.caps;
  std::string text = fmt::format("{}: {}\n", index, c.name);
  auto row = [&](const char* what, const std::string& value) {
    text += fmt::format("   {:<16} {}\n", what, value);
  };
  row("platform", c.platform);
  row("vendor", c.vendor);
  row("driver", c.driver);
  row("type", std::string(opencl::NameOf(e.type)) + (e.pocl ? ", PoCL" : "") +
                  (e.software_rasterizer ? ", software rasterizer" : ""));
  row("OpenCL", Version(c.opencl_version));
  row("compute units", std::to_string(c.compute_units));
  row("work-group", fmt::format("up to {} work-items", c.max_work_group));
  row("memory", fmt::format("{}, one buffer up to {}, origins aligned to {} bytes, {}",
                            MiB(c.global_memory), MiB(c.max_allocation), c.buffer_alignment,
                            c.shared_memory ? "shared with the host" : "of its own"));
  row("division", c.correctly_rounded_divide ? "correctly rounded on request"
                                             : "never promised to be correctly rounded");
  if (e.runs_inline) row("kernels", "run in the caller's thread: for small graphs (TIMCL_INLINE)");
  row("register tiles", c.register_tiles_pay ? "pay" : "not known to pay");
  row("dot product", c.dot_product_u8s8 ? "of bytes (vpdpbusd)" : "none");
  row("relaxed mode", c.dot_product_bf16 ? "multiplies bfloat16 (vdpbf16ps)" : "is float32");
  row("verdict", e.verdict.empty() ? e.why_not : e.verdict);
  return text;
}

nlohmann::json ToJson(size_t index, const opencl::DeviceEntry& e, bool chosen) {
  const DeviceCaps& c = e.caps;
  return {{"index", index},
          {"name", c.name},
          {"platform", c.platform},
          {"vendor", c.vendor},
          {"driver", c.driver},
          {"type", opencl::NameOf(e.type)},
          {"pocl", e.pocl},
          {"software_rasterizer", e.software_rasterizer},
          {"opencl", Version(c.opencl_version)},
          {"compute_units", c.compute_units},
          {"max_work_group", c.max_work_group},
          {"global_memory", c.global_memory},
          {"max_allocation", c.max_allocation},
          {"buffer_alignment", c.buffer_alignment},
          {"shared_memory", c.shared_memory},
          {"correctly_rounded_divide", c.correctly_rounded_divide},
          {"register_tiles_pay", c.register_tiles_pay},
          {"dot_product_u8s8", c.dot_product_u8s8},
          {"dot_product_bf16", c.dot_product_bf16},
          {"rdtscp_tells_core", c.rdtscp_tells_core},
          {"runs_inline", e.runs_inline},
          {"usable", e.usable},
          {"chosen", chosen},
          {"verdict", e.verdict.empty() ? e.why_not : e.verdict}};
}

int Run(const Options& options) {
  const base::Environment& env = base::Environment::Process();
  const bool from_env = options.device.empty() && !env.Get(base::Env::kDevice).empty();
  const std::string request = from_env ? env.Get(base::Env::kDevice) : options.device;
  if (request == "reference") {
    std::puts("No device is opened: the reference backend was requested, which is host code.");
    return 0;
  }
  auto entries = opencl::ListDevices(nullptr, true);
  Status status;
  size_t chosen = entries.size();
  if (entries.empty()) {
    // Its text says where the loader looked and what to install.
    status = opencl::ChooseDevice(request, env.Get(base::Env::kIcdVendors)).status();
  } else if (auto index = opencl::ChooseAmong(&entries, request); index.ok()) {
    chosen = *index;
  } else {
    status = index.status();
  }
  if (options.format == "json") {
    nlohmann::json all = nlohmann::json::array();
    for (size_t i = 0; i < entries.size(); ++i) all.push_back(ToJson(i, entries[i], i == chosen));
    const nlohmann::json json = {
        {"devices", all}, {"request", request}, {"error", status.message()}};
    std::puts(json.dump(2).c_str());
  } else {
    for (size_t i = 0; i < entries.size(); ++i) {
      std::fputs((Describe(i, entries[i]) + "\n").c_str(), stdout);
    }
    if (status.ok()) {
      fmt::print("Device {} is used: {}{}.\n", chosen, entries[chosen].verdict,
                 from_env ? " (by TIMCL_DEVICE)" : "");
    }
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

}  // namespace

Command AddDevices(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand(
      "devices",
      "Lists every OpenCL platform and device: which one is chosen, and why each other is not. "
      "Exit status 1 when there is none that can be used.");
  sub->add_option("--device", options->device,
                  "What ContextOptions::device would say: an index or part of a name");
  sub->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  return [options] { return Run(*options); };
}

}  // namespace tim::vx::tools
