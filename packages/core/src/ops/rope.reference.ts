import type { Reference } from "../reference/referenceType.ts";

export const rope: Reference<"rope"> = ([x, positions, freqFactors], { dims, base, ropeType, scale }, y) => {
  const [tokens, heads, d] = x.spec.shape as readonly [number, number, number];
  const n = dims || d;
  const [step, apart] = ropeType === "neox" ? [1, n / 2] : [2, 1];
  const [from, to] = [x.data, y.data];
  to.set(from);
  for (let i = 0; i < n / 2; i++) {
    const frequency = (scale * base ** ((-2 * i) / n)) / (freqFactors?.data[i] ?? 1);
    for (let t = 0; t < tokens; t++) {
      const angle = positions.data[t]! * frequency;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let h = 0; h < heads; h++) {
        const at = (t * heads + h) * d + i * step;
        const [p, q] = [from[at]!, from[at + apart]!];
        to[at] = p * cos - q * sin;
        to[at + apart] = p * sin + q * cos;
      }
    }
  }
};
