import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { elementAt } from "@centella/quant/checks";

import { build, type Plugin } from "esbuild";
import { appFolder, repositoryFolder } from "../receipts/store.ts";
import { exactly, type Figure } from "./budget.ts";

/** Packages that an app installs to generate text on the CPU. */
const installed = ["quant", "core", "gguf", "llm", "backend-wasm"];

/** KiB of every package as npm would download it, what an app installs, and KiB of pages that generate text on the CPU. */
export function sizeFigures(): readonly Figure[] {
  return [
    ...publishedPackages().map(
      (folder): Figure => ({ name: `tarball of ${folder}`, unit: "KiB", measure: async () => exactly(packed(folder).bytes / 1024) }),
    ),
    { name: "files that llm and backend-wasm install", unit: "files", measure: async () => exactly(sumInstalled("files")) },
    { name: "size of what llm and backend-wasm install", unit: "KiB", measure: async () => exactly(sumInstalled("unpackedBytes") / 1024) },
    ...Object.entries(pages).map(
      ([what, { absent, sync = false }]): Figure => ({
        name: `JavaScript of a page that ${what} on the CPU, minified and gzipped`,
        unit: "KiB",
        measure: async () => exactly((await pageBytes(new Set(absent), sync)) / 1024),
      }),
    ),
    {
      name: "JavaScript that constrains tokens by a JSON Schema, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await bundledBytes('export { compile, fromJsonSchema, vocabulary } from "@centella/grammar";')) / 1024),
    },
    {
      name: "JavaScript that answers requests, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await handlerBytes()) / 1024),
    },
    {
      name: "JavaScript of a provider of the AI SDK, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await bundledBytes('export { createCentella } from "@centella/ai-sdk";', withoutEngine)) / 1024),
    },
    {
      name: "JavaScript of the hooks for React, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await bundledBytes('export * from "@centella/react";', withoutEngine)) / 1024),
    },
    {
      name: "JavaScript of a service worker that forwards requests, minified and gzipped",
      unit: "KiB",
      measure: async () => exactly((await bundledBytes('export { forwardRequests } from "@centella/server/service-worker";')) / 1024),
    },
  ];
}

function publishedPackages(): readonly string[] {
  const packages = join(repositoryFolder, "packages");
  return readdirSync(packages).filter((folder) => {
    const manifest = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8")) as { readonly private?: boolean };
    return manifest.private !== true;
  });
}

/** A package's tarball and its contents. */
interface Packed {
  readonly bytes: number;
  readonly files: number;
  readonly unpackedBytes: number;
}

const packedBefore = new Map<string, Packed>();

function packed(folder: string): Packed {
  const known = packedBefore.get(folder) ?? pack(folder);
  packedBefore.set(folder, known);
  return known;
}

