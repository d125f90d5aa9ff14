// Checks of large products for checkDevice.mjs: [what, work] pairs, where work resolves to { ok, message }.
import { contentsOf, sourceOf, uniform } from "@centella/conformance/headless";
import { createProgram } from "@centella/core";

const [columns, depth] = [8192, 8192];
/** Rows of the weight after which it is repeated. */
const period = 128;
/** Products in a plan, of the same numbers in memory of their own. */
const calls = 6;
const runs = 3;

/**
 * Products of large weights, several in each run: each has the same bits in every run, and is near that of f64. Two products of a run may sum in
 * other orders, where one launch computes both. Kernels that read what is not there yet, or is there no more, are wrong now and then, and only
 * where much is under way.
 */
export function* largeProducts(backend) {
  for (const dtype of ["f16", "bf16", "q8_0", "q4_K"]) {
    const weight = contentsOf({ dtype, shape: [period, depth] }, 5);
    const stored = repeated(new Uint8Array(weight.stored.buffer, weight.stored.byteOffset, weight.stored.byteLength), columns / period);
    for (const rows of [1, 8, 64, 384, 512, 1024])
      yield [
        `product of ${rows} rows, ${dtype}, several times`,
        () => checkProduct(backend, dtype, { stored, weight: weight.decoded }, rows),
      ];
  }
}

async function checkProduct(backend, dtype, { stored, weight }, rows) {
  const program = createProgram();
  const x = program.input("x", "f32", [rows, depth]);
  for (let call = 0; call < calls; call++) {
    const w = program.persistent(`w${call}`, { dtype, shape: [columns, depth] });
    program.output(`y${call}`, program.matmul(x, w, { transposeB: true, activations: "half" }), { to: "device" });
  }
  const plan = await backend.compile(program);
  try {
    for (let call = 0; call < calls; call++) await plan.load(`w${call}`, sourceOf(stored));
    const values = uniform(rows, rows * depth);
    const first = [];
    let different = 0;
    for (let run = 0; run < runs; run++) {
      const results = plan.run({ x: values });
      for (let call = 0; call < calls; call++) {
        const tensor = results[`y${call}`];
        const bits = Buffer.from((await tensor.data()).slice().buffer);
        tensor.dispose();
        first[call] ??= bits;
        if (!bits.equals(first[call])) different++;
      }
    }
    const results = first.map((bits) => new Float32Array(bits.buffer, bits.byteOffset, rows * columns));
    const error = Math.max(...results.map((result) => distance(result, values, weight, rows)));
    const message = `${different} of ${runs * calls} differ, relative error ${error.toExponential(1)}`;
    return { ok: different === 0 && error < 5e-3, message };
  } finally {
    plan.dispose();
  }
}

/** Distance of some results to those of f64, relative to these. */
function distance(y, x, weight, rows) {
  let [errors, norm] = [0, 0];
  for (const row of [0, rows >> 1, rows - 1])
    for (let column = 0; column < columns; column += 61) {
      let want = 0;
      for (let i = 0; i < depth; i++) want += x[row * depth + i] * weight[(column % period) * depth + i];
      errors += (y[row * columns + column] - want) ** 2;
      norm += want ** 2;
    }
  return Math.sqrt(errors / norm);
}

function repeated(bytes, times) {
  const all = new Uint8Array(bytes.length * times);
  for (let i = 0; i < times; i++) all.set(bytes, i * bytes.length);
  return all;
}
