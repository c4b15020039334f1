// custom_ops/lookup_table: its two tables against the functions that they stand for, and files that
// are no tables.
#include "lookup_table.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "fixture.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/check_op.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/status.h"
#include "tim/vx/testing.h"

namespace custom_test {
namespace {

using custom_ops::LookupTable;
using custom_ops::ReadTable;
using custom_ops::Table;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using vx::Code;
namespace fs = std::filesystem;

std::string Shipped(const std::string& name) {
  return TIMCL_SOURCE_DIR "/custom_ops/lookup_table/" + name;
}

/// Not monotonic, and each entry another: a table that hides no mistake.
Table Scrambled(DataType type) {
  Table table;
  table.type = type;
  for (int i = 0; i < 256; ++i) table.results.push_back(static_cast<uint8_t>(i * 77 + 13));
  return table;
}

class LookupTableTest : public CustomOp {
 protected:
  void SetUp() override {
    CustomOp::SetUp();
    std::string pattern = fs::temp_directory_path() / "timcl_tables_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string WriteFile(const std::string& text) {
    const std::string path = folder_ / "table.txt";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// What Compile() says of an operator with this file.
  std::string Refused(const std::string& path, Code code) {
    graph_ = context_->CreateGraph();
    graph_->CreateOperation<LookupTable>(LookupTable::Attrs{path})
        ->BindInput(Input<uint8_t>({4}))
        .BindOutput(Output<uint8_t>({4}));
    EXPECT_FALSE(graph_->Compile());
    EXPECT_EQ(graph_->LastStatus().code(), code);
    const std::string message = graph_->LastStatus().message();
    EXPECT_THAT(message, AllOf(HasSubstr("custom_ops.lookup_table#1"), HasSubstr(path)));
    return message;
  }
  fs::path folder_;
};

std::string Numbers(int count, int from = 0) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(from + i) + (i % 16 == 15 ? "\n" : " ");
  return text;
}

// The scales are those of make_table.py, which wrote the files.
TEST_F(LookupTableTest, SigmoidOfAllBytes) {
  const auto x = Input<uint8_t>({16, 16}, {vx::QuantType::ASYMMETRIC, 0.0625f, 128});
  const auto y = Output<uint8_t>({16, 16}, {vx::QuantType::ASYMMETRIC, 1.0f / 256, 0});
  graph_->CreateOperation<LookupTable>(LookupTable::Attrs{Shipped("sigmoid_uint8.txt")})
      ->BindInput(x)
      .BindOutput(y);
  Compile();
  EXPECT_EQ(graph_->Report().ops[0].backend, "opencl");
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  Write(x, bytes);
  Run();
  const auto got = Read<uint8_t>(y, 256);
  for (int i = 0; i < 256; ++i) {
    const double exact = 256 / (1 + std::exp(-0.0625 * (i - 128)));
    ASSERT_NEAR(got[static_cast<size_t>(i)], std::fmin(exact, 255), 0.5) << i;
  }
}

TEST_F(LookupTableTest, GeluOfSignedBytes) {
  const auto x = Input<int8_t>({7}, {vx::QuantType::ASYMMETRIC, 0.03125f, -5});
  const auto y = Output<int8_t>({7}, {vx::QuantType::ASYMMETRIC, 0.03125f, -120});
  graph_->CreateOperation<LookupTable>(LookupTable::Attrs{Shipped("gelu_int8.txt")})
      ->BindInput(x)
      .BindOutput(y);
  Compile();
  Write<int8_t>(x, {-128, -37, -5, 0, 27, 91, 127});
  Run();
  // Real inputs (q + 5) / 32: -3.84, -1, 0, 0.15625, 1, 3, 4.125. gelu(x) = x * Phi(x):
  // -0.00023, -0.158655, 0, 0.15625 * 0.562082 = 0.087825, 0.841345, 2.99595, 4.12492;
  // stored as round(32 y) - 120.
  EXPECT_THAT(Read<int8_t>(y, 7), ElementsAre(-120, -125, -120, -117, -93, -24, 12));
}

TEST(CheckOp, LookupTable) {
  for (const DataType type : {DataType::UINT8, DataType::INT8}) {
    vx::testing::CheckOptions options;
    options.inputs = {vx::cases::Affine(type, {}, 0.037f, 3)};
    options.outputs = {vx::cases::Affine(type, {}, 0.05f, -1)};
    options.tolerance = vx::Tolerance::Exact();
    EXPECT_EQ(vx::testing::CheckOp<LookupTable>(options, Scrambled(type)), "");
  }
}

TEST_F(LookupTableTest, LayoutInferencePassesThrough) {
  const auto in = Input<uint8_t>({3, 4, 5, 1}), out = Output<uint8_t>({3, 4, 5, 1});
  const auto a = Transient<uint8_t>(), b = Transient<uint8_t>();
  const auto pool = [&](const TensorPtr& from, const TensorPtr& to) {
    graph_
        ->CreateOperation<vx::ops::Pool2d>(
            vx::PoolType::MAX, vx::PadType::VALID, std::array<uint32_t, 2>{1, 1},
            std::array<uint32_t, 2>{1, 1}, vx::RoundType::FLOOR, vx::DataLayout::CWHN)
        ->BindInput(from)
        .BindOutput(to);
  };
  pool(in, a);
  graph_->CreateOperation<LookupTable>(Scrambled(DataType::UINT8))->BindInput(a).BindOutput(b);
  pool(b, out);
  const auto [inferred, map] = tim::transform::LayoutInference(graph_, context_);
  size_t transposes = 0;
  for (const auto& op : inferred->OpVector()) transposes += op->Kind() == std::string("Transpose");
  EXPECT_EQ(transposes, 2u) << "none around the table";
  const auto x = RandomBytes(60, 7);
  Write(map.at(in), x);
  ASSERT_TRUE(inferred->Run()) << inferred->LastStatus().message();
  const auto y = Read<uint8_t>(map.at(out), 60);
  for (size_t i = 0; i < 60; ++i) ASSERT_EQ(y[i], static_cast<uint8_t>(x[i] * 77 + 13)) << i;
}

TEST_F(LookupTableTest, ClonesHaveTheTableAndItsFailure) {
  const std::string path = WriteFile("lookup_table uint8 " + Numbers(256));
  const auto op = graph_->CreateOperation<LookupTable>(LookupTable::Attrs{path});
  const auto none = graph_->CreateOperation<LookupTable>(LookupTable::Attrs{"/nowhere"});
  fs::remove(path);  // a clone does not read it again
  for (const bool good : {true, false}) {
    auto other = context_->CreateGraph();
    const auto x = other->CreateTensor({DataType::UINT8, {2}, vx::INPUT});
    const auto y = other->CreateTensor({DataType::UINT8, {2}, vx::OUTPUT});
    (good ? op : none)->Clone(other)->BindInput(x).BindOutput(y);
    EXPECT_EQ(other->Compile(), good) << other->LastStatus().message();
    if (!good) {
      EXPECT_EQ(other->LastStatus().code(), Code::kNotFound);
      continue;
    }
    Write<uint8_t>(x, {7, 200});
    ASSERT_TRUE(other->Run());
    EXPECT_THAT(Read<uint8_t>(y, 2), ElementsAre(7, 200));
  }
}

TEST_F(LookupTableTest, CommentsAndWhiteSpace) {
  const std::string path =
      WriteFile("# of 'lookup_table' made by hand\r\nlookup_table\tint8#x\r\n" +
                Numbers(256, -128) + "\n# 257");
  const auto table = ReadTable(path);
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->type, DataType::INT8);
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(static_cast<int8_t>(table->results[static_cast<size_t>(i)]), i - 128);
}

TEST_F(LookupTableTest, FilesThatCannotBeRead) {
  EXPECT_THAT(Refused((folder_ / "none.txt").string(), Code::kNotFound),
              HasSubstr("there is no table file"));
  EXPECT_THAT(Refused(folder_.string(), Code::kIo), HasSubstr("expected a plain file"));
  EXPECT_THAT(Refused("/dev/zero", Code::kIo), HasSubstr("expected a plain file"));
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Refused(pipe, Code::kIo), HasSubstr("expected a plain file"));
  if (geteuid() != 0) {
    const std::string path = WriteFile("lookup_table uint8 " + Numbers(256));
    fs::permissions(path, fs::perms::none);
    EXPECT_THAT(Refused(path, Code::kIo), HasSubstr("cannot be read"));
  }
}