function pack(folder: string): Packed {
  const to = mkdtempSync(join(tmpdir(), "centella-size-"));
  try {
    execFileSync("pnpm", ["pack", "--pack-destination", to], { cwd: join(repositoryFolder, "packages", folder), stdio: "ignore" });
    const tarball = join(to, elementAt(readdirSync(to), 0));
    execFileSync("tar", ["-xzf", tarball, "-C", to]);
    const files = readdirSync(join(to, "package"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const sizes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
    return { bytes: statSync(tarball).size, files: sizes.length, unpackedBytes: sizes.reduce((sum, size) => sum + size, 0) };
  } finally {
    rmSync(to, { recursive: true });
  }
}

function sumInstalled(count: "files" | "unpackedBytes"): number {
  return installed.reduce((sum, folder) => sum + packed(folder)[count], 0);
}

/**
 * Modules that a page fetches on first use and that generating text never uses, regardless of the model: calibration, thresholds of the
 * app's own, GPUs, layers on two backends, images, LoRA adapters, the context "auto", moving sessions, prompts that fill the context,
 * gaps in texts, embeddings, perplexity, formats of answers, tools, limits of reasoning, types of validation libraries, sampling on the host, log
 * probabilities, prompt lookup, draft models, heads and blocks that draft, masked tokens that are filled in, DRY and Mirostat, blocks that are quantized or
 * multiplied without rounding activations, hosts that compile nothing, the scalar reference, models that are refused, requests that log
 * in, reading by ranges or from a disk, explanations of a server's refusal, profiles, kernels of earlier processes, and weights that are read back from memory.
 * Storing a model is a separate figure, because a model that the user has chosen is not stored.
 */
const otherUses = [
  "adaptedPlan.js",
  "adapters.js",
  "answerConstraint.js",
  "arrayKernels.js",
  "autoContext.js",
  "cacheTransfer.js",
  "calibrate.js",
  "checkThresholds.js",
  "cors.js",
  "credentials.js",
  "deferredChoices.js",
  "dflash.js",
  "diffusionLoop.js",
  "diskStorage.js",
  "dry.js",
  "eagle3.js",
  "embed.js",
  "exactPath.js",
  "fingerprint.js",
  "gap.js",
  "gemma4Assistant.js",
  "httpSource.js",
  "keptKernels.js",
  "loadDraft.js",
  "locateRemote.js",
  "logprobs.js",
  "lookUp.js",
  "mirostat.js",
  "modelDrafter.js",
  "nextn.js",
  "nextnDraft.js",
  "ollamaRegistry.js",
  "openChain.js",
  "openDeferred.js",
  "openRankHead.js",
  "opfsFiles.js",
  "pathSource.js",
  "perplexity.js",
  "placeOnGpu.js",
  "precompiled.js",
  "prepareRuns.js",
  "profile.js",
  "promptLookup.js",
  "quantize.js",
  "readBack.js",
  "readF32.js",
  "reasoningBudget.js",
  "reasoningControl.js",
  "referencePlan.js",
  "refusals.js",
  "rerank.js",
  "savedSession.js",
  "sha256Wasm.js",
  "shortenPrompt.js",
  "splitPlan.js",
  "standardSchema.js",
  "timeSteps.js",
  "toolCalls.js",
  "visionKernels.js",
  "writeGuards.js",
];

/** Families of models. A page loads its model's family; the figures are for Llama's. */
const otherFamilies = readdirSync(join(repositoryFolder, "packages/llm/src/models/families"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && file !== "llama.ts")
  .map((file) => basename(file).replace(/\.ts$/, ".js"));

/** Families with the most blocks of their own: latent attention and experts, state spaces. A page loads one family. */
const largestFamilies = ["deepseek2.js", "jamba.js"];

/**
 * Modules that only some models need: families other than Llama, weights that are not blocks or whose types lack kernels, files in
 * parts, experts, recurrent states, encoders that read prompts, embeddings of n-grams, memory with 64-bit addresses, tokenizers other than byte-pair encoding
 * (the largest), answers in the Harmony format, sampling that the file recommends.
 */
const otherModels = [
  ...otherFamilies,
  "blockCodecs.js",
  "copyKernels.js",
  "encodedInputs.js",
  "encodedPrompt.js",
  "experts.js",
  "floatPath.js",
  "harmony.js",
  "joinParts.js",
  "longestMatch.js",
  "modelSampling.js",
  "moeKernels.js",
  "ngramInputs.js",
  "recurrentStateTransfer.js",
  "reductionKernels.js",
  "regexPreTokenizers.js",
  "reverseUnigram.js",
  "sentencePiece.js",
  "ssmKernels.js",
  "swapTensorBytes.js",
  "unigram.js",
  "widen.js",
  "wordPiece.js",
];

/** Modules that download a model from a URL or a hub and store it. */
const storing = ["locateRemote.js", "opfsFiles.js", "sha256Wasm.js"];

/** Modules that synchronous calls may need at any time. */
const callable = ["copyKernels.js", "floatPath.js", "arrayKernels.js", "reductionKernels.js"];

/** Modules that a kind of page does not fetch, and whether the page may also make synchronous op calls. */
interface Page {
  readonly absent: readonly string[];
  readonly sync?: boolean;
}

/**
 * Kinds of pages. Only the named modules are left out: any other dynamic import counts, so that code which generating text needs cannot
 * escape the budget by being loaded late.
 */
const pages: Readonly<Record<string, Page>> = {
  "completes text": { absent: [...otherUses, ...otherModels, "chatTemplate.js"] },
  "completes text, and may compute within a call,": {
    absent: [...otherUses, ...otherModels, "chatTemplate.js"].filter((name) => !callable.includes(name)),
    sync: true,
  },
  "completes text by a model that it stores": {
    absent: [...otherUses, ...otherModels, "chatTemplate.js"].filter((name) => !storing.includes(name)),
  },
  chats: { absent: [...otherUses, ...otherModels] },
  "chats with any model": { absent: [...otherUses, ...otherFamilies.filter((name) => !largestFamilies.includes(name))] },
};

/** Leaves modules out, except statically imported ones, and records which ones it met. */
function leaveOut(absent: ReadonlySet<string>, met: Set<string>): Plugin {
  return {
    name: "on demand",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.?\// }, ({ kind, path }) => {
        const name = basename(path);
        if (kind !== "dynamic-import" || !absent.has(name)) return undefined;
        met.add(name);
        return { path, external: true };
      });
    },
  };
}

/** Size of the download of such a page for a model of Llama's family. */
async function pageBytes(absent: ReadonlySet<string>, sync: boolean): Promise<number> {
  const contents = `
    import { createRuntime } from "@centella/core";
    import { wasm } from "@centella/backend-wasm";
    import { loadModel } from "@centella/llm";
    export const load = async (source) => loadModel(source, { runtime: await createRuntime({ backends: [wasm({ sync: ${sync} })] }) });
  `;
  const met = new Set<string>();
  const bytes = await bundledBytes(contents, leaveOut(absent, met));
  const gone = [...absent].filter((name) => !met.has(name));
  if (gone.length > 0) throw new Error(`page: expected dynamic imports of ${gone.join(", ")}, got none; take them off the list`);
  return bytes;
}

/** Size of a handler, without what is loaded on demand: the description of its paths, and what only servers with slots or a library do. */
async function handlerBytes(): Promise<number> {
  return bundledBytes(
    'export { createHandler } from "@centella/server";',
    withoutEngine,
    leaveOut(new Set(["jsonSchema.js", "slotActions.js", "download.js"]), new Set()),
  );
}

/** Leaves out the engine, the AI SDK and React, which a page or process that uses the module has anyway. */
const withoutEngine: Plugin = {
  name: "without the engine",
  setup({ onResolve }) {
    onResolve({ filter: /^(@centella\/(core|llm|quant)|@ai-sdk\/provider|react$)/ }, ({ path }) => ({ path, external: true }));
  },
};

/** Size of the download of a page with this module: the files that esbuild writes, each compressed. */
async function bundledBytes(contents: string, ...plugins: readonly Plugin[]): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: appFolder },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    splitting: true,
    outdir: "page",
    plugins: [...plugins],
    write: false,
    logLevel: "silent",
  });
  return outputFiles.reduce((sum, { contents: bytes }) => sum + gzipSync(bytes, { level: 9 }).length, 0);
}
