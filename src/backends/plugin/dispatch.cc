// Devices, contexts, and the memory that they are bound to.
#include "backends/plugin/dispatch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tim::vx::plugin {
namespace {

constexpr size_t kAlignment = 64;  // of the library's own memory
constexpr size_t kMaxMetrics = 64;
constexpr int32_t kMetricsLevel = 1;

/// What a dispatcher needs of one tensor's memory, checked.
struct Needs {
  size_t alignment = kAlignment;
  size_t bytes = 0;             // at least those of the dense elements, or up to the last stride
  std::vector<size_t> strides;  // empty: dense

  /// Whether dense memory of `dense` bytes can do, at some address.
  bool AsDense(size_t dense) const { return strides.empty() && bytes <= dense; }
};

std::vector<size_t> DenseStrides(const TensorType& type, size_t element) {
  std::vector<size_t> strides;
  for (const int64_t extent : type.shape.dims()) {
    strides.push_back(element);
    element *= static_cast<size_t>(extent);
  }
  return strides;
}

/// kPlugin: no memory can be like that.
Status Check(const timcl_requirements& given, const TensorType& type, Needs* needs) {
  const auto wrong = [](std::string text) { return Status::Error(Code::kPlugin, std::move(text)); };
  if ((given.kinds & TIMCL_BUFFER_HOST) == 0) {
    return wrong(
        fmt::format("kinds of memory {:#x} are wanted, and the library gives host memory, "
                    "{:#x}",
                    given.kinds, static_cast<unsigned>(TIMCL_BUFFER_HOST)));
  }
  if (given.alignment == 0 || (given.alignment & (given.alignment - 1)) != 0)
    return wrong(fmt::format("an alignment of {} is no power of two", given.alignment));
  needs->alignment = given.alignment;
  const size_t dense = type.bytes(), rank = type.shape.rank();
  needs->bytes = std::max(dense, given.bytes);
  if (given.num_strides == 0) return Status();
  if (given.num_strides != rank || rank > TIMCL_MAX_RANK)
    return wrong(fmt::format("{} strides are given, and the rank is {}", given.num_strides, rank));
  // From the smallest stride on: each element must lie behind all that came before.
  const size_t element = dense / static_cast<size_t>(type.count());
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d) {
    if (type.shape[d] > 1) order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return given.strides[a] < given.strides[b]; });
  size_t span = element;
  for (const size_t d : order) {
    const size_t stride = given.strides[d];
    if (stride < span) {
      return wrong(
          fmt::format("a stride of {} bytes along dimension {} lets elements overlap: at "
                      "least {} are needed",
                      stride, d, span));
    }
    size_t more = 0;
    if (__builtin_mul_overflow(stride, static_cast<size_t>(type.shape[d] - 1), &more) ||
        __builtin_add_overflow(span, more, &span)) {
      return wrong(fmt::format("a stride of {} bytes along dimension {} reaches beyond all memory",
                               stride, d));
    }
  }
  needs->bytes = std::max(needs->bytes, span);
  needs->strides.assign(given.strides, given.strides + rank);
  // Of extents of 1 any stride is as good as the dense one.
  const std::vector<size_t> usual = DenseStrides(type, element);
  for (size_t d = 0; d < rank; ++d) {
    if (type.shape[d] == 1) needs->strides[d] = usual[d];
  }
  if (needs->strides == usual) needs->strides.clear();
  return Status();
}

