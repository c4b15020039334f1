// One kernel for all launches of a partition: see join.h.
#include "backends/opencl/compile/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backends/opencl/compile/place.h"
#include "backends/opencl/run/helpers.h"
#include "backends/opencl/run/resident.h"
#include "base/checked.h"

namespace tim::vx::opencl {
namespace {

/// The driver compiles all functions as one, and one that is too large takes its optimizer long.
constexpr size_t kMaxFunctions = 32;
/// Pointers to inputs and outputs; OpenCL promises 1024 bytes of arguments.
constexpr size_t kMaxMemories = 100;
/// Constants are copied to lie side by side. What reads more than this is no small graph.
constexpr size_t kMaxConstantBytes = size_t{8} << 20;
/// Of a plan for several workers, whose weights may be large: offsets have 31 bits.
constexpr size_t kMaxSharedConstantBytes = size_t{1} << 30;
/// Kernels that are no tiles count on the driver to put work-items side by side into vectors, which
/// nobody does here.
constexpr size_t kMaxScalarItems = size_t{1} << 14;
/// Microseconds of one core that a worker takes at a time at least; with helpers, whose steps take
/// microseconds, claims are dear beside them.
constexpr double kLeastShare = 0.5, kLeastHelpedShare = 0.8;
/// Microseconds, estimated, from which on a work-item is long.
constexpr double kLongItem = 100;
/// The counters of a step, of claimed and of done work-items, are apart, so that two workers do not
/// fight for one line of the cache.
constexpr size_t kCounterBytes = 256;
/// Runs of one launch that stays from Run to Run.
constexpr uint32_t kMostRuns = 100000;
constexpr size_t kHelperLine = Helpers::kLine * sizeof(uint32_t);
/// Of the table of steps, and of work-items.
constexpr size_t kMostNumber = std::numeric_limits<int32_t>::max();

constexpr const char* kEntry = "timcl_steps";
/// What the kernel does with the walk over all steps.
constexpr const char* kAlone = "  timcl_walk(memory, step, steps);\n";
constexpr const char* kShared =
    "  timcl_walk(memory, step, steps, counters);\n"
    "  timcl_end(counters + steps * COUNTERS, steps);\n";
/// A Run that is taken up again walks over all steps once more: the shares of those before are all
/// claimed and done.
constexpr const char* kHelped = R"(
  timcl_turn_t turn = {counters + CONTROLS, counters[POSTED], 0, 0, counters, counters[MOST_TURNS], 0};
  turn.shared = counters[EARLY] != 0 || counters[PRESENT] != 0;
  counters[CALLERS_CORE] = timcl_core();
  if (counters[PAUSED]) {
    --turn.run;
    turn.shared = 1;
  } else if (turn.shared) {
    timcl_fence();
    counters[POSTED] = turn.run + 1;
  }
  timcl_walk(memory, step, steps, &turn);
  if (!counters[PAUSED]) counters[LATE_RUNS] += turn.late;
  counters[PAUSED] = turn.late;
)";
constexpr const char* kHelper = R"(
  timcl_turn_t turn = {counters + CONTROLS, 0, 1, 1, counters, counters[MOST_TURNS], 0};
  const uint arrived = atomic_inc(counters + ARRIVED) + 1;
  if (timcl_in_the_way(1, counters)) {
    // Who leaves at once would be sent back for the next work-group.
    for (int turns = 0; turns < turn.most_turns && arrived < WORKERS && counters[ARRIVED] == arrived;
         ++turns)
      RELAX;
    atomic_inc(counters + LEFT);
    return;
  }
  const bool enough = atomic_inc(counters + PRESENT) + 1 >= WORKERS;
  uint seen = counters[POSTED];
  if (seen != 0) seen -= counters[EARLY];  // takes part in the Run that is under way
  const int most_idle = enough ? 0 : counters[PATIENCE];
  for (int runs = 0, idle = 0; runs < MOST_RUNS && idle < most_idle; ++idle) {
    const uint posted = counters[POSTED];
    timcl_fence();
    if (counters[STOP] || timcl_in_the_way(1, counters)) break;
    if (posted == seen) {
      RELAX;
      continue;
    }
    seen = posted;
    turn.run = posted - 1;
    turn.counters = counters + CONTROLS;
    timcl_walk(memory, step, steps, &turn);
    if (turn.late) break;  // the caller may want this very core
    atomic_inc(counters + HELPED);
    ++runs;
    idle = 0;
  }
  atomic_dec(counters + PRESENT);
  atomic_inc(counters + LEFT);
)";
constexpr const char* kStays = R"(
  const uint patience = state[PATIENCE];
  for (uint runs = 0, idle = 0;;) {
    const uint now = *state;
    timcl_fence();
    if (now == GONE) break;
    if (now == POSTED) {
      timcl_walk(memory, step, steps);
      timcl_fence();
      idle = 0;
      atomic_xchg(state, ++runs < MOST_RUNS ? IDLE : GONE);
    } else if (idle++ < patience) {
      RELAX;
    } else if (atomic_cmpxchg(state, IDLE, GONE) == IDLE) {
      break;
    }
  }
)";
constexpr const char* kLoop =
    "  for (int z = 0; z < n2; ++z)\n"
    "    for (int y = 0; y < n1; ++y)\n"
    "      for (int x = 0; x < n0; ++x)\n"
    "        {function}(x, y, z, n0, n1, n2{arguments});\n";
