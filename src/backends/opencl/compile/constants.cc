// PlaceConstants: where packed data and joined constants lie.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/opencl/compile/unit.h"
#include "backends/opencl/run/packing.h"
#include "base/checked.h"
#include "base/storage.h"

namespace tim::vx::opencl {
namespace {

/// What one thread copies at a time.
constexpr size_t kCopy = size_t{4} << 20;

/// Bytes of a memory that others share.
class Piece : public kernel::Memory {
 public:
  Piece(std::shared_ptr<const kernel::Memory> whole, size_t offset, size_t bytes)
      : whole_(std::move(whole)), offset_(offset), bytes_(bytes) {}
  void* data() const override { return static_cast<std::byte*>(whole_->data()) + offset_; }
  size_t bytes() const override { return bytes_; }
  uint64_t host_version() const override { return whole_->host_version(); }
  bool has_header() const override { return false; }

 private:
  const std::shared_ptr<const kernel::Memory> whole_;
  const size_t offset_, bytes_;
};

/// The work that writes a constant.
void AddJobs(const Constant& c, std::byte* to, Packing* packing) {
  if (c.fill) return packing->Add(c.fill_bytes, [fill = c.fill, to] { fill(to); });
  const auto* from = c.memory ? static_cast<const std::byte*>(c.memory->data()) : c.data->data();
  for (size_t at = 0; at < c.bytes(); at += kCopy) {
    const size_t bytes = std::min(kCopy, c.bytes() - at);
    // The constant comes along: it owns what is copied.
    packing->Add(bytes,
                 [c, from = from + at, to = to + at, bytes] { std::memcpy(to, from, bytes); });
  }
}

}  // namespace

Status PlaceConstants(PartitionPlan* plan, PartitionPlan* joined) {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t bytes = 0;
  if (joined != nullptr) {
    parts = joined->constants[0].parts;
    bytes = joined->constants[0].fill_bytes;
  } else {
    for (size_t i = 0; i < plan->constants.size(); ++i) {
      if (!plan->constants[i].fill) continue;
      parts.emplace_back(i, bytes);
      bytes = base::AlignUp(bytes + std::max<size_t>(plan->constants[i].bytes(), 1),
                            kConstantAlignment);
    }
  }
  if (bytes == 0) return Status();
  const std::shared_ptr<base::Storage> memory = base::Storage::Allocate(bytes);
  if (memory == nullptr) {
    return Status::Error(Code::kOutOfMemory,
                         "no memory for " + std::to_string(bytes) + " bytes of packed constants");
  }
  auto packing = std::make_shared<Packing>();
  for (const auto& [index, offset] : parts) {
    Constant& c = plan->constants[index];
    AddJobs(c, static_cast<std::byte*>(memory->data()) + offset, packing.get());
    Constant placed;
    placed.memory = std::make_shared<Piece>(memory, offset, c.bytes());
    placed.type = c.type;
    c = std::move(placed);
  }
  if (joined != nullptr) joined->constants[0].memory = memory;
  if (joined != nullptr && joined->helpers) joined->helpers->constants[0].memory = memory;
  (joined != nullptr ? joined : plan)->packing = std::move(packing);
  return Status();
}

}  // namespace tim::vx::opencl
