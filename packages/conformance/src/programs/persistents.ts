import {
  type Backend,
  createProgram,
  DisposedError,
  type DType,
  type Program,
  ProgramError,
  ShapeError,
  type TensorSource,
  type TypedArray,
} from "@centella/core";
import { isQuantized, typedArrayOf } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectEqual, expectRejection, expectThat } from "../compare.ts";
import { type ConformanceTest, compileOrSkip, programTest } from "../conformanceTest.ts";
import { contentsOf, uniform } from "../data.ts";
import { failingSource, sourceOf } from "../sources.ts";
import { expectLikeReference, runOnce, withPlan } from "./scenario.ts";

const k = 256;
const n = 9;
const dtypes = ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_K", "q6_K"] as const;

function product(dtype: DType): Program {
  const program = createProgram();
  const x = program.input("x", "f32", [program.dim("T", 8), k]);
  program.output("y", program.matmul(x, program.persistent("w", { dtype, shape: [n, k] }), { transposeB: true }));
  return program;
}

/** `y = x * w + state`, and the state becomes y. */
function stateful(): Program {
  const program = createProgram();
  const w = program.persistent("w", { dtype: "f32", shape: [4] });
  const state = program.persistent("state", { dtype: "f32", shape: [4] }, { init: "zeros" });
  const y = program.add(program.mul(program.input("x", "f32", [4]), w), state);
  program.output("y", program.assign(state, y));
  return program;
}

const ones = Float32Array.of(1, 1, 1, 1);
const w = Float32Array.of(1, 2, 3, 4);
const bytesOf = (stored: TypedArray) => new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);

/** `save` returns the loaded bytes, regardless of the backend's layout. */
function savesWhatWasLoaded(dtype: DType): ConformanceTest {
  return programTest(`save() returns what was loaded, ${dtype}`, async (backend) => {
    const { stored } = contentsOf({ dtype, shape: [n, k] }, 11);
    await withPlan(backend, product(dtype), { w: stored }, async (plan) => {
      await runOnce(plan, { x: uniform(1, 2 * k) });
      const saved = await plan.save("w");
      expectThat(saved instanceof typedArrayOf(dtype), `save: expected a ${typedArrayOf(dtype).name}, got a ${saved.constructor.name}`);
      expectEqual(`${backend.name}: bytes of ${dtype}`, bytesOf(saved), bytesOf(stored));
    });
  });
}

/** A source that writes into given memory is asked for nothing else, and for each byte once. */
function readsInto(dtype: DType): ConformanceTest {
  return programTest(`a source that writes into given memory, ${dtype}`, async (backend) => {
    const { stored } = contentsOf({ dtype, shape: [n, k] }, 12);
    const bytes = bytesOf(stored);
    let end = 0;
    const source: TensorSource = {
      size: bytes.length,
      read: async () => {
        throw new Error("expected no read that returns bytes");
      },
      async readInto(target, offset) {
        expectThat(offset === end, `${dtype}: expected a read from ${end}, got one from ${offset}`);
        end = offset + target.length;
        await Promise.resolve();
        target.set(bytes.subarray(offset, end));
      },
    };
    await withPlan(backend, product(dtype), { w: new (typedArrayOf(dtype))(stored.length) }, async (plan) => {
      await plan.load("w", source);
      expectThat(end === bytes.length, `${dtype}: expected all ${bytes.length} bytes to be read, got ${end}`);
      const x = uniform(1, 2 * k);
      const { y: got } = await runOnce(plan, { x });
      await plan.load("w", sourceOf(stored));
      expectEqual(`${backend.name}: ${dtype}, read into memory`, got!.data, named(await runOnce(plan, { x }), "y").data);
      const failing: TensorSource = {
        ...source,
        readInto: async () => {
          throw new Error("the disk is gone");
        },
      };
      await expectRejection("a source that fails", () => plan.load("w", failing), Error, /the disk is gone/);
      await expectRejection("run after a failed load", () => plan.run({ x }), ProgramError, /\bw\b/);
    });
  });
}

async function unloaded(backend: Backend): Promise<void> {
  const plan = await compileOrSkip(backend, stateful());
  await expectRejection("run before load", () => plan.run({ x: ones }), ProgramError, /\bw\b/);
  await expectRejection("save before load", () => plan.save("w"), ProgramError, /save: expected w to be loaded/);
  await expectRejection("reset of a weight", () => plan.reset("w"), ProgramError, /reset: expected a persistent that starts as zeros/);
  await expectRejection("load of an unknown name", () => plan.load("v", sourceOf(w)), ProgramError, /\bv\b/);
  await plan.load("w", sourceOf(w));
  expectEqual(`${backend.name}: run after load`, named(await runOnce(plan, { x: ones }), "y").data, w);
  plan.dispose();
}