/// Work-items, or columns of them, are claimed a share at a time: large ones first, so that
/// workers seldom come back, and small ones last, so that all are done at the same time. How
/// large the n-th share is, each worker knows. Of two workers, one takes its shares from the
/// front and one from the end: what a step leaves in the cache of a core is then what the next
/// one needs.
constexpr const char* kShares =
    "  const int columns = step[5], all = columns ? n0 : n0 * n1 * n2;\n"
    "  int left = all, size = 0, front = 0, back = all, claim = 0;\n";
constexpr const char* kShareLoop =
    "    for (; claim <= own; ++claim) {\n"
    "      size = min(max(left / (2 * WORKERS), least), left);\n"
    "      left -= size;\n"
    "    }\n"
    "    if (size == 0) break;\n"
    "    int i = all - left - size;\n"
    "    if (WORKERS == 2) i = SIDE ? (back -= size) : (front += size) - size;\n"
    "    const int from = columns ? i : 0, to = columns ? i + size : n0;\n"
    "    int x = i % n0, y = i / n0 % n1, z = i / n0 / n1;\n"
    "    for (int k = columns ? size * n1 * n2 : size; k > 0; --k) {\n"
    "      {function}(x, y, z, n0, n1, n2{arguments});\n"
    "      if (++x == to) {\n"
    "        x = from;\n"
    "        if (++y == n1) y = 0, ++z;\n"
    "      }\n"
    "    }\n";
constexpr const char* kSharedLoop =
    "  const int least = step[4];\n"
    "  for (;;) {\n"
    "    const int own = atomic_inc(counters);\n"
    "{share}"
    "    timcl_fence();\n"
    "    atomic_add(counters + COUNTERS / 2, size);\n"
    "  }\n"
    "  while (counters[COUNTERS / 2] < all) RELAX;\n"
    "  timcl_fence();\n";
constexpr const char* kHelpedLoop =
    "  const int least = turn->shared ? step[4] : all;\n"
    "  const uint shares = turn->shared ? step[6] : 1;\n"
    "  for (uint own = 0; timcl_claim(turn, shares, &own); ++own) {\n"
    "{share}"
    "    timcl_done(turn);\n"
    "  }\n"
    "  timcl_await(turn, shares);\n";
constexpr const char* kEnd =
    R"(#define COUNTERS 64
