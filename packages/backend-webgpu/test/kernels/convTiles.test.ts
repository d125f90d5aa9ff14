import { uniform } from "@centella/conformance";
import { createProgram, reference, type TensorSpec } from "@centella/core";
import { elementCount } from "@centella/core/backend";
import { conv2d } from "@centella/gpu-kernels";
import { afterAll, expect, test } from "vitest";
import { guaranteed } from "../../src/device/capabilities.ts";
import { convTileFor } from "../../src/kernels/conv2d/convForm.ts";
import { type ConvCall, type ConvTile, convTile, convTileBytes, lanesOf } from "../../src/kernels/conv2d/convTiles.ts";
import { kernelFrom } from "../../src/wgsl/gpuKernel.ts";
import { describeOpened } from "../support/describeOpened.ts";
import { openGuardedDevice } from "../support/openBackend.ts";
import { runDispatches } from "./runDispatches.ts";

const plain: ConvCall["params"] = { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 };

function callOf(x: readonly number[], w: readonly number[], given: Partial<ConvCall["params"]> = {}): ConvCall {
  const params = { ...plain, ...given };
  const program = createProgram();
  const [a, b] = [x, w].map((shape, i) => program.input(`x${i}`, "f32", shape));
  const spec = (shape: readonly number[]): TensorSpec => ({ dtype: "f32", shape });
  return { x: spec(x), w: spec(w), y: program.conv2d(a!, b!, params).spec, params };
}

function bytesOf(values: Float32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.buffer as ArrayBuffer);
}

const small: ConvTile = { across: 4, pixels: 4, down: 4, blocks: 2, quads: 1, chunk: 2 };

/** Each has what a text treats in its own way. */
const cases: Readonly<Record<string, readonly [ConvTile, ConvCall]>> = {
  "3 × 3 with padding": [small, callOf([1, 4, 5, 20], [8, 4, 3, 3], { padding: [1, 1] })],
  "rows of any length, and filters that fill no block": [small, callOf([1, 2, 5, 13], [11, 2, 3, 2], { padding: [1, 2] })],
  "several images and groups": [small, callOf([2, 4, 6, 9], [10, 2, 2, 3], { groups: 2 })],
  "steps between windows and between their elements": [
    small,
    callOf([1, 2, 9, 23], [4, 2, 3, 2], { stride: [2, 3], dilation: [2, 1], padding: [3, 1] }),
  ],
  "several vectors of channels and pixels": [{ ...small, pixels: 8, quads: 2 }, callOf([1, 4, 4, 24], [16, 4, 3, 3], { padding: [1, 1] })],
  "1 × 1 in one turn": [{ ...small, chunk: 4 }, callOf([1, 4, 4, 8], [8, 4, 1, 1])],
};

await describeOpened("tiles of conv2d", openGuardedDevice(), ({ device }) => {
  afterAll(() => device.destroy());

  test.each(Object.entries(cases))("%s", async (_name, [tile, call]) => {
    const [x, w] = [call.x, call.w].map(({ shape }, i) => uniform(3 + i, elementCount(shape as readonly number[])));
    const bytes = 4 * elementCount(call.y.shape as readonly number[]);
    const bound = { dispatch: convTile(tile, call), buffers: { x: "x", w: "w", y: "y" } };
    const contents = { x: bytesOf(x!), w: bytesOf(w!), y: bytes };
    const [y] = await runDispatches(device, [bound], contents, ["y"]);
    const got = new Float32Array(y!);
    const program = createProgram();
    const operands = [call.x, call.w].map(({ shape }, i) => program.input(`x${i}`, "f32", shape));
    program.output("y", program.conv2d(operands[0]!, operands[1]!, call.params));
    const plan = await (await reference().open()).compile(program);
    const want = (await plan.run({ x0: x!, x1: w! }).y!.data()) as Float32Array;
    expect(got.length).toBe(want.length);
    expect(Math.max(...want.map((value, i) => Math.abs(value - got[i]!)))).toBeLessThan(1e-5);
  });

  test("lanes that have 16 channels of 4 pixels, where there are no tiles", async () => {
    const call = callOf([1, 1, 1024, 512], [16, 1, 1, 1]);
    const { x, w, y: output, params } = call;
    const [dispatch] = kernelFrom(conv2d, 1).dispatches({ inputs: [x, w], output }, params);
    const [image, weights] = [uniform(3, 2 ** 19), uniform(4, 16)];
    const contents = { x: bytesOf(image), w: bytesOf(weights), y: 2 ** 25 };
    const bound = { dispatch: dispatch!, buffers: { x: "x", w: "w", y: "y" } };
    const [y] = await runDispatches(device, [bound], contents, ["y"]);
    const got = new Float32Array(y!);
    const isRight = (value: number, i: number): boolean => value === Math.fround(image[i % 2 ** 19]! * weights[i >> 19]!);
    expect(got.every(isRight)).toBe(true);
  });
});

test("devices have a tile that fits them for calls with enough products", () => {
  const small = convTileFor(callOf([1, 32, 16, 16], [8, 32, 3, 3]), guaranteed);
  const apart = convTileFor(callOf([1, 512, 64, 64], [512, 1, 3, 3], { groups: 512 }), guaranteed);
  expect([small, apart]).toEqual([undefined, undefined]);
  for (const size of [14, 28, 64, 128, 256]) {
    const call = callOf([1, 96, size, size], [256, 96, 3, 3], { padding: [1, 1], stride: [1, 2] });
    const tile = convTileFor(call, guaranteed)!;
    expect(convTileBytes(tile, call)).toBeLessThanOrEqual(guaranteed.workgroupBytes);
    expect(lanesOf(tile)).toBeLessThanOrEqual(guaranteed.maxLanes);
    expect(96 % tile.chunk).toBe(0);
  }
});
