import { tupleOf } from "@centella/core/backend";
import { f32, i32 } from "../emit/index.ts";
import type { Kernel, Task } from "../kernel.ts";
import { emitGates, forEach, gatingCode } from "./moeRoute.ts";

/** Minimum divisor of weights; see the op. */
const leastSum = 2 ** -14;

export const moeWeights: Kernel<"moeWeights"> = {
  emit(module, target) {
    const signature = {
      logits: "i32",
      ids: "i32",
      y: "i32",
      gates: "i32",
      tokens: "i32",
      experts: "i32",
      k: "i32",
      gating: "i32",
      normalize: "i32",
      scale: "f32",
    } as const;
    module.function("moeWeights", signature, (f, { logits, ids, y, gates, tokens, experts, k, gating, normalize, scale }) => {
      const [sum, factor, softmax] = [f.local("f32"), f.local("f32"), f.let(i32.const(gatingCode.softmax))];
      const last = f.let(i32.sub(experts, 1));
      f.while(tokens, () => {
        emitGates(f, target, { logits, to: gates, count: experts, gating });
        forEach(f, k, (offset) => {
          const id = f.let(i32.load(i32.add(ids, offset)));
          f.set(id, i32.select(i32.gtU(id, last), last, id));
          f.store(i32.add(y, offset), f32.load(i32.add(gates, i32.shl(id, 2))));
        });
        f.if(i32.eqz(gating), () => {
          f.memoryCopy(gates, y, i32.shl(k, 2));
          emitGates(f, target, { logits: gates, to: gates, count: k, gating: softmax });
          f.memoryCopy(y, gates, i32.shl(k, 2));
        });
        f.set(factor, scale);
        f.if(normalize, () => {
          f.set(sum, f32.const(0));
          forEach(f, k, (offset) => f.set(sum, f32.add(sum, f32.load(i32.add(y, offset)))));
          f.set(factor, f32.div(scale, f32.max(sum, f32.const(leastSum))));
        });
        forEach(f, k, (offset) => {
          const at = f.let(i32.add(y, offset));
          f.store(at, f32.mul(f32.load(at), factor));
        });
        f.advance(logits, i32.shl(experts, 2));
        f.advance(ids, i32.shl(k, 2));
        f.advance(y, i32.shl(k, 2));
        f.advance(tokens, -1);
      });
    });
  },
  build({ exports, max, reserve }, [logits, ids], { gating, normalize, scale }, y) {
    const call = exports("moeWeights");
    const [, experts] = tupleOf(max(logits).shape, 2);
    reserve(4 * experts + 64);
    return ((run) => {
      const [tokens, k] = tupleOf(run.shape(ids), 2);
      if (experts === 0) return;
      const [from, idsAt, to] = [run.address(logits), run.address(ids), run.address(y)];
      call(from, idsAt, to, run.scratch, tokens, experts, k, gatingCode[gating], normalize ? 1 : 0, scale);
    }) satisfies Task;
  },
};
