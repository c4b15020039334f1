// Acme's dispatcher: a device that interprets bytecode on the host.
#ifndef ACME_DEVICE_H_
#define ACME_DEVICE_H_

#include <memory>
#include <string>

#include "tim/vx/backend_plugin.h"

namespace acme {

namespace vendor = tim::vx::vendor;

class Device : public vendor::Device {
 public:
  using vendor::Device::Device;
  void CheckRuntime(const std::string& sdk_version, const std::string& model) override;
  std::unique_ptr<vendor::Context> Load(const vendor::Program& program) override;
};

}  // namespace acme

#endif  // ACME_DEVICE_H_
