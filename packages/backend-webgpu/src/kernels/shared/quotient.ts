/** `fn quotient(a, b)`: a / b rounded as IEEE 754 asks, by long division of the mantissas. WGSL's own may be off by 2.5 ULP. */
export const quotient = `fn quotient(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a);
  let y = bitcast<u32>(b);
  var exponent = i32((x >> 23u) & 0xffu) - i32((y >> 23u) & 0xffu) + 127;
  if ((x & 0x7f800000u) == 0u || (y & 0x7f800000u) == 0u) { return a / b; }
  var rest = (x & 0x7fffffu) | 0x800000u;
  let divisor = (y & 0x7fffffu) | 0x800000u;
  if (rest < divisor) { rest <<= 1u; exponent--; }
  var q = 0u;
  for (var bit = 0; bit < 24; bit++) {
    q <<= 1u;
    if (rest >= divisor) { rest -= divisor; q |= 1u; }
    rest <<= 1u;
  }
  if (rest > divisor || (rest == divisor && (q & 1u) == 1u)) { q++; }
  if (exponent < 1 || exponent > 253) { return a / b; }
  return bitcast<f32>(((x ^ y) & 0x80000000u) | ((u32(exponent) << 23u) + q - 0x800000u));
}`;
