import { cases, conformanceSample, type OpCase, runConformance, uniform } from "@centella/conformance/headless";
import { createProgram, type OpName, UnsupportedError } from "@centella/core";
import { type AnyOp, completeParams, ops } from "@centella/core/backend";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { wasm } from "../src/index.ts";
import { emitPrecompiled, type PrecompiledCall } from "../src/linking/precompiled.ts";

/** The calls that scripts/writeBase.mjs includes. */
const calls = (Object.values(ops) as AnyOp[]).flatMap((op) =>
  (cases[op.name as OpName].cases as readonly OpCase<"add">[]).map(
    ({ inputs, optional = {}, params = {} }): PrecompiledCall => ({
      op,
      inputs: [...inputs, ...(op.optionalInputs ?? []).map((name) => optional[name])],
      params: completeParams(op, params),
    }),
  ),
);
const module = new WebAssembly.Module(await emitPrecompiled(calls));
const empty = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));

/** A host that instantiates modules but compiles none. */
function forbidCompiling(): void {
  const refuse = () => Promise.reject(new WebAssembly.CompileError("compiling is disallowed by the embedder"));
  const { instantiate } = WebAssembly;
  vi.spyOn(WebAssembly, "compile").mockImplementation(refuse);
  vi.spyOn(WebAssembly, "instantiate").mockImplementation(((source: BufferSource | WebAssembly.Module, imports: WebAssembly.Imports) =>
    source instanceof WebAssembly.Module ? instantiate(source, imports) : refuse()) as typeof WebAssembly.instantiate);
}

describe("on a host that does not compile WebAssembly", () => {
  beforeEach(forbidCompiling);
  afterEach(() => void vi.restoreAllMocks());

  test("a precompiled module computes the functions it has, and refuses all others with a reason", async () => {
    const backend = await wasm({ module }).open();
    expect(backend.device.name).toBe("WebAssembly SIMD, 1 thread (precompiled)");
    const sample = conformanceSample();
    const failed: string[] = [];
    const counts = { passed: 0, skipped: 0, failed: 0 };
    for await (const { id, status, message } of runConformance(backend, { filter: (name) => sample.has(name) })) {
      counts[status]++;
      if (status === "failed") failed.push(`${id}: ${message}`);
    }
    expect(failed).toEqual([]);
    expect(counts.passed).toBeGreaterThan(200);
    await backend.dispose();
  });

  test("elementwise calls run one by one, and fused they are refused with a reason", async () => {
    const backend = await wasm({ module }).open();
    const program = createProgram();
    const x = program.input("x", "f32", [program.dim("T", 4), 8]);
    const bias = program.constant(uniform(1, 8), "f32", [8]);
    program.output("y", program.silu(program.add(program.scale(x, { by: 2 }), bias)));
    expect(program.explain(backend)).toMatch(/is not in the precompiled module/);
    const plan = await backend.compile(program);
    const input = uniform(2, 24);
    const y = (await plan.run({ x: input }).y!.data()) as Float32Array;
    const shift = uniform(1, 8);
    y.forEach((value, i) => {
      const sum = 2 * input[i]! + shift[i % 8]!;
      expect(value).toBeCloseTo(sum / (1 + Math.exp(-sum)), 6);
    });
    expect(backend.counters.ops).toEqual({ scale: 1, add: 1, silu: 1 });
    await backend.dispose();
  });

  test("without a module the error says what to allow", async () => {
    const error = await wasm({ relaxed: false, threads: 1 })
      .open()
      .catch((reason: unknown) => reason);
    // A backend that was opened earlier in this process has the module already.
    if (!(error instanceof Error)) return;
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toMatch(/does not compile WebAssembly.*'wasm-unsafe-eval'.*option module/);
  });
});

test("another module is refused", async () => {
  await expect(wasm({ module: empty }).open()).rejects.toThrow(/expected base\.wasm of @centella\/backend-wasm, got another module/);
  expect(() => wasm({ module: {} as WebAssembly.Module })).toThrow(/module to be a WebAssembly\.Module, got an object/);
  expect(() => wasm({ module, threads: 2 })).toThrow(/a module without relaxed, memory64 or threads/);
});