/// Copies all elements between dense memory and memory with these strides.
void CopyElements(const TensorType& type, const Needs& needs, std::byte* theirs, std::byte* dense,
                  bool to_them) {
  const auto copy = [&](std::byte* a, std::byte* b, size_t bytes) {
    if (to_them) {
      std::memcpy(a, b, bytes);
    } else {
      std::memcpy(b, a, bytes);
    }
  };
  if (needs.strides.empty()) return copy(theirs, dense, type.bytes());
  const Shape& shape = type.shape;
  const size_t element = type.bytes() / static_cast<size_t>(type.count());
  // Rows of dimension 0 in one piece, where its elements touch each other.
  const bool rows = needs.strides[0] == element;
  const size_t piece = rows ? element * static_cast<size_t>(shape[0]) : element;
  std::vector<int64_t> at(shape.rank(), 0);
  for (const std::byte* const end = dense + type.bytes(); dense != end; dense += piece) {
    size_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += static_cast<size_t>(at[d]) * needs.strides[d];
    copy(theirs + offset, dense, piece);
    for (size_t d = rows ? 1 : 0; d < at.size() && ++at[d] == shape[d]; ++d) at[d] = 0;
  }
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// One tensor at the border of a call.
struct Place {
  Place(uint32_t id, const Port& port) : tensor(id, port.name, port.type, nullptr) {}
  timcl_tensor tensor;
  Needs needs;
  std::unique_ptr<void, Free> copy;  // where the library's memory does not do
  const void* bound = nullptr;

  bool Does(const void* address) const {
    return needs.AsDense(tensor.type.bytes()) &&
           reinterpret_cast<uintptr_t>(address) % needs.alignment == 0;
  }
  Status MakeCopy() {
    if (copy != nullptr) return Status();
    void* memory = nullptr;
    if (posix_memalign(&memory, std::max(needs.alignment, sizeof(void*)), needs.bytes) != 0) {
      return Status::Error(Code::kOutOfMemory,
                           fmt::format("{} bytes for a copy of {}", needs.bytes, tensor.label));
    }
    copy.reset(std::memset(memory, 0, needs.bytes));
    return Status();
  }
};

class PluginKernel : public kernel::Kernel {
 public:
  PluginKernel(std::shared_ptr<Device> device, std::shared_ptr<const LoadedCode> code,
               const Call& call)
      : device_(std::move(device)),
        code_(std::move(code)),
        blob_{code_->bytes.data(), code_->bytes.size(), -1, 0},
        entry_(call.entry) {
    uint32_t id = 0;
    for (const Port& port : call.inputs) inputs_.push_back(Place(id++, port));
    for (const Port& port : call.outputs) outputs_.push_back(Place(id++, port));
    for (const Place& place : inputs_) input_handles_.push_back(&place.tensor);
    for (const Place& place : outputs_) output_handles_.push_back(&place.tensor);
    set_name(entry_);
  }
  ~PluginKernel() override {
    if (context_ != nullptr)
      Tell(origin(), "context_destroy", [&] { api().context_destroy(context_); });
  }

  Status Create() {
    const Status created = Ask(origin(), "context_create", &context_, [&](void** context) {
      return api().context_create(device_->object, &blob_,
                                  code_->live ? code_->live->object : nullptr, entry_.c_str(),
                                  input_handles_.data(), input_handles_.size(),
                                  output_handles_.data(), output_handles_.size(), context);
    });
    if (created.code() == Code::kUnsupported)
      return Status::Error(Code::kUnsupported, Reason(created));
    if (!created.ok())
      return Status::Error(created.code(), fmt::format("entry '{}': {}", entry_, created.detail()));
    return AskNeeds();
  }

  Status Prepare(const kernel::Io& io) override {
    if (io.inputs.size() != inputs_.size() || io.outputs.size() != outputs_.size()) {
      return Status::Error(Code::kInternal,
                           fmt::format("entry '{}' has {} inputs and {} outputs, and is given {} "
                                       "and {}",
                                       entry_, inputs_.size(), outputs_.size(), io.inputs.size(),
                                       io.outputs.size()));
    }
    io_ = &io;
    return LookAtMemory();
  }

  Status Execute() override {
    TIMCL_TRY(EachPlace([&](bool output, size_t i, Place& place, const kernel::Buffer& buffer) {
      return Bind(output, i, &place, buffer);
    }));
    TIMCL_TRY(Ask(origin(), "invoke", [&] { return api().invoke(context_); }));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Place& place = outputs_[i];
      void* const memory = io_->outputs[i].Data();
      if (place.bound == memory) continue;
      CopyElements(place.tensor.type, place.needs, static_cast<std::byte*>(place.copy.get()),
                   static_cast<std::byte*>(memory), false);
    }
    return Status();
  }

  Status ReSize() override {
    if (api().resize == nullptr) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("plugin '{}' has no resize", origin().name));
    }
    if (io_ == nullptr)
      return Status::Error(Code::kInternal, fmt::format("entry '{}' is not prepared", entry_));
    TIMCL_TRY(EachPlace([](bool, size_t, Place& place, const kernel::Buffer& buffer) {
      place.tensor.Retype(buffer.type);
      place.copy.reset();
      place.bound = nullptr;
      return Status();
    }));
    const Status resized = Ask(origin(), "resize", [&] { return api().resize(context_); });
    if (resized.code() == Code::kUnsupported)
      return Status::Error(Code::kUnsupported, Reason(resized));
    TIMCL_TRY(resized);
    return AskNeeds();
  }

  Status Profile(std::vector<kernel::Timing>* timings) override {
    const auto start = std::chrono::steady_clock::now();
    TIMCL_TRY(Execute());
    kernel::Timing whole;
    whole.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    whole.kernel = entry_ + Metrics();
    timings->push_back(std::move(whole));
    return Status();
  }

  std::vector<std::string> Warnings() const override { return warnings_; }

 private:
  const Origin& origin() const { return device_->half->origin; }
  const timcl_dispatch_api& api() const { return device_->half->api; }
  static std::string Label(bool output, size_t i, const Place& place) {
    return fmt::format("{} {} {}", output ? "output" : "input", i, place.tensor.label);
  }

  /// Calls f(whether it is an output, index, place, memory) until one fails.
  template <class F>
  Status EachPlace(F f) {
    for (size_t i = 0; i < inputs_.size(); ++i) TIMCL_TRY(f(false, i, inputs_[i], io_->inputs[i]));
    for (size_t i = 0; i < outputs_.size(); ++i)
      TIMCL_TRY(f(true, i, outputs_[i], io_->outputs[i]));
    return Status();
  }

  Status AskNeeds() {
    for (const bool output : {false, true}) {
      std::vector<Place>& places = output ? outputs_ : inputs_;
      for (size_t i = 0; i < places.size(); ++i) {
        Place& place = places[i];
        place.needs = Needs();
        place.needs.bytes = place.tensor.type.bytes();
        if (api().requirements == nullptr) continue;
        timcl_requirements given = {};
        given.h = TIMCL_HEADER(timcl_requirements);
        given.kinds = TIMCL_BUFFER_HOST;
        given.alignment = kAlignment;
        given.bytes = place.needs.bytes;
        TIMCL_TRY(Ask(origin(), "requirements",
                      [&] { return api().requirements(context_, output, i, &given); }));
        const Status checked = Check(given, place.tensor.type, &place.needs);
        if (!checked.ok()) {
          return Status::Error(
              checked.code(),
              fmt::format("plugin '{}': requirements of {} of entry '{}': {}", origin().name,
                          Label(output, i, place), entry_, checked.detail()));
        }
      }
    }
    return Status();
  }

  /// Makes the copies that Execute will need, and tells of them.
  Status LookAtMemory() {
    warnings_.clear();
    return EachPlace(
        [&](bool output, size_t i, Place& place, const kernel::Buffer& buffer) -> Status {
          if (place.Does(buffer.Data())) return Status();
          const Needs& needs = place.needs;
          std::string wanted = fmt::format("{} bytes, aligned to {}", needs.bytes, needs.alignment);
          if (!needs.strides.empty())
            wanted += fmt::format(", strides {}", fmt::join(needs.strides, " "));
          warnings_.push_back(fmt::format(
              "plugin '{}': {} of entry '{}' is copied in each run, as it wants other memory: {}",
              origin().name, Label(output, i, place), entry_, wanted));
          return place.MakeCopy();
        });
  }

  /// The address that the dispatcher is to use now, with an input's elements in it.
  Status Bind(bool output, size_t i, Place* place, const kernel::Buffer& buffer) {
    void* memory = buffer.Data();
    timcl_buffer given = {};
    given.h = TIMCL_HEADER(timcl_buffer);
    given.kind = TIMCL_BUFFER_HOST;
    given.bytes = place->tensor.type.bytes();
    if (!place->Does(memory)) {
      TIMCL_TRY(place->MakeCopy());
      if (!output) {
        CopyElements(place->tensor.type, place->needs, static_cast<std::byte*>(place->copy.get()),
                     static_cast<std::byte*>(memory), true);
      }
      memory = place->copy.get();
      given.bytes = place->needs.bytes;
    }
    if (memory == place->bound) return Status();
    given.data = memory;
    TIMCL_TRY(Ask(origin(), "bind", [&] { return api().bind(context_, output, i, &given); }));
    place->bound = memory;
    return Status();
  }

  /// ": cycles 1204, dma 3 us".
  std::string Metrics() {
    if (api().metrics == nullptr) return "";
    timcl_metric found[kMaxMetrics] = {};
    size_t count = kMaxMetrics;
    const Status asked = Ask(origin(), "metrics",
                             [&] { return api().metrics(context_, kMetricsLevel, found, &count); });
    if (!asked.ok()) return ": " + asked.detail();
    std::string text;
    for (size_t m = 0; m < std::min(count, kMaxMetrics); ++m) {
      if (found[m].name == nullptr) continue;
      const std::string unit = found[m].unit ? found[m].unit : "";
      text += fmt::format("{} {} {:g}{}{}", text.empty() ? ":" : ",", found[m].name, found[m].value,
                          unit.empty() ? "" : " ", unit);
    }
    return text;
  }

  // What stands first goes last.
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<const LoadedCode> code_;
  const timcl_blob blob_;
  const std::string entry_;
  std::vector<Place> inputs_, outputs_;
  std::vector<const timcl_tensor*> input_handles_, output_handles_;
  void* context_ = nullptr;
  const kernel::Io* io_ = nullptr;  // the executable's: types and addresses may change
  std::vector<std::string> warnings_;
};

}  // namespace

