// Writes dist/base.wasm: the kernels in binary form, for hosts that compile no WebAssembly at run time. Of those that are made for a plan
// it has what the conformance cases ask for.
import { readFileSync, writeFileSync } from "node:fs";
import { completeParams, ops } from "@centella/core";
import { cases } from "@centella/core/conformance";
import { emitAhead } from "../dist/ahead.js";

const calls = Object.values(ops).flatMap((op) =>
  cases[op.name].cases.map(({ inputs, optional = {}, params = {} }) => ({
    op,
    inputs: [...inputs, ...(op.optionalInputs ?? []).map((name) => optional[name])],
    params: completeParams(op, params),
  })),
);
const to = new URL("../dist/base.wasm", import.meta.url);
const bytes = emitAhead(calls);
const read = () => {
  try {
    return readFileSync(to);
  } catch {
    return undefined;
  }
};
if (!read()?.equals(bytes)) writeFileSync(to, bytes);
