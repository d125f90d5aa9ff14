// Writes build/base.wasm: the kernels in binary form, for hosts that compile no WebAssembly at run time. Of those that are made for a plan
// it has what the conformance cases ask for.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cases } from "@centella/conformance/headless";
import { completeParams, ops } from "@centella/core/backend";
import { emitPrecompiled } from "../build/esm/linking/precompiled.js";

const calls = Object.values(ops).flatMap((op) =>
  cases[op.name].cases.map(({ inputs, optional = {}, params = {} }) => ({
    op,
    inputs: [...inputs, ...(op.optionalInputs ?? []).map((name) => optional[name])],
    params: completeParams(op, params),
  })),
);
// Long rows are cut into parts by functions of their own, which no case is long enough for.
const long = calls.flatMap(({ op, inputs, params }) =>
  inputs.length === 1 && "axis" in params ? [{ op, inputs: [{ ...inputs[0], shape: [2 ** 18] }], params: { ...params, axis: 0 } }] : [],
);
const write = (name, bytes) => {
  const to = new URL(`../build/${name}`, import.meta.url);
  // An untouched file keeps its time, for builds that look at it.
  if (!existsSync(to) || !readFileSync(to).equals(bytes)) writeFileSync(to, bytes);
};
write("base.wasm", Buffer.from(await emitPrecompiled([...calls, ...long])));
// The namespace is declared for projects whose `lib` has no "dom".
const types = `declare global {
  namespace WebAssembly {
    interface Module {}
  }
}
declare const base: WebAssembly.Module;
export default base;
`;
write("base.d.wasm.ts", Buffer.from(types));
