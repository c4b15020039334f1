// Reading and writing what was measured: see tuning.h.
#include "backends/opencl/compile/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/disk_cache.h"

namespace tim::vx::opencl {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "timcl tuning 1";
constexpr std::streamoff kMostBytes = 64 << 20;

Status Wrong(const std::string& what) {
  return Status::Error(Code::kInvalidArgument, "tuning: " + what);
}

std::string OperandText(const TensorView& t) {
  if (!t.present()) return "none";
  return fmt::format("{}{}{}", t.is_const() ? "const " : "", NameOf(t.dtype()),
                     t.shape().ToString());
}

}  // namespace

std::string SignatureOf(const OpView& op) {
  std::string text(op.kind());
  for (size_t i = 0; i < op.num_inputs(); ++i)
    text += (i == 0 ? "(" : ", ") + OperandText(op.in(i));
  text += ") ->";
  for (size_t i = 0; i < op.num_outputs(); ++i)
    text += (i == 0 ? " " : ", ") + OperandText(op.out(i));
  return text + " (" + op.any_attrs().Map().ToText() + ")";
}

std::vector<const KernelCandidate*> Tuning::InOrder(const OpView& op) const {
  std::vector<const KernelCandidate*> order;
  for (const KernelCandidate& candidate : op.def().kernels) order.push_back(&candidate);
  const auto it = kernels.empty() ? kernels.end() : kernels.find(SignatureOf(op));
  if (it == kernels.end()) return order;
  const auto time = [&](const KernelCandidate* candidate) {
    const auto measured = it->second.find(candidate->name);
    return measured == it->second.end() ? std::numeric_limits<double>::infinity()
                                        : measured->second;
  };
  std::stable_sort(
      order.begin(), order.end(),
      [&](const KernelCandidate* a, const KernelCandidate* b) { return time(a) < time(b); });
  return order;
}

std::string Tuning::ToJson() const {
  Json ops = Json::object();
  for (const auto& [signature, times] : kernels) ops[signature] = times;
  const Json json = {{"format", kFormat},
                     {"library", library},
                     {"device", device},
                     {"driver", driver},
                     {"kernels_ms", ops}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Tuning> Tuning::Parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return Wrong("the text is no JSON object");
  const auto word = [&](const char* key) {
    const auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  if (word("format") != kFormat)
    return Wrong(
        fmt::format("its format is '{}', and this library reads '{}'", word("format"), kFormat));
  Tuning tuning;
  tuning.library = word("library"), tuning.device = word("device"), tuning.driver = word("driver");
  const auto ops = json.find("kernels_ms");
  if (ops == json.end() || !ops->is_object()) return Wrong("it has no object 'kernels_ms'");
  for (const auto& [signature, times] : ops->items()) {
    if (!times.is_object()) return Wrong(fmt::format("'{}' is no object", signature));
    for (const auto& [kernel, ms] : times.items()) {
      const double value = ms.is_number() ? ms.get<double>() : -1;
      if (!(value >= 0) || !std::isfinite(value))
        return Wrong(fmt::format("'{}': the time of kernel '{}' is no time", signature, kernel));
      tuning.kernels[signature][kernel] = value;
    }
  }
  return tuning;
}

Result<Tuning> Tuning::Read(const std::string& file, const std::string& device,
                            const std::string& driver) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0 || size > kMostBytes)
    return Status::Error(Code::kIo, fmt::format("tuning: '{}' cannot be read", file));
  std::string text(static_cast<size_t>(size), '\0');
  in.seekg(0);
  in.read(text.data(), size);
  if (!in) return Status::Error(Code::kIo, fmt::format("tuning: '{}' cannot be read", file));
  auto tuning = Parse(text);
  if (!tuning.ok()) {
    return Status::Error(tuning.status().code(),
                         fmt::format("'{}': {}", file, tuning.status().detail()));
  }
  const auto other = [&](const char* what, const std::string& its, const std::string& ours) {
    return Status::Error(Code::kVersionMismatch,
                         fmt::format("tuning: '{}' is for {} '{}', and this is '{}': run `timcl "
                                     "tune` again",
                                     file, what, its, ours));
  };
  if (tuning->library != TIMCL_VERSION) return other("version", tuning->library, TIMCL_VERSION);
  if (tuning->device != device) return other("device", tuning->device, device);
  if (tuning->driver != driver) return other("driver", tuning->driver, driver);
  return tuning;
}

std::string Tuning::FileFor(const std::string& cache_dir, const std::string& device,
                            const std::string& driver) {
  if (cache_dir.empty()) return "";
  return fmt::format("{}/tuning_{}.json", cache_dir, base::HashName(device + "\n" + driver));
}

}  // namespace tim::vx::opencl