std::string Reason(const Status& refusal) {
  return LastWords().empty() ? refusal.detail() : LastWords();
}

timcl_options OptionsOf(const CompileEnv& env) {
  return {{env.options.begin(), env.options.end()}};
}

Device::Device(std::shared_ptr<const Dispatcher> dispatcher, const CompileEnv& env)
    : half(std::move(dispatcher)), options(OptionsOf(env)), assets(env.assets) {}
Device::~Device() {
  if (object != nullptr)
    Tell(half->origin, "device_destroy", [&] { half->api.device_destroy(object); });
}

Result<std::shared_ptr<Device>> OpenDevice(std::shared_ptr<const Dispatcher> dispatcher,
                                           const CompileEnv& env) {
  const auto device = std::make_shared<Device>(std::move(dispatcher), env);
  const timcl_dispatch_api& api = device->half->api;
  const Status made =
      Ask(device->half->origin, "device_create", &device->object,
          [&](void** object) { return api.device_create(&Host(), &device->options, object); });
  if (made.code() == Code::kUnsupported) return Status::Error(Code::kUnsupported, Reason(made));
  TIMCL_TRY(made);
  if (api.register_asset == nullptr) return device;
  for (const auto& [name, asset] : device->assets.named) {
    const timcl_blob blob = {asset.data, asset.size, -1, 0};
    const Status registered = Ask(device->half->origin, "register_asset", [&, &key = name] {
      return api.register_asset(device->object, key.c_str(), &blob);
    });
    if (registered.ok()) continue;
    return Status::Error(registered.code(),
                         fmt::format("asset '{}': {}", name, registered.detail()));
  }
  return device;
}

