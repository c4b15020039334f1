// y = x * clamp(x + 3, 0, 6) / 6, element by element: a float and a uint8 variant.
// Tensors of any rank: x and y are dimensions 0 and 1, z is all the others together.
#pragma OPENCL FP_CONTRACT OFF

float hswish(float x) { return x * clamp(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f); }

// Both variants take the same arguments, because the class passes the same ones to either.
__kernel void hswish_F32toF32(__read_only image2d_array_t input,
                              __write_only image2d_array_t output, float in_scale, int in_zp,
                              float out_scale, int out_zp) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  float4 x = read_imagef(input, at);
  write_imagef(output, at, (float4)(hswish(x.x)));
}

__kernel void hswish_U8toU8(__read_only image2d_array_t input, __write_only image2d_array_t output,
                            float in_scale, int in_zp, float out_scale, int out_zp) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  int q = (int)read_imageui(input, at).x;
  float y = hswish((float)(q - in_zp) * in_scale);
  write_imageui(output, at, (uint4)(convert_uchar_sat_rte(y / out_scale + (float)out_zp)));
}
