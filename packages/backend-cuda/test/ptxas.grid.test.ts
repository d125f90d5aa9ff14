import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { firstOfEach } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { type Gpu, hopper } from "../src/kernels/shared/gpu.ts";
import { assemble, assembler, complaint } from "./assemble.ts";
import { type Call, kernelTexts } from "./kernelTexts.ts";

const ampere: Gpu = { target: "sm_80", multiprocessors: 108, sharedBytes: 163 * 1024, dependentLaunch: false };
const gpus = [ampere, hopper];
const cacheFile = fileURLToPath(new URL("../node_modules/.cache/ptxas.json", import.meta.url));

if (assembler === undefined) test.skip("every kernel assembles (no ptxas on this machine)", () => undefined);
else {
  describe(`ptxas (${assembler})`, () => {
    for (const gpu of gpus) {
      const { target } = gpu;
      const every = kernelTexts(gpu);
      const isFirst = firstOfEach();
      const keyOf = ({ op, inputs, params }: Call): string =>
        `${op.name} ${inputs.map((spec) => spec?.dtype)} ${"activations" in params ? params.activations : ""}`;
      // Launches that take the most registers, beside the first one of their call.
      const largeEntry = (ptx: string): string | undefined =>
        /\.entry (decodeUnits|matmulMany|matmulMixed|expertSlots|sample_choose)/.exec(ptx)?.[1];
      const texts = new Map([...every].filter(([ptx, each]) => isFirst(`${keyOf(each)} ${largeEntry(ptx)}`)));
      if (texts.size < every.size)
        test.skip(`${every.size - texts.size} more kernels assemble for ${target} (not in the sample)`, () => undefined);
      test(`all ${texts.size} kernels assemble for ${target}, without spills or warnings`, { timeout: 600_000 }, async () => {
        expect(await assembleAll(texts, target)).toEqual([]);
      });
    }

    test("a wrong kernel is noticed", async () => {
      expect(await assemble("add.f32 %f0, %f1;", "sm_80")).toMatch(/error|fatal/);
    });
  });
}

/** What ptxas says against the kernels. What it had nothing against before is remembered by the text's hash. */
async function assembleAll(texts: ReadonlyMap<string, Call>, target: string): Promise<readonly string[]> {
  const good = new Set<string>(JSON.parse(await readFile(cacheFile, "utf8").catch(() => "[]")));
  const keyOf = (ptx: string): string => createHash("sha256").update(`${assembler} ${complaint.source} ${target} ${ptx}`).digest("base64");
  const pending = [...texts].filter(([ptx]) => !good.has(keyOf(ptx)));
  const complaints: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [ptx, { name }] = next;
      const said = await assemble(ptx, target);
      if (said === undefined) good.add(keyOf(ptx));
      else complaints.push(`${name}: ${said}`);
    }
  };
  await Promise.all([worker(), worker()]);
  await mkdir(join(cacheFile, ".."), { recursive: true });
  await writeFile(cacheFile, JSON.stringify([...good]));
  return complaints;
}