#define WORKERS (int)get_num_groups(0)
#define SIDE get_group_id(0)
// The last one to leave the plan makes all counters 0 again, for the next Run.
static void timcl_end(volatile global int* counters, int steps) {
  if (atomic_inc(counters) + 1 < (int)get_num_groups(0)) return;
  for (int s = 0; s <= steps; ++s, counters -= COUNTERS) counters[0] = counters[COUNTERS / 2] = 0;
}
)";
constexpr const char* kTurn = R"(
// The core that runs this, counted from 1, as Linux tells it; 0: not known, and nobody judges by it.
static uint timcl_core(void) {
#ifdef TELLS_CORE
  uint core;
  __asm__ volatile("rdtscp" : "=c"(core) : : "rax", "rdx");
  return (core & 0xfff) + 1;
#else
  return 0;
#endif
}
// A helper on the caller's core: that one does not get on before its time is up.
static bool timcl_in_the_way(int side, volatile global const uint* counters) {
  const uint caller = side && !counters[ANY_CORE] ? counters[CALLERS_CORE] : 0;
  return caller != 0 && caller == timcl_core();
}
// Taking part in a Run. Counters of claimed shares and of those that each side has done only grow,
// and stand at multiples of what a Run has: who comes late finds that all shares of its Run are
// claimed, and done.
typedef struct {
  volatile global uint* counters;  // of the step
  uint run;
  int shared;  // 0: there is nobody else, and counters stand still
  int side;    // 0 the caller's, 1 the helpers'
  volatile global const uint* controls;
  int most_turns;  // of waiting for the other side
  int late;    // the other side has kept this one waiting for long, which leaves the Run
} timcl_turn_t;
// The next share that nobody has; false: there is none. What is too little for two is the caller's.
static bool timcl_claim(const timcl_turn_t* turn, uint shares, uint* share) {
  if (!turn->shared) return *share < shares;
  if (shares == 1 && turn->side) return false;
  const uint from = turn->run * shares;
  for (uint now = *turn->counters; now - from < shares;) {
    const uint seen = atomic_cmpxchg(turn->counters, now, now + 1);
    *share = now - from;
    if (seen == now) return true;
    now = seen;
  }
  return false;
}
static void timcl_done(const timcl_turn_t* turn) {
  timcl_fence();
  if (turn->shared) atomic_inc(turn->counters + (1 + turn->side) * LINE);
}
// Waits until all shares of the step are done, but not for long: another thread may be on the core
// of who is to do them, this very one even.
static void timcl_await(timcl_turn_t* turn, uint shares) {
  if (!turn->shared) return;
  const uint all = (turn->run + 1) * shares;
  for (int turns = 0; (int)(turn->counters[LINE] + turn->counters[2 * LINE] - all) < 0; ++turns) {
    if (turns == turn->most_turns || timcl_in_the_way(turn->side, turn->controls)) {
      turn->late = 1;
      return;
    }
    RELAX;
  }
  timcl_fence();
  turn->counters += 3 * LINE;
}
)";

/// What the texts of a form have in common with the host: where in the counters the words of
/// Helpers::Control are, or those of Resident.
std::string NoControls(size_t, const DeviceCaps&) { return ""; }
std::string ControlsOfHelpers(size_t workers, const DeviceCaps& caps) {
  std::string text = fmt::format(
      "#define MOST_RUNS {}\n#define LINE {}\n#define WORKERS {}\n#define SIDE turn->side\n",
      kMostRuns, Helpers::kLine, workers);
  if (caps.rdtscp_tells_core) text += "#define TELLS_CORE\n";
  const std::pair<const char*, Helpers::Control> all[] = {{"POSTED", Helpers::kPosted},
                                                          {"PRESENT", Helpers::kPresent},
                                                          {"STOP", Helpers::kStop},
                                                          {"ARRIVED", Helpers::kArrived},
                                                          {"LEFT", Helpers::kLeft},
                                                          {"PATIENCE", Helpers::kPatience},
                                                          {"LATE_RUNS", Helpers::kLate},
                                                          {"PAUSED", Helpers::kPaused},
                                                          {"MOST_TURNS", Helpers::kMostTurns},
                                                          {"CALLERS_CORE", Helpers::kCallersCore},
                                                          {"ANY_CORE", Helpers::kAnyCore},
                                                          {"EARLY", Helpers::kEarly},
                                                          {"HELPED", Helpers::kHelped},
                                                          {"CONTROLS", Helpers::kControls}};
  for (const auto& [name, line] : all)
    text += fmt::format("#define {} {}\n", name, line * Helpers::kLine);
  return text;
}
std::string ControlsOfResident(size_t, const DeviceCaps&) {
  return fmt::format(
      "#define MOST_RUNS {}\n#define PATIENCE {}\n#define GONE {}\n#define IDLE {}\n"
      "#define POSTED {}\n",
      kMostRuns, Resident::kPatienceAt, Resident::kGone, Resident::kIdle, Resident::kPosted);
}

