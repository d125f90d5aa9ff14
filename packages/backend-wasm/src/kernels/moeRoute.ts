import { lastOf, tupleOf } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, f32, f32x4, i32, type Local, v128 } from "../emit/index.ts";
import type { Kernel, Task } from "../kernel.ts";
import { exp } from "../math/exp.ts";
import type { Target } from "../target.ts";
import { aligned } from "./shared/aligned.ts";

/** Codes of the gating functions. */
export const gatingCode = { softmaxOfChosen: 0, softmax: 1, sigmoid: 2 } as const;

export const moeRoute: Kernel<"moeRoute"> = {
  emit(module, target) {
    const signature = {
      logits: "i32",
      bias: "i32",
      ids: "i32",
      scores: "i32",
      strengths: "i32",
      tokens: "i32",
      experts: "i32",
      k: "i32",
      gating: "i32",
      groups: "i32",
      topKGroups: "i32",
    } as const;
    module.function("moeRoute", signature, (f, p) => {
      const { logits, bias, ids, scores, strengths, tokens, experts, k, gating, groups, topKGroups } = p;
      const [left, best] = f.locals("i32", 2);
      f.while(tokens, () => {
        emitGates(f, target, { logits, to: scores, count: experts, gating });
        f.if(bias, () => {
          forEach(f, experts, (offset) => {
            const at = f.let(i32.add(scores, offset));
            f.store(at, f32.add(f32.load(at), f32.load(i32.add(bias, offset))));
          });
        });
        forEach(f, experts, (offset) => {
          const at = f.let(i32.add(scores, offset));
          f.if(f32.ne(f32.load(at), f32.load(at)), () => f.store(at, f32.const(Number.NEGATIVE_INFINITY)));
        });
        f.if(i32.gtU(groups, 1), () => {
          emitStrengths(f, { scores, strengths, groups, size: f.let(i32.divU(experts, groups)) });
          f.set(left, topKGroups);
          // Chosen values become NaN, which is never the largest.
          f.while(left, () => {
            takeLargest(f, strengths, groups, best);
            f.advance(left, -1);
          });
          const size = f.let(i32.divU(experts, groups));
          forEach(f, groups, (offset) => {
            const strength = f.let(f32.load(i32.add(strengths, offset)));
            f.if(f32.eq(strength, strength), () => {
              const first = f.let(i32.add(scores, i32.mul(offset, size)));
              forEach(f, size, (inner) => f.store(i32.add(first, inner), f32.const(Number.NEGATIVE_INFINITY)));
            });
          });
        });
        f.set(left, k);
        f.while(left, () => {
          takeLargest(f, scores, experts, best);
          f.store(ids, best);
          f.advance(ids, 4);
          f.advance(left, -1);
        });
        f.advance(logits, i32.shl(experts, 2));
        f.advance(tokens, -1);
      });
    });
  },
  build({ exports, max, reserve }, [logits, bias], { k, gating, groups, topKGroups }, ids) {
    const call = exports("moeRoute");
    const experts = lastOf(max(logits).shape);
    // Without bias and groups, gates have the same order as logits.
    const code = bias === undefined && groups === 1 ? gatingCode.softmaxOfChosen : gatingCode[gating];
    const scoreBytes = aligned(4 * experts + 16);
    reserve(scoreBytes + aligned(4 * groups));
    return ((run) => {
      const [tokens] = tupleOf(run.shape(logits), 2);
      const biasAt = bias === undefined ? 0 : run.address(bias);
      const strengths = run.scratch + scoreBytes;
      call(run.address(logits), biasAt, run.address(ids), run.scratch, strengths, tokens, experts, k, code, groups, topKGroups);
    }) satisfies Task;
  },
};

/** `to[i] = gate(logits[i])`. Reads up to three elements after both, and writes up to three after `to`. */
export function emitGates(
  f: FunctionBuilder,
  target: Target,
  { logits, to, count, gating }: Readonly<Record<"logits" | "to" | "count" | "gating", Local<"i32">>>,
): void {
  const total = f.local("f32");
  const most = f.local("f32");
  f.if(i32.eqz(gating), () => f.memoryCopy(to, logits, i32.shl(count, 2)));
  f.if(i32.eq(gating, gatingCode.sigmoid), () => {
    forEach(
      f,
      count,
      (offset) => {
        const e = exp(f, target, f32x4.neg(v128.load(i32.add(logits, offset))));
        f.store(i32.add(to, offset), f32x4.div(f.splat(1), f32x4.add(f.splat(1), e)));
      },
      4,
    );
  });
  f.if(i32.eq(gating, gatingCode.softmax), () => {
    f.set(most, f32.const(Number.NEGATIVE_INFINITY));
    forEach(f, count, (offset) => f.set(most, f32.max(most, f32.load(i32.add(logits, offset)))));
    forEach(
      f,
      count,
      (offset) => f.store(i32.add(to, offset), exp(f, target, f32x4.sub(v128.load(i32.add(logits, offset)), f32x4.splat(most)))),
      4,
    );
    f.set(total, f32.const(0));
    forEach(f, count, (offset) => f.set(total, f32.add(total, f32.load(i32.add(to, offset)))));
    forEach(f, count, (offset) => {
      const at = f.let(i32.add(to, offset));
      f.store(at, f32.div(f32.load(at), total));
    });
  });
}

/** Sums of the two largest scores of each group of `size`. The second score of a group of one is 0. */
function emitStrengths(
  f: FunctionBuilder,
  { scores, strengths, groups, size }: Readonly<Record<"scores" | "strengths" | "groups" | "size", Local<"i32">>>,
): void {
  const [first, second, score] = f.locals("f32", 3);
  forEach(f, groups, (offset) => {
    const from = f.let(i32.add(scores, i32.mul(offset, size)));
    f.set(first, f32.const(Number.NEGATIVE_INFINITY));
    f.set(second, f32.const(Number.NEGATIVE_INFINITY));
    forEach(f, size, (inner) => {
      f.set(score, f32.load(i32.add(from, inner)));
      f.if(
        f32.gt(score, first),
        () => {
          f.set(second, first);
          f.set(first, score);
        },
        () => f.set(second, f32.max(second, score)),
      );
    });
    f.if(i32.eq(size, 1), () => f.set(second, f32.const(0)));
    f.store(i32.add(strengths, offset), f32.add(first, second));
  });
}

/** Sets `best` to the index of the first largest value that is not NaN, and makes that value NaN. */
function takeLargest(f: FunctionBuilder, values: Local<"i32">, count: Local<"i32">, best: Local<"i32">): void {
  const [largest, value] = f.locals("f32", 2);
  f.setI32(best, -1);
  forEach(f, count, (offset) => {
    f.set(value, f32.load(i32.add(values, offset)));
    const isFirst = i32.and(i32.eq(best, -1), f32.eq(value, value));
    f.if(i32.or(isFirst, i32.and(i32.ne(best, -1), f32.gt(value, largest))), () => {
      f.set(largest, value);
      f.set(best, i32.shrU(offset, 2));
    });
  });
  f.if(i32.ne(best, -1), () => f.store(i32.add(values, i32.shl(best, 2)), f32.const(Number.NaN)));
}

/** Runs `body` with the byte offsets of `count` f32 elements, in steps of `step` elements. */
export function forEach(f: FunctionBuilder, count: Expr<"i32">, body: (offset: Local<"i32">) => void, step = 1): void {
  const offset = f.local("i32");
  f.for(offset, 0, i32.shl(count, 2), 4 * step, () => body(offset));
}
