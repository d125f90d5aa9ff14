import type { F32, U32 } from "../emitter.ts";
import { asValue, divide, isBelow, timesPlus, unflatten } from "../extent.ts";
import {
  type GpuArgument,
  type GpuArguments,
  type GpuCall,
  type GpuKernelOf,
  type GpuScope,
  type GpuStep,
  input,
  output,
} from "../kernel.ts";
import { choose } from "../sampling/choose.ts";
import { blockLength, forEachKey, greatestOf, optionsOf, planes, weightsOf, workRow } from "../sampling/row.ts";
import { wide, wideVariable } from "../sampling/wide.ts";
import { orderKey } from "../shared/math.ts";

/** Lanes of a group that chooses, and of one that adds weights. */
const lanes = 256;

/**
 * Three steps. A lane for each block of 32 logits writes their order keys and the greatest. Groups add the weights of each block where the
 * choice needs them. A group for each row chooses: from the few logits that can be kept, where top-k or top-p cut, else by the sums.
 */
export const sample: GpuKernelOf<"sample"> = {
  steps: (call) => {
    const blocks = Math.ceil((call.inputs[0].shape.at(-1) as number) / blockLength);
    const rows = call.inputs[0].shape.slice(0, -1);
    const work: GpuArgument = { kind: "scratch", dtype: "u32", elements: [...rows, planes * blocks] };
    return [writeKeys(call, blocks, work), addWeights(call, blocks, work), chooseRows(call, work)];
  },
};

type Call = Parameters<typeof sample.steps>[0];

/** The arguments that hold a row's options. */
function optionArgs(call: GpuCall): GpuArguments {
  return { temperature: input(call, 3), topK: input(call, 4), topP: input(call, 5), minP: input(call, 6) };
}

function writeKeys(call: Call, blocks: number, work: GpuArgument): GpuStep {
  const [logits] = call.inputs;
  const mask = call.inputs[7];
  return {
    kind: "each",
    name: mask === undefined ? "keys" : "keys_masked",
    args: { logits: input(call, 0), ...(mask && { mask: input(call, 7), maskRow: input(call, 8) }), work },
    shape: [...logits.shape.slice(0, -1), blocks],
    body: (scope, index) => {
      const { k } = scope;
      const places = unflatten(k, index, [1, scope.whole(blocks)]);
      const [row, block] = [asValue(k, places[0]), asValue(k, places[1])];
      const allowed = mask && maskWord(scope, row, block, asValue(k, scope.extent(mask.shape[0]!)), blocks);
      const to = workRow(scope, row, blocks);
      const greatest = k.variable("u32", 0);
      visitLogits(scope, row, block, logits.shape.at(-1) as number, (logit, i) => {
        const key = orderKey(k, logit);
        const isAllowed = allowed && k.compare("eq", k.and(k.shiftRight(allowed, i), 1), 1);
        const kept = isAllowed === undefined ? key : k.select(isAllowed, key, 0);
        to.setKey(block, i, kept);
        greatest.set(k.max(greatest.get(), kept));
      });
      to.setGreatest(block, greatest.get());
    },
  };
}

/** The bits of the logits that a block may use. */
function maskWord(scope: GpuScope, row: U32, block: U32, masks: U32, words: number): U32 {
  const { k } = scope;
  const maskRow = k.loadBits("maskRow", row);
  const bits = k.variable("u32", 0xffffffff);
  k.if(k.compare("lt", maskRow, masks), () => bits.set(k.loadBits("mask", asValue(k, timesPlus(k, maskRow, scope.whole(words), block)))));
  return bits.get();
}

/** Visits the logits of a block. Places after the row's end count as excluded. */
function visitLogits(scope: GpuScope, row: U32, block: U32, n: number, body: (logit: F32, i: U32) => void): void {
  const { k } = scope;
  const first = k.mul(block, blockLength);
  const start = asValue(k, timesPlus(k, row, scope.whole(n), first));
  if (n % blockLength === 0) {
    const vectors = Array.from({ length: blockLength / 4 }, (_, i) => k.loadVector("logits", k.add(start, 4 * i)));
    for (const [i, logit] of vectors.flat().entries()) body(logit, k.constant("u32", i));
    return;
  }
  k.for(0, blockLength, 1, (i) => {
    const logit = k.variable("f32", Number.NEGATIVE_INFINITY);
    k.if(isBelow(k, k.add(first, i), scope.whole(n)), () => logit.set(k.load("logits", k.add(start, i))));
    body(logit.get(), i);
  });
}

function addWeights(call: Call, blocks: number, work: GpuArgument): GpuStep {
  const [logits] = call.inputs;
  const shares = Math.ceil(blocks / lanes);
  return {
    kind: "groups",
    name: "sums",
    args: { ...optionArgs(call), work },
    shape: [...logits.shape.slice(0, -1), shares],
    lanes,
    body: (scope, group) => {
      const { k } = scope;
      const places = divide(k, group, scope.whole(shares));
      const [row, share] = [asValue(k, places[0]), asValue(k, places[1])];
      const options = optionsOf(k, row, logits.shape.at(-1) as number);
      k.ifUniform(k.not(k.either(options.isTopK, options.isGreedy)), () => {
        const from = workRow(scope, row, blocks);
        const { greatest } = greatestOf(k, from, blocks);
        const weights = weightsOf(k, greatest, options);
        const block = k.add(k.mul(share, lanes), k.lane());
        k.if(k.compare("lt", block, blocks), () => {
          const sum = wideVariable(k);
          forEachKey(k, from, block, (key) => {
            const plain = weights.plain(key);
            sum.add(wide(k, k.select(options.isTopP, plain, weights.tempered(key, plain))));
          });
          from.setSum(block, sum.get());
        });
      });
    },
  };
}

function chooseRows(call: Call, work: GpuArgument): GpuStep {
  const [logits] = call.inputs;
  return {
    kind: "groups",
    name: "choose",
    hasManyValues: true,
    args: { position: input(call, 1), seed: input(call, 2), ...optionArgs(call), work, y: output(call) },
    shape: logits.shape.slice(0, -1),
    lanes,
    body: (scope, row) => choose(scope, row, logits.shape.at(-1) as number),
  };
}