/// What plans for one worker, for several, and for the caller with helpers differ in.
struct Form {
  const char* body;               // of the kernel
  const char* loop;               // over the work-items of a step
  size_t numbers;                 // of a step in the table, before those of its arguments
  const char* shares = "";        // before the loop
  const char* functions = "";     // before those of the steps
  const char* counters = "";      // the kernel's last parameter
  const char* parameter = "";     // that of the functions of the steps
  const char* argument = "";      // what they are given for it
  const char* next = "";          // after each step
  size_t counter_bytes = 0;       // of one step
  size_t more_counter_bytes = 0;  // besides those of the steps
  size_t least_steps = 2;
  size_t most_constant_bytes = kMaxConstantBytes;
  double least_share = 0;    // us that a worker takes at a time at least; 0: there is one worker
  bool groups_work = false;  // its work-groups are the workers
  const char* helpers_body = nullptr;  // of the kernel of helpers; null: there are none
  bool stays = false;                  // on the device, from Run to Run
  std::string (*controls)(size_t workers, const DeviceCaps&) = NoControls;
  bool shared() const { return least_share > 0; }
};
constexpr Form kForOne = {.body = kAlone, .loop = kLoop, .numbers = 4};
constexpr Form kForWorkers = {.body = kShared,
                              .loop = kSharedLoop,
                              .numbers = 6,
                              .shares = kShares,
                              .functions = kEnd,
                              .counters = ", volatile global int* counters",
                              .parameter = ", volatile global int* counters",
                              .argument = ", counters",
                              .next = "    counters += COUNTERS;\n",
                              .counter_bytes = kCounterBytes,
                              .more_counter_bytes = kCounterBytes,
                              .most_constant_bytes = kMaxSharedConstantBytes,
                              .least_share = kLeastShare,
                              .groups_work = true};
constexpr Form kWithHelpers = {.body = kHelped,
                               .loop = kHelpedLoop,
                               .numbers = 7,
                               .shares = kShares,
                               .functions = kTurn,
                               .counters = ", volatile global uint* counters",
                               .parameter = ", timcl_turn_t* turn",
                               .argument = ", turn",
                               .next = "    if (turn->late) return;\n",
                               .counter_bytes = 3 * kHelperLine,
                               .more_counter_bytes = Helpers::kControls * kHelperLine,
                               .least_steps = 1,
                               .most_constant_bytes = kMaxSharedConstantBytes,
                               .least_share = kLeastHelpedShare,
                               .helpers_body = kHelper,
                               .controls = ControlsOfHelpers};
constexpr Form kResident = {.body = kStays,
                            .loop = kLoop,
                            .numbers = 4,
                            .counters = ", volatile global uint* state",
                            .more_counter_bytes = kHelperLine,
                            .least_steps = 1,
                            .stays = true,
                            .controls = ControlsOfResident};

/// The first word of a kernel's text that asks about the launch, waits for others of its group or
/// shares memory with them: in a joined kernel each would mean something else, or nothing. "": it
/// has none.
std::string WordOfALaunch(std::string_view text) {
  static constexpr std::string_view kWords[] = {"kernel",
                                                "__kernel",
                                                "local",
                                                "__local",
                                                "barrier",
                                                "wait_group_events",
                                                "get_work_dim",
                                                "get_global_size",
                                                "get_global_id",
                                                "get_global_offset",
                                                "get_global_linear_id",
                                                "get_local_size",
                                                "get_enqueued_local_size",
                                                "get_local_id",
                                                "get_local_linear_id",
                                                "get_num_groups",
                                                "get_group_id",
                                                "get_num_sub_groups",
                                                "get_enqueued_num_sub_groups",
                                                "get_max_sub_group_size"};
  static constexpr std::string_view kBeginnings[] = {"work_group_", "sub_group_", "get_sub_group_",
                                                     "async_work_group_"};
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    size_t end = 1;
    if (rest.starts_with("//")) {
      end = rest.find('\n');
    } else if (rest.starts_with("/*")) {
      end = rest.find("*/", 2);
      if (end != std::string_view::npos) end += 2;
    } else if (rest[0] == '"') {  // of an #include or a #line
      end = rest.find_first_of("\"\n", 1);
      if (end != std::string_view::npos) ++end;
    } else if (in_word(rest[0])) {
      end = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), in_word) - rest.begin());
      const std::string_view word = rest.substr(0, end);
      const auto begins = [&](std::string_view with) { return word.starts_with(with); };
      if (std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords) ||
          std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins))
        return std::string(word);
    }
    if (end == std::string_view::npos) break;
    at += end;
  }
  return "";
}

