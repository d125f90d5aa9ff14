import { lastOf } from "@centella/core/backend";
import { blockLayout } from "@centella/quant";
import { neighbourCount, type U32 } from "../emitter.ts";
import { asValue, times } from "../extent.ts";
import { type GpuKernelOf, type GpuScope, type GpuStep, input, output } from "../kernel.ts";
import { encoderOf } from "../shared/encoders.ts";

const blockElements = 32;

/**
 * Bit for bit as `quantize` of `@centella/quant`, except that denormal scales may count as 0, and that blocks whose scale overflows f32 may have
 * other codes. A block with NaN or infinity gets NaN as its scale.
 */
export const quantize: GpuKernelOf<"quantize"> = {
  unsupported: (_inputs, { dtype }) =>
    encoderOf(dtype) === undefined ? "no kernel for block types whose scales are found by a search" : undefined,
  steps: (call, { dtype }) => {
    const { shape } = call.inputs[0];
    const blocks = (lastOf(shape) as number) / blockElements;
    const halves = blockLayout(dtype).blockBytes / 2;
    // Blocks of whole words are written by a lane each, other ones two by two. Where rows have an odd number of these, words may have two writers.
    const perLane = halves % 2 === 0 ? 1 : 2;
    const isOdd = blocks % perLane !== 0;
    const step: GpuStep = {
      kind: "each",
      name: isOdd ? `${dtype}_halves` : dtype,
      args: { x: input(call, 0), y: output(call) },
      shape: [...shape.slice(0, -1), isOdd ? blocks : blocks / perLane],
      body: (scope, index) => {
        const { k } = scope;
        if (isOdd) {
          blockOf(scope, dtype, index).forEach((half, i) => void k.storeHalf("y", k.add(k.mul(index, halves), i), half));
          return;
        }
        const first = asValue(k, times(k, index, perLane));
        const written = Array.from({ length: perLane }, (_, i) => blockOf(scope, dtype, i === 0 ? first : k.add(first, i))).flat();
        const to = k.mul(index, written.length / 2);
        for (let i = 0; i < written.length; i += 2)
          k.store("y", i === 0 ? to : k.add(to, i / 2), k.or(written[i]!, k.shiftLeft(written[i + 1]!, 16)));
      },
    };
    return [step];
  },
};

/** The halves of block `index` of the result. */
function blockOf({ k }: GpuScope, dtype: string, index: U32): readonly U32[] {
  const first = k.mul(index, blockElements);
  const values = Array.from({ length: blockElements / neighbourCount }, (_, i) =>
    k.loadVector("x", i === 0 ? first : k.add(first, i * neighbourCount)),
  );
  return encoderOf(dtype)!(k, values.flat());
}