Status CheckStamp(const Device& device, const CodeModule::Stamp& stamp) {
  const Dispatcher& half = *device.half;
  const std::string what =
      fmt::format("SDK '{}' compiled it{}, and plugin '{}' of SDK '{}'", stamp.sdk_version,
                  stamp.model.empty() ? "" : fmt::format(" for model '{}'", stamp.model),
                  half.origin.name, half.origin.sdk_version);
  if (half.api.check_runtime == nullptr) {
    if (stamp.sdk_version == half.origin.sdk_version) return Status();
    return Status::Error(Code::kVersionMismatch, what + " runs only what is of its own version");
  }
  bool answered = false;
  const Status checked = Ask(half.origin, "check_runtime", [&] {
    const timcl_status answer =
        half.api.check_runtime(device.object, stamp.sdk_version.c_str(), stamp.model.c_str());
    answered = true;
    return answer;
  });
  if (checked.ok() || !answered) return checked;
  return Status::Error(Code::kVersionMismatch, what + " does not run it: " + Reason(checked));
}

Result<std::unique_ptr<kernel::Kernel>> MakeKernel(std::shared_ptr<Device> device,
                                                   std::shared_ptr<const LoadedCode> code,
                                                   const Call& call) {
  auto kernel = std::make_unique<PluginKernel>(std::move(device), std::move(code), call);
  TIMCL_TRY(kernel->Create());
  return std::unique_ptr<kernel::Kernel>(std::move(kernel));
}

}  // namespace tim::vx::plugin