class Joiner {
 public:
  Joiner(const Emitted& emitted, const DeviceCaps& caps, const Form& form, size_t workers)
      : from_(emitted.plan),
        variants_(emitted.variants),
        caps_(caps),
        form_(form),
        workers_(workers) {
    // Sessions know constants by their addresses, so none begins where the whole does.
    constants_.fill_bytes = kConstantAlignment;
  }

  /// All of it but the text.
  Status AddSteps() {
    TIMCL_TRY(Check());
    for (const Launch& launch : from_.launches) TIMCL_TRY(AddStep(launch));
    return Status();
  }

  Result<PartitionPlan> Run(const std::string& kernel_dir) {
    TIMCL_TRY(AddSteps());
    launch_.label = fmt::format("{} steps in one kernel", from_.launches.size());
    launch_.kernel = "steps";
    launch_.local = {1, 1, 1};
    launch_.args.push_back(ConstantArg(std::move(constants_)));
    Constant table;
    table.data = std::make_shared<const std::vector<std::byte>>(
        reinterpret_cast<const std::byte*>(table_.data()),
        reinterpret_cast<const std::byte*>(table_.data() + table_.size()));
    launch_.args.push_back(ConstantArg(std::move(table)));
    const auto steps = static_cast<int32_t>(from_.launches.size());
    Arg count;
    count.bytes = sizeof steps;
    std::memcpy(count.value.data(), &steps, sizeof steps);
    count.is_amount = true;
    launch_.args.push_back(count);
    if (form_.groups_work) launch_.global = {workers_, 1, 1};
    if (form_.more_counter_bytes > 0) {
      Arg counters;
      counters.kind = Arg::Kind::kPersistent;
      counters.bytes = CounterBytes();
      launch_.args.push_back(counters);
      plan_.persistent_bytes = counters.bytes;
      plan_.zero_persistent = true;
    }

    SetProgram(kernel_dir, form_.body, &plan_);
    plan_.launches.push_back(std::move(launch_));
    plan_.scratch_bytes = from_.scratch_bytes;
    plan_.live_bytes = from_.live_bytes;
    plan_.host_inputs = from_.host_inputs;
    plan_.resident = form_.stays;
    if (form_.helpers_body != nullptr) {
      PartitionPlan helpers = plan_;
      SetProgram(kernel_dir, form_.helpers_body, &helpers);
      helpers.launches[0].kernel = "helpers";
      // One more than are to stay, as one may come to the caller's core, and leaves at once then.
      helpers.launches[0].global[0] = workers_;
      helpers.zero_persistent = false;  // that is the caller's to do
      plan_.helpers = std::make_shared<PartitionPlan>(std::move(helpers));
    }
    return std::move(plan_);
  }

 private:
  static Status No(std::string why) { return Status::Error(Code::kUnsupported, std::move(why)); }

  Status Check() const {
    if (from_.launches.size() < form_.least_steps) return No("there is one launch");
    if (variants_.size() > kMaxFunctions) {
      return No(
          fmt::format("{} different kernels, and {} is the most", variants_.size(), kMaxFunctions));
    }
    for (const Launch& launch : from_.launches) {
      const size_t group = launch.local[0] * launch.local[1] * launch.local[2];
      TIMCL_TRY(CheckItems(launch));
      if (form_.shared() && group != 1 && ItemsOf(launch) > kMaxScalarItems)
        return No(launch.label + " has many small work-items");
      if (variants_[launch.variant].user) return No(launch.label + " is a kernel of the user's");
      for (const Arg& arg : launch.args) {
        if (arg.kind == Arg::Kind::kLocal) return No(launch.label + " has local memory");
        if (arg.kind == Arg::Kind::kPersistent) return No(launch.label + " works on an image");
      }
    }
    TIMCL_TRY(CheckFits("values between its kernels", from_.scratch_bytes));
    TIMCL_TRY(CheckFits("counters", CounterBytes()));
    return CheckWords();
  }

  /// What each kernel takes for itself fits the device; the joined one takes it all at once.
  Status CheckFits(const char* what, size_t bytes) const {
    if (caps_.CanAllocate(bytes)) return Status();
    return No(fmt::format("{} take {} bytes together, and the device's largest allocation is {}",
                          what, bytes, caps_.max_allocation));
  }

