// C = A * B for one pair of matrices, a float and a uint8 variant. A row of a matrix lies along x.
// TRANS_A, TRANS_B (0 or 1, build options): A holds M rows of K numbers, or K rows of M if it is
// transposed; B holds K rows of N, or N rows of K.
// ac2zero, bc2zero tell a kernel for many matrices to take matrix 0 of A or B for each of them;
// these kernels know one matrix only.
#pragma OPENCL FP_CONTRACT OFF

#if TRANS_A
#define AT_A(row, k) (int2)(row, k)
#else
#define AT_A(row, k) (int2)(k, row)
#endif
#if TRANS_B
#define AT_B(k, column) (int2)(k, column)
#else
#define AT_B(k, column) (int2)(column, k)
#endif

__kernel void gemm_F32F32toF32_2D(__read_only image2d_t inputA, __read_only image2d_t inputB,
                                  __write_only image2d_t output, int M, int K, int N, int ac2zero,
                                  int bc2zero, float scale_a, float zp_a, float scale_b, float zp_b,
                                  float scale_out, float zp_out) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    float4 a = read_imagef(inputA, AT_A(row, k));
    float4 b = read_imagef(inputB, AT_B(k, column));
    sum += a.x * b.x;
  }
  write_imagef(output, (int2)(column, row), (float4)(sum));
}

__kernel void gemm_U8U8toU8_2D(__read_only image2d_t inputA, __read_only image2d_t inputB,
                               __write_only image2d_t output, int M, int K, int N, int ac2zero,
                               int bc2zero, float scale_a, float zp_a, float scale_b, float zp_b,
                               float scale_out, float zp_out) {
  int column = get_global_id(0), row = get_global_id(1);
  int sum = 0;  // exact: the products of stored numbers are integers
  for (int k = 0; k < K; ++k) {
    int a = (int)read_imageui(inputA, AT_A(row, k)).x - (int)zp_a;
    int b = (int)read_imageui(inputB, AT_B(k, column)).x - (int)zp_b;
    sum += a * b;
  }
  float q = (float)sum * (scale_a * scale_b / scale_out) + zp_out;
  write_imageui(output, (int2)(column, row), (uint4)(convert_uchar_sat_rte(q)));
}
