// Plan: see plan.h.
#include "plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

namespace tim::vx::onednn {
namespace {

Type TypeOf(const TensorView& t, Form form) {
  if (form != Form::kStored || t.dtype() == DataType::FLOAT32) return Type::f32;
  return t.dtype() == DataType::UINT8 ? Type::u8 : Type::s8;
}

/// Loops read integers of any type, oneDNN those of 8 bits.
Desc BytesOf(const TensorView& t) {
  return Desc({static_cast<int64_t>(t.DataSize())}, Type::u8, Dims{1});
}

bool Contains(const std::vector<TensorView>& list, const TensorView& t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

}  // namespace

Dims DenseStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

Dims DimsOf(const Shape& shape) {
  if (shape.empty()) return {1};
  return Dims(shape.dims().rbegin(), shape.dims().rend());
}

Plan::Plan(const dnnl::engine& engine, const std::vector<TensorView>& inputs,
           const std::vector<TensorView>& outputs)
    : engine_(engine),
      inputs_(inputs),
      outputs_(outputs),
      stream_(std::make_unique<dnnl::stream>(engine)) {}

dnnl::primitive_attr Plan::Attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Plan::Slot& Plan::At(const TensorView& tensor, Form form) {
  if (tensor.dtype() == DataType::FLOAT32) form = Form::kStored;
  const auto [it, fresh] = slots_.try_emplace({tensor.id(), form});
  Slot& slot = it->second;
  if (!fresh) return slot;
  slot.tensor = tensor;
  slot.constant = tensor.is_const();
  if (form != Form::kStored) {
    slot.own = Temporary(Dense({tensor.ElementNum()}));
    Convert(&slot, form);
    slot.dense = true;
    return slot;
  }
  if (slot.constant) {
    slot.own = memory(BytesOf(tensor), engine_, const_cast<void*>(tensor.Data().get()));
  } else {
    slot.input = trial_ || Contains(inputs_, tensor);
    slot.output = Contains(outputs_, tensor);
  }
  slot.dense = slot.constant || slot.input;
  return slot;
}

memory Plan::View(Slot* slot, const Desc& desc) {
  if (slot->input || slot->output) {
    slot->views.push_back(memory(desc, engine_, DNNL_MEMORY_NONE));
    return slot->views.back();
  }
  if (!slot->own) slot->own = Temporary(BytesOf(slot->tensor));
  return memory(desc, engine_, slot->own.get_data_handle());
}

void Plan::Convert(Slot* slot, Form form) {
  const TensorView t = slot->tensor;
  const memory from = Elements(t, false), to = slot->own;
  const bool real = form == Form::kReal, per_channel = t.type().per_channel();
  // As the ops do: a weight per channel has no zero point.
  const int64_t zero = per_channel ? 0 : t.type().zero_point();
  const auto number = [real, zero](const ref::Input& in, int64_t i) {
    return real ? in.Float(i) : static_cast<float>(in.Raw(i) - zero);
  };
  const char* const what = real ? "dequantize" : "subtract zero point";
  if (per_channel) {
    return Loop(
        what,
        [t, from, to, number] {
          const ref::Input in(from.get_data_handle(), t.type());
          auto* out = static_cast<float*>(to.get_data_handle());
          for (int64_t i = 0, n = t.ElementNum(); i < n; ++i) out[i] = number(in, i);
        },
        slot->constant);
  }
  // What the reference makes of each byte.
  std::array<uint8_t, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::array<float, 256> numbers;
  const ref::Input each(bytes.data(), t.type());
  for (size_t i = 0; i < bytes.size(); ++i) numbers[i] = number(each, static_cast<int64_t>(i));
  Loop(
      what,
      [t, from, to, numbers] {
        const auto* in = static_cast<const uint8_t*>(from.get_data_handle());
        auto* out = static_cast<float*>(to.get_data_handle());
        for (int64_t i = 0, n = t.ElementNum(); i < n; ++i) out[i] = numbers[in[i]];
      },
      slot->constant);
}

Desc Plan::LayoutOf(const TensorView& tensor, Form form, const Desc& plain) {
  const Slot& slot = At(tensor, form);
  for (const memory& m : slot.layouts) {
    if (m.get_desc().dims() == plain.dims()) return m.get_desc();
  }
  return plain;
}

void Plan::MakeDense(Slot* slot, const Desc& plain) {
  if (slot->dense) return;
  slot->dense = true;
  if (slot->layouts.empty()) return;  // nobody wrote it: a trial
  const memory& from = slot->layouts.front();
  Run(dnnl::reorder::primitive_desc(engine_, from.get_desc(), engine_,
                                    Dense(from.get_desc().dims(), plain.data_type()), Attr()),
      {{DNNL_ARG_FROM, from},
       {DNNL_ARG_TO, View(slot, Dense(from.get_desc().dims(), plain.data_type()))}});
}

memory Plan::Read(const TensorView& tensor, Form form, const Desc& plain, const Desc& wanted) {
  Slot& slot = At(tensor, form);
  for (const memory& m : slot.layouts) {
    if (m.get_desc() == wanted) return m;
  }
  // From a layout to another without the detour over dense elements.
  const Desc at = LayoutOf(tensor, form, plain);
  const auto lies = std::find_if(slot.layouts.begin(), slot.layouts.end(),
                                 [&](const memory& m) { return m.get_desc() == at; });
  if (!slot.dense && lies != slot.layouts.end() && wanted != plain) {
    const memory from = *lies;
    slot.layouts.push_back(Reordered(from, wanted, false));
    return slot.layouts.back();
  }
  MakeDense(&slot, plain);
  const memory dense = View(&slot, plain);
  if (wanted == plain) return dense;
  slot.layouts.push_back(Reordered(dense, wanted, slot.constant));
  return slot.layouts.back();
}

memory Plan::Write(const TensorView& tensor, const Desc& made) {
  Slot& slot = At(tensor, Form::kStored);
  slot.layouts.clear();
  slot.dense = made == Dense(made.dims());
  if (slot.dense) return View(&slot, made);
  slot.layouts.push_back(Temporary(made));
  return slot.layouts.back();
}

memory Plan::Elements(const TensorView& tensor, bool write) {
  Slot& slot = At(tensor, Form::kStored);
  if (write) {
    slot.layouts.clear();
    slot.dense = true;
  } else {
    MakeDense(&slot, Dense({tensor.ElementNum()}, TypeOf(tensor, Form::kStored)));
  }
  return View(&slot, BytesOf(tensor));
}

memory Plan::Reordered(const memory& from, const Desc& wanted, bool constant) {
  const memory to = Temporary(wanted);
  const dnnl::reorder::primitive_desc pd(engine_, from.get_desc(), engine_, wanted, Attr());
  Args args = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  if (!constant) {
    Run(pd, std::move(args));
  } else if (!trial_) {
    const Desc scratch = pd.scratchpad_desc();
    if (scratch.get_size() > 0) args[DNNL_ARG_SCRATCHPAD] = memory(scratch, engine_);
    dnnl::reorder(pd).execute(*stream_, args);
    stream_->wait();
  }
  return to;
}

void Plan::Run(const dnnl::primitive_desc_base& pd, Args args) {
  if (trial_) return;
  const Desc scratch = pd.query_md(dnnl::query::scratchpad_md);
  if (scratch.get_size() > 0) {
    scratch_.push_back(memory(scratch, engine_, DNNL_MEMORY_NONE));
    args[DNNL_ARG_SCRATCHPAD] = scratch_.back();
  }
  const dnnl::primitive primitive(pd.get());
  steps_.push_back({label_, pd.impl_info_str(), [this, primitive, args = std::move(args)] {
                      primitive.execute(*stream_, args);
                    }});
}

void Plan::Loop(const char* what, std::function<void()> loop, bool constant) {
  if (trial_) return;
  if (constant) return loop();
  steps_.push_back({label_, what, std::move(loop)});
}

void Plan::Finish() {
  for (const TensorView& t : outputs_) {
    (void)Elements(t, false);
  }
  size_t most = 0;
  for (const memory& m : scratch_) most = std::max(most, m.get_desc().get_size());
  if (most == 0) return;
  scratch_buffer_ = memory(Desc({static_cast<int64_t>(most)}, Type::u8, Dims{1}), engine_);
  for (memory& m : scratch_) m.set_data_handle(scratch_buffer_.get_data_handle());
}

Status Plan::Execute(std::vector<kernel::Timing>* timings) {
  for (auto& [key, slot] : slots_) {
    if (slot.views.empty()) continue;
    void* const bytes =
        slot.output ? slot.tensor.MutableData() : const_cast<void*>(slot.tensor.Data().get());
    if (bytes == nullptr)
      return Status::Error(Code::kOutOfMemory, slot.tensor.label() + " has no memory");
    for (memory& m : slot.views) m.set_data_handle(bytes);
  }
  for (const Step& step : steps_) {
    const auto begin = std::chrono::steady_clock::now();
    step.run();
    if (timings == nullptr) continue;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    timings->push_back({-1, step.label, step.what, passed.count()});
  }
  stream_->wait();
  return Status();
}

}  // namespace tim::vx::onednn