  /// Work-items are counted in 32 bits.
  static Status CheckItems(const Launch& launch) {
    int32_t items = 1;
    for (uint32_t d = 0; d < launch.dims; ++d) {
      const size_t n = base::AlignUp(launch.global[d], std::max<size_t>(launch.local[d], 1));
      if (n > kMostNumber || !base::Multiply(items, static_cast<int32_t>(n), &items))
        return No(launch.label + " has work-items that 32 bits cannot count");
    }
    return Status();
  }

  Status CheckWords() const {
    for (size_t v = 0; v < variants_.size(); ++v) {
      const std::string word = WordOfALaunch(variants_[v].text);
      if (word.empty()) continue;
      std::string label = variants_[v].origin;
      for (const Launch& launch : from_.launches) {
        if (launch.variant == v) label = launch.label;
      }
      return No(
          fmt::format("the kernel of {} has '{}', which needs a launch of its own", label, word));
    }
    return Status();
  }

  size_t CounterBytes() const {
    return form_.more_counter_bytes + form_.counter_bytes * from_.launches.size();
  }

  /// A row of the table: function, work-items by dimension, arguments. A pointer is two numbers,
  /// the memory and the bytes into it.
  Status AddStep(const Launch& launch) {
    table_.push_back(static_cast<int32_t>(launch.variant));
    for (uint32_t d = 0; d < 3; ++d) {
      const bool used = d < launch.dims;
      TIMCL_TRY(
          Put(used ? base::AlignUp(launch.global[d], std::max<size_t>(launch.local[d], 1)) : 1));
    }
    if (form_.shared()) {
      const bool columns = ByColumns(launch);
      const size_t least = ShareOf(launch, columns);
      TIMCL_TRY(Put(least));
      TIMCL_TRY(Put(columns));
      if (form_.helpers_body != nullptr) TIMCL_TRY(Put(SharesOf(launch, columns, least)));
    }
    for (const Arg& arg : launch.args) {
      if (arg.kind == Arg::Kind::kScalar) {
        int32_t bits = 0;
        std::memcpy(&bits, arg.value.data(), sizeof bits);
        table_.push_back(bits);
        continue;
      }
      TIMCL_ASSIGN(const Pointer pointer, PointerTo(arg));
      TIMCL_TRY(Put(pointer.memory));
      TIMCL_TRY(Put(pointer.offset));
    }
    launch_.flops += launch.flops;
    return Status();
  }

  static size_t ItemsOf(const Launch& launch) {
    size_t items = 1;
    for (uint32_t d = 0; d < launch.dims; ++d)
      items *= base::AlignUp(launch.global[d], std::max<size_t>(launch.local[d], 1));
    return items;
  }

  static size_t ColumnsOf(const Launch& launch) {
    return base::AlignUp(launch.global[0], std::max<size_t>(launch.local[0], 1));
  }

  /// Whether workers divide a step along its first dimension, pixels in most cases, so that a core
  /// finds near it what it wrote in the step before. Each of them then reads all constants. Not
  /// where work-items are long: the last column would be one worker's alone.
  bool ByColumns(const Launch& launch) const {
    if (launch.dims < 2 || ColumnsOf(launch) <= 3 * workers_) return false;
    if (WorkOf(launch, from_) > kLongItem * static_cast<double>(ItemsOf(launch))) return false;
    size_t constants = 0;
    for (const Arg& arg : launch.args) {
      if (arg.kind != Arg::Kind::kConstant) continue;
      constants += from_.constants[arg.index].bytes();
    }
    return 2 * constants < BytesOf(launch, from_);
  }

  /// Work-items, or columns of them, that a worker takes at a time at least.
  size_t ShareOf(const Launch& launch, bool columns) const {
    const size_t all = columns ? ColumnsOf(launch) : ItemsOf(launch);
    if (workers_ == 1) return all;
    const double shares = std::max(WorkOf(launch, from_) / form_.least_share, 1.0);
    return static_cast<size_t>(std::ceil(static_cast<double>(all) / shares));
  }

  /// How many shares kShareLoop makes.
  size_t SharesOf(const Launch& launch, bool columns, size_t least) const {
    size_t shares = 0;
    for (size_t left = columns ? ColumnsOf(launch) : ItemsOf(launch); left > 0; ++shares)
      left -= std::min(std::max(left / (2 * workers_), least), left);
    return shares;
  }

