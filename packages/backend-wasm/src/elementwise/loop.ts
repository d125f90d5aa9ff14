import type { DType } from "@centella/core";
import { elementAt, lastOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i32, type Local, type ModuleBuilder, type V128 } from "../emit/index.ts";
import { zip } from "../kernels/shared/zip.ts";
import type { Target } from "../target.ts";
import type { Expression } from "./expression.ts";
import { bytesOf, loadLanes, splatLanes, storeLanes, storeSome } from "./lanes.ts";

/** One call of a body, with its expression. */
export interface BodyCall {
  readonly op: string;
  readonly expression: Expression;
  readonly params: object;
  /** Arguments: the loop's inputs first, then the results of earlier calls. */
  readonly inputs: readonly number[];
  readonly output: DType;
}

/** A loop over elements. */
export interface Loop {
  readonly inputs: readonly DType[];
  /** Whether each input spans the innermost axis. */
  readonly moves: readonly boolean[];
  /** Number of axes around the innermost one. */
  readonly outer: number;
  readonly body: readonly BodyCall[];
}

/** Key of a loop. Loops with the same key have the same code. */
export function loopKey({ inputs, moves, outer, body }: Loop): string {
  const calls = body.map(({ op, expression, params, inputs: places, output }) =>
    [op, expression.variant?.(params) ?? "", places.join(), output].join(" "),
  );
  const ins = inputs.map((dtype, i) => dtype + (moves[i] ? "" : "*"));
  return `loop ${outer} (${ins.join()}): ${calls.join("; ")}`;
}

/** Scalar parameters of all calls of a loop. */
export function loopScalars({ body }: Loop): number[] {
  return body.flatMap(({ expression, params }) => [...(expression.scalars?.(params) ?? [])]);
}

/** Vectors per step. Long bodies hide their own latency, and four copies would be slow to compile. */
function unrolled(body: readonly BodyCall[]): number {
  return body.length <= 8 ? 4 : 1;
}

/** Parameters of a loop's function, in order: see {@link emitLoop}. */
function signatureOf({ outer, inputs }: Loop, scalars: number): Record<string, "i32" | "f32"> {
  const words = [
    "y",
    "n",
    ...Array.from({ length: outer }, (_, axis) => `extent${axis}`),
    ...inputs.flatMap((_, i) => [`x${i}`, ...Array.from({ length: outer }, (__, axis) => `x${i}.${axis}`)]),
  ];
  const floats = Array.from({ length: scalars }, (_, i) => `scalar${i}`);
  return {
    ...Object.fromEntries(words.map((name) => [name, "i32" as const])),
    ...Object.fromEntries(floats.map((name) => [name, "f32" as const])),
    begin: "i32",
    end: "i32",
  };
}

/**
 * Emits a loop. Its parameters are the output's address; the innermost extent and the outer ones, from the inside out;
 * for each input its address and its byte strides along the outer axes; the scalars; and the range `begin` to `end` of
 * rows, or of elements if there are no outer axes. Results do not depend on how ranges are cut.
 */
export function emitLoop(module: ModuleBuilder, name: string, target: Target, loop: Loop): void {
  const { inputs, moves, outer, body } = loop;
  const dtype = lastOf(body).output;
  const scalarCount = loopScalars(loop).length;
  module.function(name, signatureOf(loop, scalarCount), (f, params) => {
    const word = (param: string): Local<"i32"> => params[param] as Local<"i32">;
    const [y, begin, end, n] = [word("y"), word("begin"), word("end"), word("n")];
    const scalars = Array.from({ length: scalarCount }, (_, i) => f.let(f32x4.splat(params[`scalar${i}`] as Local<"f32">)));
    // The value of an input that does not span the innermost axis stays in a local.
    const fixed = inputs.map((_, i) => (moves[i] ? undefined : f.local("v128")));
    const sources = inputs.map((type, i) => ({ name: `x${i}`, type, local: fixed[i], pointer: f.local("i32") }));

    const compute = (vector: number): V128 => {
      const values = sources.map(({ type, local, pointer }) => local ?? loadLanes(f, type, pointer, 4 * bytesOf(type) * vector));
      return emitBody(f, target, loop, values, scalars);
    };
    const moving = [
      ...sources.flatMap(({ type, local, pointer }) => (local === undefined ? [[pointer, bytesOf(type)] as const] : [])),
      [y, bytesOf(dtype)] as const,
    ];
    const along = (left: Local<"i32">): void => {
      for (const { type, local, pointer } of sources) if (local !== undefined) f.set(local, splatLanes(f, type, pointer));
      const vectors = unrolled(body);
      f.while(i32.geU(left, 4 * vectors), () => {
        f.interleave(
          Array.from({ length: vectors }, (_, vector) => () => storeLanes(f, dtype, y, compute(vector), 4 * bytesOf(dtype) * vector)),
        );
        for (const [pointer, bytes] of moving) f.advance(pointer, 4 * vectors * bytes);
        f.advance(left, -4 * vectors);
      });
      f.while(left, () => {
        storeSome(f, dtype, y, compute(0), left);
        const step = f.let(i32.select(i32.ltU(left, 4), left, 4));
        for (const [pointer, bytes] of moving) f.advance(pointer, i32.mul(step, bytes));
        f.set(left, i32.sub(left, step));
      });
    };

    const left = f.local("i32");
    if (outer === 0) {
      for (const { name: from, type, local, pointer } of sources) {
        f.set(pointer, local === undefined ? i32.add(word(from), i32.mul(begin, bytesOf(type))) : word(from));
      }
      f.advance(y, i32.mul(begin, bytesOf(dtype)));
      f.set(left, i32.sub(end, begin));
      along(left);
      return;
    }
    const [row, rest] = f.locals("i32", 2);
    f.advance(y, i32.mul(i32.mul(begin, n), bytesOf(dtype)));
    f.for(row, begin, end, 1, () => {
      f.set(rest, row);
      for (const { name: from, pointer } of sources) f.set(pointer, word(from));
      for (let axis = 0; axis < outer; axis++) {
        const isLast = axis === outer - 1;
        const at = isLast ? rest : f.let(i32.remU(rest, word(`extent${axis}`)));
        for (const { name: from, pointer } of sources) f.advance(pointer, i32.mul(at, word(`${from}.${axis}`)));
        if (!isLast) f.set(rest, i32.divU(rest, word(`extent${axis}`)));
      }
      f.set(left, n);
      along(left);
    });
  });
}

function emitBody(f: FunctionBuilder, target: Target, loop: Loop, inputs: readonly Local<"v128">[], scalars: readonly V128[]): V128 {
  const known = zip(inputs, loop.inputs).map(([value, dtype]) => ({ value, dtype }));
  let used = 0;
  for (const { expression, params, inputs: places, output } of loop.body) {
    const operands = places.map((place) => elementAt(known, place));
    const count = expression.scalars?.(params).length ?? 0;
    const scope = {
      f,
      target,
      inputs: operands.map(({ dtype }) => dtype),
      output,
      scalars: scalars.slice(used, used + count),
      variant: expression.variant?.(params) ?? "",
    };
    known.push({ value: f.let(expression.emit(scope, ...operands.map(({ value }) => value))), dtype: output });
    used += count;
  }
  return lastOf(known).value;
}
