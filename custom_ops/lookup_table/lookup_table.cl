// y = table[x], element by element, on the bits of 8-bit numbers.
// `flip` makes an index of a stored number: 0 for UINT8. INT8 counts from -128, and those bits
// differ from 0, 1, 2, ... in the highest one alone: 0x80. Any byte is an index below 256.
__kernel void look_up(__global const uchar* x, __global uchar* y, __global const uchar* table,
                      uint count, uchar flip) {
  size_t i = get_global_id(0);
  if (i < count) y[i] = table[x[i] ^ flip];
}
