import * as quant from "@centella/quant";
import { test } from "vitest";
import { callExports } from "./harness.ts";
import { whole } from "./values.ts";

const row = new Float32Array(256).map((_, i) => Math.sin(i));
const blocks = quant.quantize("q8_0", row);
const halves = new Uint16Array(4);
const floats = new Float32Array(4);

test("quant: wrong arguments are typed errors", async () => {
  await callExports("quant", quant, {
    activationSumErrors: ["q4_1", row],
    bfloatRowToFloat: [halves, floats],
    bfloatToFloat: [1],
    blockLayout: ["q8_0"],
    blockMinima: ["q4_1", quant.quantize("q4_1", row)],
    codebook: ["iq4_nl"],
    dequantize: ["q8_0", blocks, new Float32Array(256)],
    floatRowToBfloat: [floats, halves],
    floatRowToHalf: [floats, halves],
    floatToBfloat: [1.5],
    floatToHalf: [1.5],
    halfRowToFloat: [halves, floats],
    halfToFloat: [1],
    isBlockType: ["q8_0"],
    isDequantizable: ["q8_0"],
    isGgmlType: ["q8_0"],
    isHalf: ["bf16"],
    isQuantizable: ["q8_0"],
    quantize: ["q8_0", row, new Uint8Array(blocks.length), { imatrix: new Float32Array(256).fill(1) }],
    quantizeRow: ["q8_0", row, new Uint8Array(blocks.length), "reference"],
    recode: ["iq2_xs", new Uint8Array(quant.blockLayout("iq2_xs").blockBytes)],
    recodedForm: ["iq2_xs"],
    roundActivations: ["q8_0", row, new Float32Array(256)],
    rowBytes: ["q8_0", 256],
    tensorBytes: ["q8_0", [256, 2]],
    toPlanes: ["q8_0", blocks],
    fromPlanes: ["q8_0", whole(quant.toPlanes("q8_0", blocks))],
    dequantizePlanes: ["q8_0", whole(quant.toPlanes("q8_0", blocks)), new Float32Array(256)],
    planeLayout: ["q8_0"],
    toSteps: ["q8_0", blocks, new Int8Array(256), new Float32Array(8)],
    typeById: [8],
    withdrawnTypeById: [4],
  });
});