  Status Put(size_t number) {
    if (number > kMostNumber) return No("a step needs numbers of more than 32 bits");
    table_.push_back(static_cast<int32_t>(number));
    return Status();
  }

  /// Constants are all in memory 0.
  struct Pointer {
    size_t memory = 0, offset = 0;
  };
  Result<Pointer> PointerTo(const Arg& arg) {
    if (arg.kind == Arg::Kind::kConstant) {
      const auto [it, added] = offset_of_.emplace(arg.index, constants_.fill_bytes);
      if (added) {
        const size_t bytes = from_.constants[arg.index].bytes();
        const size_t most = form_.most_constant_bytes;
        if (bytes > most || constants_.fill_bytes + bytes > most)
          return No(fmt::format("more than {} MiB of constants", most >> 20));
        constants_.parts.emplace_back(arg.index, it->second);
        constants_.fill_bytes =
            base::AlignUp(constants_.fill_bytes + std::max<size_t>(bytes, 1), kConstantAlignment);
        TIMCL_TRY(CheckFits("constants", constants_.fill_bytes));
      }
      return Pointer{0, it->second};
    }
    const bool internal = arg.kind == Arg::Kind::kInternal;
    const auto [it, added] =
        memory_of_.emplace(std::pair(arg.kind, internal ? 0 : arg.index), memory_of_.size() + 1);
    if (added) {
      if (memory_of_.size() > kMaxMemories) {
        return No(fmt::format("more than {} inputs and outputs", kMaxMemories));
      }
      Arg whole = arg;
      whole.reads = whole.writes = internal;
      whole.offset = 0;
      if (internal) {
        whole.type = TensorType();
        whole.bytes = from_.scratch_bytes;
      }
      launch_.args.push_back(std::move(whole));
    }
    Arg& whole = launch_.args[it->second - 1];
    whole.reads = whole.reads || arg.reads;
    whole.writes = whole.writes || arg.writes;
    return Pointer{it->second, internal ? arg.offset : 0};
  }

  Arg ConstantArg(Constant constant) {
    Arg arg;
    arg.kind = Arg::Kind::kConstant;
    arg.index = plan_.constants.size();
    arg.writes = false;
    plan_.constants.push_back(std::move(constant));
    return arg;
  }

  void SetProgram(const std::string& kernel_dir, const char* body, PartitionPlan* plan) const {
    auto program = std::make_shared<ProgramText>();
    std::set<std::string> origins;
    for (const Variant& v : variants_) origins.insert(v.origin);
    program->source = TextOf(kernel_dir, body);
    program->origin = fmt::format("{}", fmt::join(origins, ", "));
    program->functions = {kEntry};
    plan->programs = {std::move(program)};
    plan->kernels = {{0, kEntry}};
  }