TEST_F(LookupTableTest, FilesThatAreNoTables) {
  const std::string good = "lookup_table uint8\n", low = "lookup_table int8\n";
  const struct {
    std::string text, words;
  } cases[] = {
      {"", "expected 'lookup_table' as its first word, found the end of the file"},
      {"# nothing else", "found the end of the file"},
      {std::string("\x7f"
                   "ELF\x02\x01\0\0",
                   8) +
           std::string(90, '\xff'),
       "expected 'lookup_table' as its first word, found '?ELF????????????????...'"},
      {"lookup_table", "expected 'uint8' or 'int8' behind 'lookup_table', found the end"},
      {"lookup_table float32", "found 'float32'"},
      {good, "expected 256 numbers, found 0"},
      {good + Numbers(255), "expected 256 numbers, found 255"},
      {good + Numbers(256) + "\n8",
       "expected the end of the file behind 256 numbers, found '8' in "
       "line 19"},
      {good + "0 1 2\n3 256", "expected a whole number from 0 to 255 in line 3, found '256'"},
      {good + "-1", "expected a whole number from 0 to 255 in line 2, found '-1'"},
      {good + "1.5", "found '1.5'"},
      {good + "99999999999999999999", "found '99999999999999999999'"},
      {good + "0x10", "found '0x10'"},
      {low + "128", "expected a whole number from -128 to 127 in line 2, found '128'"},
      {low + "-129", "found '-129'"},
      {good + std::string(70000, ' '), "expected at most 65536 bytes, found more"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(Refused(WriteFile(c.text), Code::kInvalidArgument), HasSubstr(c.words));
}

TEST_F(LookupTableTest, TablesAndTensorsThatDoNotMatch) {
  graph_->CreateOperation<LookupTable>(Scrambled(DataType::INT8))
      ->BindInput(Input<uint8_t>({4}))
      .BindOutput(Output<uint8_t>({4}));
  EXPECT_FALSE(graph_->Compile());
  EXPECT_EQ(graph_->LastStatus().code(), Code::kInvalidType);
  EXPECT_THAT(graph_->LastStatus().message(), AllOf(HasSubstr("i8 -> i8"), HasSubstr("u8")));

  graph_ = context_->CreateGraph();
  Table table = Scrambled(DataType::UINT8);
  table.results.pop_back();
  graph_->CreateOperation<LookupTable>(table)
      ->BindInput(Input<uint8_t>({4}))
      .BindOutput(Output<uint8_t>({4}));
  EXPECT_FALSE(graph_->Compile());
  EXPECT_THAT(graph_->LastStatus().message(), HasSubstr("a table has 256 results, this one 255"));
}

}  // namespace
}  // namespace custom_test
