import { register, timesPlus, unflatten } from "../ptx/extent.ts";
import { elementwise, fixed, floatElem, input, isFixed, type Kernel, output, storeFloat } from "./shared/kernel.ts";

export const kvWrite: Kernel = {
  unsupported: ([cache, k, v]) => {
    if (cache!.dtype !== "f32" && cache!.dtype !== "f16") return `no kernel for a ${cache!.dtype} cache; use f16 or f32`;
    return isFixed(k!.shape[2], v!.shape[2]) ? undefined : "no kernel for a symbolic head size";
  },
  launches: (call) => {
    const [cache, keys, values] = call.inputs;
    const { dtype } = cache!;
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
        const column = register(k, place!);
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
