import { asValue, timesPlus, unflatten } from "@centella/gpu-kernels";
import { blockLayout } from "@centella/quant";
import type { F32, U32 } from "../ptx/types.ts";
import {
  elementwise,
  fixed,
  floatElem,
  input,
  isFixed,
  type Kernel,
  type KernelCall,
  type Launch,
  output,
  storeFloat,
} from "./shared/kernel.ts";

const { blockElements, blockBytes } = blockLayout("q8_0");

export const kvWrite: Kernel = {
  unsupported: ([, k, v]) => (isFixed(k!.shape[2], v!.shape[2]) ? undefined : "no kernel for a symbolic head size"),
  launches: (call) => {
    const [cache, keys, values] = call.inputs;
    const { dtype } = cache!;
    if (dtype === "q8_0") return [writeBlocks(call)];
    const [keyWidth, valueWidth] = [fixed(keys!.shape[2]), fixed(values!.shape[2])];
    const width = keyWidth + valueWidth;
    const [tokens, heads] = [keys!.shape[0]!, keys!.shape[1]!];
    const args = { cache: output, k: input(1), v: input(2), slots: input(3) };
    return [
      elementwise(call, `kvWrite_${dtype}`, { shape: [tokens, heads, width], args }, (scope, index) => {
        const { k, pointer } = scope;
        const headCount = scope.extent(heads);
        const [token, head, place] = unflatten(k, index, [1, headCount, width]);
        const row = timesPlus(k, token!, headCount, head!);
        const column = asValue(k, place!);
        const [to, fromKeys, fromValues] = [pointer("cache", floatElem(dtype)), pointer("k", "f32"), pointer("v", "f32")];
        // Unsigned: a negative slot is beyond the cache too. Such tokens are not written.
        const slot = k.bitcast("u32", k.load("s32", k.at("s32", pointer("slots", "s32"), token!)));
        k.if(k.compare("lt", slot, scope.extent(cache!.shape[0]!)), () => {
          const value = k.variable("f32", 0);
          k.if(
            k.compare("lt", column, keyWidth),
            () => value.set(k.load("f32", k.at("f32", fromKeys, timesPlus(k, row, keyWidth, column)))),
            () => value.set(k.load("f32", k.at("f32", fromValues, timesPlus(k, row, valueWidth, k.sub(column, keyWidth))))),
          );
          const at = timesPlus(k, timesPlus(k, slot, headCount, head!), width, column);
          storeFloat(k, dtype, to, at, value.get());
        });
      }),
    ];
  },
};

/** A thread per block of 32 values: their largest magnitude, the scale in f16, then the quants, as ggml rounds them. */
function writeBlocks(call: KernelCall): Launch {
  const [cache, keys, values] = call.inputs;
  const [keyWidth, valueWidth] = [fixed(keys!.shape[2]), fixed(values!.shape[2])];
  const blocks = (keyWidth + valueWidth) / blockElements;
  const [tokens, heads] = [keys!.shape[0]!, keys!.shape[1]!];
  const args = { cache: output, k: input(1), v: input(2), slots: input(3) };
  return elementwise(call, "kvWrite_q8_0", { shape: [tokens, heads, blocks], args }, (scope, index) => {
    const { k, pointer } = scope;
    const headCount = scope.extent(heads);
    const [token, head, block] = unflatten(k, index, [1, headCount, blocks]);
    const row = timesPlus(k, token!, headCount, head!);
    const first = k.mul(asValue(k, block!), blockElements);
    const [fromKeys, fromValues] = [pointer("k", "f32"), pointer("v", "f32")];
    const slot = k.bitcast("u32", k.load("s32", k.at("s32", pointer("slots", "s32"), token!)));
    // Unsigned: a negative slot is beyond the cache too. Such tokens are not written.
    k.if(k.compare("lt", slot, scope.extent(cache!.shape[0]!)), () => {
      const valueAt = (j: U32): F32 => {
        const value = k.variable("f32", 0);
        const column = k.add(first, j);
        k.if(
          k.compare("lt", column, keyWidth),
          () => value.set(k.load("f32", k.at("f32", fromKeys, timesPlus(k, row, keyWidth, column)))),
          () => value.set(k.load("f32", k.at("f32", fromValues, timesPlus(k, row, valueWidth, k.sub(column, keyWidth))))),
        );
        return value.get();
      };
      const largest = k.variable("f32", 0);
      k.for(0, blockElements, 1, (j) => largest.set(k.max(largest.get(), k.abs(valueAt(j)))));
      const d = k.div(largest.get(), 127);
      const inverse = k.select(k.compare("gt", d, 0), k.div(k.constant("f32", 1), d), 0);
      const at = timesPlus(k, timesPlus(k, slot, headCount, head!), blocks, block!);
      const to = k.atBytes(pointer("cache", "b16"), asValue(k, at), blockBytes);
      k.store("b16", to, k.floatToHalf(d));
      const quant = (j: U32): U32 => {
        const x = k.mul(valueAt(j), inverse);
        const whole = k.trunc(x);
        // Halves round away from zero.
        const isAway = k.compare("ge", k.abs(k.sub(x, whole)), 0.5);
        const away = k.select(k.compare("lt", x, 0), k.constant("f32", -1), 1);
        return k.and(k.bitcast("u32", k.truncate("s32", k.select(isAway, k.add(whole, away), whole))), 0xff);
      };
      k.for(0, blockElements / 2, 1, (pair) => {
        const j = k.shiftLeft(pair, 1);
        const word = k.or(quant(j), k.shiftLeft(quant(k.add(j, 1)), 8));
        k.store("b16", k.at("b16", to, k.add(pair, 1)), k.narrow(word));
      });
    });
  });
}
