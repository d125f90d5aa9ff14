import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { elementAt } from "@centella/core/backend";
import { firstOfEach } from "@centella/test-devices";
import { describe, expect, test } from "vitest";
import { isWholeProgram, type KernelSource } from "../../src/device/modules.ts";
import { type Gpu, hopper } from "../../src/kernels/shared/gpu.ts";
import { type Assembled, assemble, assembler, complaint } from "./assemble.ts";
import { type KernelUse, kernelTexts } from "./kernelTexts.ts";
import { budgetedRelease, passedBudget } from "./registerBudgets.ts";

const ampere: Gpu = { target: "sm_80", multiprocessors: 108, sharedBytes: 163 * 1024, dependentLaunch: false };

/** Devices, the architectures that their texts are assembled for, and whether samples have each op and type or each family of kernels. */
const devices: readonly { readonly arch: string; readonly gpu: Gpu; readonly sample: "types" | "families" }[] = [
  { arch: "sm_80", gpu: ampere, sample: "families" },
  { arch: "sm_86", gpu: { ...ampere, multiprocessors: 84, sharedBytes: 99 * 1024 }, sample: "families" },
  { arch: "sm_90", gpu: { ...hopper, target: "sm_90", multiprocessors: 148 }, sample: "families" },
  { arch: "sm_90a", gpu: hopper, sample: "types" },
];
const cacheFile = fileURLToPath(new URL("../../node_modules/.cache/assembled.json", import.meta.url));

if (assembler === undefined) test.skip("every kernel assembles (no ptxas on this machine)", () => undefined);
else {
  describe(`ptxas (${assembler})`, () => {
    for (const { arch, gpu, sample } of devices) {
      const every = kernelTexts(gpu);
      const isFirst = firstOfEach();
      const keyOf = ({ name, call }: KernelUse): string => {
        if (call === undefined) return name;
        const { op, inputs, params } = call;
        return `${op.name} ${inputs.map((spec) => spec?.dtype)} ${"activations" in params ? params.activations : ""}`;
      };
      // Launches that take the most registers, beside the first one of their call.
      const largeEntry = ({ entry }: KernelSource): string | undefined =>
        /^(attentionMany|decodeUnits|matmulMany|matmulMixed|expertSlots|sample_choose)/.exec(entry)?.[1];
      const familyOf = ({ launch }: KernelUse): string => elementAt(launch.entry.split("_"), 0);
      const texts = [...every.values()].filter((use) =>
        isFirst(sample === "types" ? `${keyOf(use)} ${largeEntry(use.launch)}` : familyOf(use)),
      );
      if (texts.length < every.size)
        // ptxas takes up to some seconds for each. Nothing is left out in silence: the run of the whole grid assembles these.
        test.skip(`${every.size - texts.length} more kernels assemble for ${arch} (not in the sample)`, () => undefined);
      test(`all ${texts.length} kernels assemble for ${arch}, without spills or warnings, and within their budgets`, {
        timeout: 1_800_000,
      }, async () => {
        expect(await assembleAll(texts, arch, gpu)).toEqual([]);
      });
    }

    test("registers and shared memory over a budget are noticed", () => {
      const launch = { ptx: "", entry: "decodeUnits_q4_K", sharedBytes: 86_016 };
      const assembled = { said: undefined, registers: 127, sharedBytes: 0 };
      expect(passedBudget(launch, assembled, "sm_80")).toBeUndefined();
      const most = "decodeUnits_q4_K for sm_80: expected at most 127 registers and 86016 bytes of shared memory";
      expect(passedBudget(launch, { ...assembled, registers: 128 }, "sm_80")).toBe(
        `${most}, got 128 registers and 86016 bytes of shared memory`,
      );
      expect(passedBudget(launch, { ...assembled, sharedBytes: 4 }, "sm_80")).toBe(
        `${most}, got 127 registers and 86020 bytes of shared memory`,
      );
    });

    test("a wrong kernel is noticed", async () => {
      const { said } = await assemble({ ptx: "add.f32 %f0, %f1;", entry: "k", sharedBytes: 0 }, "sm_80");
      expect(said).toMatch(/error|fatal/);
    });
  });
}

/** What ptxas says against kernels, and budgets that they pass. What it made of texts that it had nothing against is remembered by their hash. */
async function assembleAll(uses: readonly KernelUse[], arch: string, { target }: Gpu): Promise<readonly string[]> {
  const known = new Map<string, Assembled>(JSON.parse(await readFile(cacheFile, "utf8").catch(() => "[]")));
  const keyOf = (source: KernelSource): string => {
    const text = `${assembler} ${complaint.source} ${arch} ${isWholeProgram(source)} ${source.ptx}`;
    return createHash("sha256").update(text).digest("base64");
  };
  const hasBudgets = assembler?.includes(budgetedRelease) === true;
  const pending = [...uses];
  const complaints: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { name, launch } = next;
      const assembled = known.get(keyOf(launch)) ?? (await assemble(launch, arch));
      if (assembled.said === undefined) known.set(keyOf(launch), assembled);
      const reasons = [assembled.said, hasBudgets ? passedBudget(launch, assembled, target) : undefined];
      complaints.push(...reasons.flatMap((reason) => (reason === undefined ? [] : [`${name}: ${reason}`])));
    }
  };
  await Promise.all([worker(), worker()]);
  await mkdir(join(cacheFile, ".."), { recursive: true });
  await writeFile(cacheFile, JSON.stringify([...known]));
  return complaints;
}
