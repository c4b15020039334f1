// LookupTable: any activation of 8-bit tensors, as a table of 256 results that a file holds.
#ifndef CUSTOM_OPS_LOOKUP_TABLE_LOOKUP_TABLE_H_
#define CUSTOM_OPS_LOOKUP_TABLE_LOOKUP_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/result.h"

namespace custom_ops {

/// What a table file holds. The stored results, as bits, for the stored inputs from the lowest to
/// the highest: 0..255 for UINT8, -128..127 for INT8.
struct Table {
  tim::vx::DataType type = tim::vx::DataType::UINT8;
  std::vector<uint8_t> results;  // 256 of them
};

/// Reads a table file. It is plain text, with '#' before a comment: the words "lookup_table uint8"
/// or "lookup_table int8", then 256 whole numbers. make_table.py writes such files. A file that is
/// none is kNotFound, kIo or kInvalidArgument, with its name, what was expected and what was found.
tim::vx::Result<Table> ReadTable(const std::string& path);

/// y = table[x], element by element.
///   input   UINT8 or INT8, as the table says; any rank
///   output  as input
/// The table maps stored numbers to stored numbers: who makes it chooses the quantization of both
/// sides. A file that cannot be read makes Compile() fail with what ReadTable says.
class LookupTable : public tim::vx::ops::CustomOpBase {
 public:
  /// What it takes by name.
  struct Attrs {
    std::string file;
    TIMCL_FIELDS(file)
  };
  LookupTable(tim::vx::Graph* graph, const Attrs& attrs)
      : LookupTable(graph, ReadTable(attrs.file)) {}
  /// With a table of the program's own, or the reason why there is none.
  LookupTable(tim::vx::Graph* graph, tim::vx::Result<Table> table);
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override;

 protected:
  void SetupShapeInfor() override;
  void SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) override;
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override;

 private:
  tim::vx::Result<Table> table_;
};

}  // namespace custom_ops

#endif  // CUSTOM_OPS_LOOKUP_TABLE_LOOKUP_TABLE_H_