  /// The functions as they are in other programs, but that the work-item comes as parameters.
  std::string TextOf(const std::string& kernel_dir, const char* body) const {
    std::vector<kernels::VariantText> texts;
    for (const Variant& v : variants_) texts.push_back({v.text, v.entry, v.origin, {}});
    std::vector<const kernels::VariantText*> pointers;
    for (const kernels::VariantText& t : texts) pointers.push_back(&t);
    std::string text = kernels::AssembleProgram(pointers, kernel_dir, R"(
#undef KERNEL
#undef TILE_KERNEL
#undef WORK_ITEM
#undef WORK_ITEMS
#define TIMCL_PARAMETERS(...) \
  (const int timcl_i0, const int timcl_i1, const int timcl_i2, const int timcl_n0, const int timcl_n1, \
   const int timcl_n2, __VA_ARGS__)
#define KERNEL(name) static void name TIMCL_PARAMETERS
#define TILE_KERNEL(name) KERNEL(name)
#define WORK_ITEM(d) timcl_i##d
#define WORK_ITEMS(d) timcl_n##d
)");
    text += "\n#line 1 \"all steps\"\n";
    text += form_.controls(workers_, caps_);
    text += form_.functions;
    for (size_t v = 0; v < variants_.size(); ++v) text += StepOf(v, texts[v]);
    text += fmt::format(
        "static void timcl_walk(global char** memory, global const int* step, int steps{}) {{\n"
        "  for (int s = 0; s < steps; ++s) {{\n"
        "    switch (step[0]) {{\n",
        form_.parameter);
    for (size_t v = 0; v < variants_.size(); ++v)
      text += fmt::format("      case {0}: step = timcl_step{0}(memory, step{1}); break;\n", v,
                          form_.argument);
    text += fmt::format("    }}\n{}  }}\n}}\n", form_.next);
    std::string memories, list = "m0";
    for (size_t m = 1; m <= memory_of_.size(); ++m) {
      memories += fmt::format("global char* m{}, ", m);
      list += fmt::format(", m{}", m);
    }
    return text + fmt::format(
                      "kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                      "void {}({}global char* m0, global const int* step, int steps{}) {{\n"
                      "  global char* memory[] = {{{}}};\n"
                      "{}}}\n",
                      kEntry, memories, form_.counters, list, body);
  }

  /// A function that does one step of a variant and returns where the next one stands. Not inlined:
  /// PoCL compiles a kernel several times, a function once.
  std::string StepOf(size_t variant, const kernels::VariantText& text) const {
    const Launch* launch = nullptr;  // all of one function have the same parameters
    for (const Launch& l : from_.launches) {
      if (l.variant == variant) launch = &l;
    }
    std::string body, call;
    size_t at = form_.numbers;
    for (size_t k = 0; launch != nullptr && k < launch->args.size(); ++k) {
      const Arg& arg = launch->args[k];
      if (arg.kind != Arg::Kind::kScalar) {
        body +=
            fmt::format("  global void* const a{} = memory[step[{}]] + step[{}];\n", k, at, at + 1);
        at += 2;
      } else {
        const bool real = arg.type_name == "float";
        body += fmt::format("  const {0} a{1} = {2}step[{3}]{4};\n", real ? "float" : "int", k,
                            real ? "as_float(" : "", at, real ? ")" : "");
        ++at;
      }
      call += fmt::format(", a{}", k);
    }
    std::string loop = std::string(form_.shares) + form_.loop;
    Fill("{share}", kShareLoop, &loop);
    Fill("{function}", kernels::EntryName(text, variant), &loop);
    Fill("{arguments}", call, &loop);
    return fmt::format(
        "static __attribute__((noinline)) global const int* timcl_step{}(global char** memory,\n"
        "    global const int* step{}) {{\n"
        "  const int n0 = step[1], n1 = step[2], n2 = step[3];\n"
        "{}{}"
        "  return step + {};\n"
        "}}\n",
        variant, form_.parameter, body, loop, at);
  }

  static void Fill(const std::string& place, const std::string& with, std::string* text) {
    if (const size_t at = text->find(place); at != std::string::npos)
      text->replace(at, place.size(), with);
  }

  const PartitionPlan& from_;
  const std::vector<Variant>& variants_;
  const DeviceCaps& caps_;
  const Form& form_;
  const size_t workers_;
  PartitionPlan plan_;
  Launch launch_;
  std::vector<int32_t> table_;
  Constant constants_;                  // its parts; PlaceConstants makes the memory
  std::map<size_t, size_t> offset_of_;  // constant -> bytes into constants_
  std::map<std::pair<Arg::Kind, size_t>, size_t> memory_of_;  // counted from 1
};

}  // namespace

Result<PartitionPlan> Join(const Emitted& emitted, const DeviceCaps& caps,
                           const std::string& kernel_dir) {
  return Joiner(emitted, caps, kForOne, 1).Run(kernel_dir);
}

Result<PartitionPlan> JoinForWorkers(const Emitted& emitted, const DeviceCaps& caps,
                                     const std::string& kernel_dir, size_t workers) {
  return Joiner(emitted, caps, kForWorkers, workers).Run(kernel_dir);
}

Status CanHaveHelpers(const Emitted& emitted, const DeviceCaps& caps, size_t helpers) {
  return Joiner(emitted, caps, kWithHelpers, 1 + helpers).AddSteps();
}

Result<PartitionPlan> JoinWithHelpers(const Emitted& emitted, const DeviceCaps& caps,
                                      const std::string& kernel_dir, size_t helpers) {
  return Joiner(emitted, caps, kWithHelpers, 1 + helpers).Run(kernel_dir);
}

Result<PartitionPlan> JoinResident(const Emitted& emitted, const DeviceCaps& caps,
                                   const std::string& kernel_dir) {
  return Joiner(emitted, caps, kResident, 1).Run(kernel_dir);
}

}  // namespace tim::vx::opencl
