import { readFileSync } from "node:fs";
import type { CudaDriver } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { cases, type OpCases } from "@centella/conformance/headless";
import { type Backend, createProgram, type OpName, reference, type TensorSpec, UnsupportedError } from "@centella/core";
import { type AnyOp, isFused, lower, maxSpec, ops } from "@centella/core/backend";
import { useSwiftShader } from "@centella/test-devices";
import { expect, test } from "vitest";
import { CudaBackend } from "../../../packages/backend-cuda/src/backend.ts";

const missing = /^there is no kernel for \w+ yet$/;

/** A cell of the table, and what is to be said about it below. */
interface Cell {
  readonly text: string;
  readonly reasons: readonly string[];
}

/** What a backend says to the op's cases of the conformance suite. */
function coverageOf(name: OpName, backend: Backend): Cell {
  const op: AnyOp = ops[name];
  if (op.alias === true) return { text: "view", reasons: [] };
  const list: OpCases<OpName>["cases"] = cases[name].cases;
  const reasons = list.map(({ inputs, optional, params }) => {
    const specs: readonly (TensorSpec | undefined)[] = [...inputs, ...(op.optionalInputs ?? []).map((input) => optional?.[input])];
    const complete = { ...op.defaults, ...params };
    return backend.unsupported(op, specs, complete, maxSpec(op.infer(specs, complete)));
  });
  const refused = [...new Set(reasons.filter((reason) => reason !== undefined))];
  const taken = reasons.filter((reason) => reason === undefined).length;
  if (taken === 0) return { text: "–", reasons: refused.filter((reason) => !missing.test(reason)) };
  const share = taken === reasons.length ? "native" : `native, ${taken} of ${reasons.length} cases`;
  return { text: isFusable(op, list, backend) ? `${share}, fused` : share, reasons: refused };
}

/** Whether a call of the op and an elementwise one become one kernel there. */
function isFusable(op: AnyOp, list: OpCases<OpName>["cases"], backend: Backend): boolean {
  return list.some(({ inputs, optional, params, golden }) => {
    if (golden === undefined || op.writes !== undefined) return false;
    const program = createProgram();
    const refs = [...inputs, ...(op.optionalInputs ?? []).map((input) => optional?.[input])].map((tensor, i) =>
      tensor === undefined ? undefined : program.input(String(i), tensor.dtype, tensor.shape),
    );
    const before = refs[0]?.spec.dtype === "f32" && op.elementwise === true ? program.neg(refs[0]) : refs[0];
    const y = program.record(op, refs.length === 0 ? [] : [before, ...refs.slice(1)], { ...params });
    program.output("y", before === refs[0] && y.spec.dtype === "f32" ? program.relu(y) : y);
    if (program.nodes.length < 2) return false;
    try {
      const { fusion } = backend;
      return lower(program, backend.name, (...call) => backend.unsupported(...call), fusion && { fusion }).steps.some((step) =>
        isFused(step.op),
      );
    } catch (error) {
      if (error instanceof UnsupportedError) return false;
      throw error;
    }
  });
}

function tableOf(backends: readonly Backend[]): string {
  const names = Object.keys(ops) as OpName[];
  const rows = names.map((name) => ({ name, cells: backends.map((backend) => coverageOf(name, backend)) }));
  const counts = backends.map((backend, i) => {
    const native = rows.filter(({ cells }) => cells[i]!.text !== "–").length;
    return `| ${backend.name} | ${native} of ${names.length} | ${rows.filter(({ cells }) => cells[i]!.text.includes("fused")).length} |`;
  });
  const notes = backends.flatMap((backend, i) =>
    rows.flatMap(({ name, cells }) => cells[i]!.reasons.map((reason) => `- \`${name}\` on ${backend.name}: ${reason}`)),
  );
  return [
    "# Which backend has which op",
    "",
    "Written by `vitest run apps/bench/test/coverage.test.ts -u` from what the backends answer to the cases of the conformance suite, which",
    "every backend passes for all that it claims. *native*: a kernel of its own; *fused*: the op also becomes one kernel with elementwise ops",
    "around it; *view*: no work at all; *–*: no kernel there yet, so that a runtime computes eager calls on the next backend that has one (the",
    "reference has all) and a program with it on one backend that has all of its ops.",
    "",
    "| backend | ops | of them fused |",
    "| --- | ---: | ---: |",
    ...counts,
    "",
    `| op | ${backends.map(({ name }) => name).join(" | ")} |`,
    `| --- |${backends.map(() => " --- |").join("")}`,
    ...rows.map(({ name, cells }) => `| \`${name}\` | ${cells.map(({ text }) => text).join(" | ")} |`),
    "",
    "## Calls that a backend refuses, in its words",
    "",
    ...notes,
    "",
  ].join("\n");
}

test("docs/coverage.md is what the backends say", async ({ skip }) => {
  useSwiftShader();
  const gpu = await webgpu()
    .open()
    .catch((error: unknown) => {
      if (error instanceof UnsupportedError) return skip(`webgpu is not available: ${error.reason}`);
      throw error;
    });
  const scalar = await reference().open();
  const simd = await wasm().open();
  // What it has kernels for is told without a device.
  const cudaKernels = new CudaBackend({ device: { name: "none" } } as CudaDriver);
  try {
    await expect(tableOf([scalar, simd, gpu, cudaKernels])).toMatchFileSnapshot("../../../docs/coverage.md");
  } finally {
    for (const backend of [scalar, simd, gpu]) await backend.dispose();
  }
});

test("the README counts ops as docs/coverage.md does", () => {
  const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const counts = [...read("docs/coverage.md").matchAll(/^\| \w+ \| (\d+) of (\d+) \|/gm)];
  const total = counts[0]?.[2];
  const [, cells = ""] = new RegExp(`^\\| ops, of ${total} +\\|(.+)\\|$`, "m").exec(read("README.md")) ?? [];
  expect(cells.split("|").map((cell) => cell.trim())).toEqual(counts.map(([, count]) => (count === total ? "all" : count)));
});
