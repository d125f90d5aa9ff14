import { expect, test } from "vitest";
import { hopper } from "../../src/kernels/shared/gpu.ts";
import { kernelTexts } from "./kernelTexts.ts";
import { overtakenLoads } from "./overtakenLoads.ts";

/** Instructions of a text that reads a slot and then has it filled again. */
function refilled(barrier: string, between = ""): string {
  return [
    "mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r9], %r8;",
    "ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%r0+0];",
    "ld.shared.u32 %r5, [%r0+512];",
    between,
    "or.b32 %r10, %r2, %r5;",
    "and.b32 %r11, %r10, 0;",
    "add.u32 %r12, %r9, %r11;",
    `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%l1], 512, [${barrier}];`,
  ].join("\n");
}

test("a copy that does not depend on loads may overtake them", () => {
  expect(overtakenLoads(refilled("%r9"))).toHaveLength(2);
  expect(overtakenLoads(refilled("%r12"))).toEqual([]);
  expect(overtakenLoads(refilled("%r9", "fence.proxy.async.shared::cta;"))).toEqual([]);
});

test("no kernel has its slots of weights filled before it has read them", () => {
  const texts = [...kernelTexts(hopper)].filter(([ptx]) => ptx.includes("cp.async.bulk.shared::cluster.global"));
  expect(texts.length).toBeGreaterThan(50);
  const overtaken = texts.flatMap(([ptx, { name }]) => overtakenLoads(ptx).map((load) => `${name}: ${load}`));
  expect(overtaken).toEqual([]);
});
