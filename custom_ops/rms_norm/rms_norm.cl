// y = x / sqrt(mean of x * x + epsilon), row by row; one work-item per row of `width` numbers.
__kernel void rms_norm(__global const float* x, __global float* y, uint width, uint rows,
                       float epsilon) {
  uint row = get_global_id(0);
  if (row >= rows) return;  // there may be more work-items than rows
  x += row * width;
  y += row * width;
  float sum = 0;
  for (uint i = 0; i < width; ++i) sum += x[i] * x[i];
  float factor = 1 / sqrt(sum / width + epsilon);
  for (uint i = 0; i < width; ++i) y[i] = x[i] * factor;
}
