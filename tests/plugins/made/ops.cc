// Plugins by TIMCL_OP_PLUGIN: a good one, and some that bring what cannot be registered.
#include "ops.h"

namespace {

using namespace made;

#if defined(MADE_factories)
std::shared_ptr<Operation> Throws(Graph*, const AnyAttrs&) {
  throw std::runtime_error("out of cheese");
}
std::shared_ptr<Operation> ThrowsInt(Graph*, const AnyAttrs&) { throw 3; }
std::shared_ptr<Operation> GivesNull(Graph*, const AnyAttrs&) { return nullptr; }
OpDef By(const char* name, decltype(OpDef::create) create) {
  OpDef def = TimesOp(name);
  def.create = create;
  return def;
}
#endif

}  // namespace

#if defined(MADE_good)
TIMCL_OP_PLUGIN("test.good", "1.2.3") {
  plugin.Add(TimesOp("test.times"));
  plugin.Add<Shift>("test.shift");
  OpDef slow = TimesOp("test.slow");
  slow.reference = SlowTimes;
  plugin.Add(slow);
}
#elif defined(MADE_good_again)  // another plugin beside it
TIMCL_OP_PLUGIN("test.again", "0.0.1") { plugin.Add(TimesOp("test.again")); }
#elif defined(MADE_same_name)
TIMCL_OP_PLUGIN("test.good", "9.0.0") { plugin.Add(TimesOp("test.other")); }
#elif defined(MADE_duplicate_op)
TIMCL_OP_PLUGIN("test.duplicate", "1.0.0") {
  plugin.Add(TimesOp("test.fresh"));
  plugin.Add(TimesOp("test.times"));
}
#elif defined(MADE_duplicate_builtin)
TIMCL_OP_PLUGIN("test.builtin", "1.0.0") {
  plugin.Add(TimesOp("test.fresh"));
  plugin.Add(TimesOp("Relu"));
}
#elif defined(MADE_twice_itself)
TIMCL_OP_PLUGIN("test.itself", "1.0.0") {
  plugin.Add(TimesOp("test.fresh"));
  plugin.Add(TimesOp("test.fresh"));
}
#elif defined(MADE_body_throws)
TIMCL_OP_PLUGIN("test.throws", "1.0.0") {
  plugin.Add(TimesOp("test.fresh"));
  throw std::runtime_error("the table of weights is empty");
}
#elif defined(MADE_body_throws_int)
TIMCL_OP_PLUGIN("test.throws", "1.0.0") { throw 3; }
#elif defined(MADE_bad_types)
TIMCL_OP_PLUGIN("test.types", "1.0.0") {
  OpDef def = TimesOp("test.fresh");
  def.types = "f33 -> f32";
  plugin.Add(def);
}
#elif defined(MADE_empty_name)
TIMCL_OP_PLUGIN("test.empty", "1.0.0") { plugin.Add(TimesOp("")); }
#elif defined(MADE_factories)
TIMCL_OP_PLUGIN("test.factories", "1.0.0") {
  plugin.Add(By("test.throws", Throws));
  plugin.Add(By("test.throws_int", ThrowsInt));
  plugin.Add(By("test.null", GivesNull));
  OpDef own_clone = DefineOpClass<OwnClone>("test.own_clone");
  plugin.Add(own_clone);
  own_clone.name = "test.own_clone_by_hand";
  own_clone.create = MakeOwnClone;
  plugin.Add(own_clone);
}
#endif