/** Reads come in any order and number, may fail, and may be asked for again. */
async function sources(backend: Backend): Promise<void> {
  const { stored } = contentsOf({ dtype: "f32", shape: [n, k] }, 12);
  const good = sourceOf(stored);
  const half: TensorSource = {
    size: good.size,
    read: (offset, length) => (offset + length > good.size / 2 ? Promise.reject(new Error("the disk is gone")) : good.read(offset, length)),
  };
  const plan = await compileOrSkip(backend, product("f32"));
  const x = uniform(2, k);
  await expectRejection("a source that fails", () => plan.load("w", failingSource(good.size)), Error, /the disk is gone/);
  await expectRejection("a source that fails midway", () => plan.load("w", half), Error, /the disk is gone/);
  const larger = sourceOf(new Float32Array(n * k + 1));
  await expectRejection("a source of another size", () => plan.load("w", larger), ShapeError, /load w: expected a source of/);
  await expectRejection("run after a failed load", () => plan.run({ x }), ProgramError, /\bw\b/);
  const aborted = AbortSignal.abort(new Error("changed my mind"));
  await expectRejection("an aborted load", () => plan.load("w", good, { signal: aborted }), Error, /changed my mind/);
  const progress: number[] = [];
  await plan.load("w", good, { onProgress: (done, total) => progress.push(done / total) });
  expectThat(progress.at(-1) === 1, `${backend.name}: expected the last progress to be 1, got ${progress.at(-1)}`);
  expectThat(
    progress.every((part, i) => part >= (progress[i - 1] ?? 0)),
    `${backend.name}: progress went back: ${progress.join(", ")}`,
  );
  expectEqual(`${backend.name}: loaded after failures`, bytesOf(await plan.save("w")), bytesOf(stored));
  const other = contentsOf({ dtype: "f32", shape: [n, k] }, 13).stored;
  await plan.load("w", sourceOf(other));
  expectEqual(`${backend.name}: loaded again`, bytesOf(await plan.save("w")), bytesOf(other));
  await runOnce(plan, { x });
  plan.dispose();
}

async function shared(backend: Backend): Promise<void> {
  const first = await compileOrSkip(backend, stateful());
  await first.load("w", sourceOf(w));
  const alone = backend.memory().persistents;
  const second = await backend.compile(stateful(), { shareWith: first });
  const both = backend.memory().persistents;
  expectThat(both === alone, `${backend.name}: expected ${alone} bytes of persistents for two plans that share, got ${both}`);
  await runOnce(first, { x: ones });
  expectEqual(
    `${backend.name}: state of both plans`,
    named(await runOnce(second, { x: ones }), "y").data,
    w.map((v) => 2 * v),
  );
  first.dispose();
  expectEqual(
    `${backend.name}: the other plan is gone`,
    named(await runOnce(second, { x: ones }), "y").data,
    w.map((v) => 3 * v),
  );
  second.dispose();
}

async function reset(backend: Backend): Promise<void> {
  await withPlan(backend, stateful(), { w }, async (plan) => {
    expectEqual(`${backend.name}: initial state`, await plan.save("state"), [0, 0, 0, 0]);
    await runOnce(plan, { x: ones });
    using before = named(plan.run({ x: ones }), "y");
    plan.reset("state");
    using after = named(plan.run({ x: ones }), "y");
    expectEqual(
      `${backend.name}: queued before the reset`,
      await before.data(),
      w.map((v) => 2 * v),
    );
    expectEqual(`${backend.name}: queued after the reset`, await after.data(), w);
    await plan.load("state", sourceOf(Float32Array.of(10, 20, 30, 40)));
    expectEqual(`${backend.name}: loaded state`, named(await runOnce(plan, { x: ones }), "y").data, [11, 22, 33, 44]);
  });
}

/** One table that is gathered and multiplied, with one row and with several. */
function tied(dtype: DType): ConformanceTest {
  return programTest(`a tied embedding, ${dtype}`, async (backend) => {
    const program = createProgram();
    const ids = program.input("ids", "i32", [program.dim("T", 40)]);
    const table = program.persistent("table", { dtype, shape: [37, k] });
    const x = program.embedding(table, ids);
    program.output("x", x);
    program.output("y", program.matmul(x, table, { transposeB: true }));
    const weights = { table: contentsOf({ dtype, shape: [37, k] }, 14).stored };
    const run = (count: number) => ({ inputs: { ids: Int32Array.from({ length: count }, (_, i) => (i * 11) % 37) } });
    // Sums of 256 products of weights up to 2, so of size 100.
    await expectLikeReference(`tied ${dtype}`, backend, program, weights, [run(1), run(5), run(40), run(1)], { rtol: 1e-4, atol: 1e-3 });
    await withPlan(backend, program, weights, async (plan) => {
      expectEqual(`${backend.name}: table`, bytesOf(await plan.save("table")), bytesOf(weights.table));
    });
  });
}

/** Persistents are shared by name and spec: another spec gets its own memory. */
async function sharedByName(backend: Backend): Promise<void> {
  const sum = (elements: number): Program => {
    const program = createProgram();
    const part = program.slice(program.persistent("w", { dtype: "f32", shape: [elements] }), { axis: 0, start: 0, end: 4 });
    program.output("y", program.add(program.input("x", "f32", [4]), part));
    return program;
  };
  const first = await compileOrSkip(backend, sum(4));
  await first.load("w", sourceOf(w));
  const second = await backend.compile(sum(8), { shareWith: first });
  await expectRejection("a weight of another spec is not shared", () => second.run({ x: ones }), ProgramError, /\bw\b/);
  await second.load("w", sourceOf(new Float32Array(8).fill(7)));
  expectEqual(`${backend.name}: a weight of its own`, named(await runOnce(second, { x: ones }), "y").data, [8, 8, 8, 8]);
  expectEqual(`${backend.name}: the other plan's weight`, await first.save("w"), w);
  second.dispose();
  await expectRejection("sharing with a disposed plan", () => backend.compile(sum(4), { shareWith: second }), DisposedError);
  first.dispose();
}

export const persistents: readonly ConformanceTest[] = [
  programTest("run before load", unloaded),
  programTest("sources that fail, abort, load again", sources),
  programTest("two plans that share", shared),
  programTest("two plans that share by name and spec", sharedByName),
  programTest("reset and load of state", reset),
  ...dtypes.map(savesWhatWasLoaded),
  ...dtypes.map(readsInto),
  ...dtypes.filter((dtype) => dtype === "f32" || dtype === "f16" || isQuantized(dtype)).map(tied),
];
