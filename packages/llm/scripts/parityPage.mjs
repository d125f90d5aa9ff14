// The page docs/parity.md, by the distances in docs/parity.json; see parity.mjs.
import { draftArchitectures, refusedArchitectures, supportedArchitectures } from "../src/index.ts";

/** Columns of the page in order: of a backend and a type of weights, on a device. */
const order = ["reference", "wasm", "webgpu", "cuda"];

const cell = (value) => (value === undefined ? "–" : value.toExponential(1));
const line = (cells) => `| ${cells.join(" | ")} |`;
const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** What the page says of a column. */
function headingOf({ backend, device, type }) {
  return device === undefined ? `${backend} ${type}` : `${backend} ${type}, ${device}`;
}

/** The columns with the greatest distance of each architecture. */
function columnsOf({ models, runs }) {
  const sorted = runs.toSorted((a, b) => order.indexOf(a.backend) - order.indexOf(b.backend));
  return sorted.map((run) => {
    const greatest = new Map();
    for (const [name, distance] of Object.entries(run.distances)) {
      const architecture = models[name];
      if (architecture !== undefined) greatest.set(architecture, Math.max(distance, greatest.get(architecture) ?? 0));
    }
    return { ...run, heading: headingOf(run), greatest };
  });
}

/** Sentences about cells that are empty, none if there are none. */
function emptyCells(columns) {
  const sentences = columns.flatMap(({ heading, greatest, empty }) => {
    const missing = supportedArchitectures.filter((name) => !greatest.has(name));
    if (missing.length === 0) return [];
    const names = missing.length > 12 ? count(missing.length, "architecture") : missing.map((name) => `\`${name}\``).join(", ");
    return [`- **${heading}**: ${names}. ${empty ?? "No run of this column has computed them."}`];
  });
  return sentences.length === 0 ? [] : ["", "Empty cells (–):", "", ...sentences];
}

const introduction = [
  "A distance is `‖ours − llama.cpp's‖ / ‖llama.cpp's‖` over the logits of a prompt, the embedding of an encoder or the log probabilities of a",
  "decoder, and the greatest one of the architecture's models. All models are tiny and have random weights. The cache is f32, and what ggml's CPU code",
  'rounds is rounded as there (`activations: "ggml"`): activations, and what GELU is taken of.',
  "",
  "Quantized weights are those of `quantizeGguf`, with the recipe's types for each tensor. Most of these models have rows of 32 elements, for which",
  "Q4_K_M is a mix of Q5_0 and Q8_0. GPU backends compute F32 weights here. [parity-types.md](parity-types.md) has distances by block type.",
  "",
  "**What computed each column** is in the table below. SwiftShader is WebGPU on the CPU, without a GPU: it runs the same WGSL. The interpreter of",
  "PTX runs CUDA's kernels on the CPU. Columns with the name of a GPU are from `packages/cli/scripts/checkDevice.mjs` on that device.",
  "",
  "With quantized weights, distances are about 1e-7, or 1e-4 to 1e-2. In the latter models, an activation is halfway between two 8-bit codes, or between",
  "two f16 values where rows are no multiple of 32, and the last bit of an f32 decides which one is taken. The scalar reference and WASM add in another",
  "order, and differ as much from each other on such models, as on `llama` and `rwkv6`.",
  "",
  "llama.cpp computes the sparse attention of `minimax-m3` only with fused attention, for which it rounds keys and values of dense layers to f16. In files",
  "with both kinds of layers, the logits of 200 tokens differ by 1e-3, and where the rounding changes the order of two blocks by up to 0.2. In files",
  "of sparse layers alone, the distance of the same text is 4e-7.",
];

/** The page's text. */
export async function parityPage(data) {
  const columns = columnsOf(data);
  const headings = columns.map(({ heading }) => heading);
  const architectures = supportedArchitectures.toSorted();
  const modelsOf = (name) => Object.values(data.models).filter((architecture) => architecture === name).length;
  const greatest = ({ greatest }) => Math.max(...greatest.values());
  const refused = await refusedArchitectures();
  return [
    "# Distance to llama.cpp",
    "",
    "Written by `node --conditions=@centella/source packages/llm/scripts/parity.mjs` from `parity.json`, where each run leaves its distances.",
    `Compared with ${data.oracle}.`,
    "",
    ...introduction,
    "",
    line(["column", "architectures", "greatest distance", "last run", "commit"]),
    line(["---", "---:", "---:", "---", "---"]),
    ...columns.map((column) =>
      line([column.heading, `${column.greatest.size} of ${architectures.length}`, cell(greatest(column)), column.date, column.commit]),
    ),
    ...emptyCells(columns),
    "",
    line(["architecture", "models", ...headings]),
    line(["---", "---:", ...headings.map(() => "---:")]),
    ...architectures.map((name) => line([`\`${name}\``, modelsOf(name), ...columns.map(({ greatest }) => cell(greatest.get(name)))])),
    "",
    "## llama.cpp's own models",
    "",
    "llama.cpp's architecture test writes 127 tiny models of F32 weights, with every tensor that it reads. 122 of them are computed on every backend.",
    "The furthest from its logits is at 4.4e-5 on WASM (`packages/llm/scripts/archDistances.mjs`, 2026-11-23), at 3.9e-5 on CUDA and at 2.6e-4 on",
    "WebGPU (`packages/cli/scripts/checkDevice.mjs --archs`, one H200, 2026-11-23). Texts two at a time, of forks and of restored sessions are those",
    "that each of them computes alone on WASM (`packages/llm/scripts/archTexts.mjs`, 2026-11-23). The other five models cannot be loaded:",
    "two that speak, `refact` with experts, `hrm_text` with scales for blocks that share their weights, and `minicpm3` whose keys are rotated as a whole.",
    "",
    "## Architectures that draft for another model",
    "",
    `The logits of ${draftArchitectures.map((name) => `\`${name}\``).join(", ")} are within 1e-4 of llama.cpp's, for the positions of`,
    "a text and for the tokens that they then draft, one by one or at once (`packages/llm/test/heads.test.ts`). On an H200 they are within 1e-5 on",
    "CUDA and 3e-4 on WebGPU.",
    "",
    "## Architectures of llama.cpp that are refused",
    "",
    "| architecture | reason |",
    "| --- | --- |",
    ...[...refused].map(([name, reason]) => line([`\`${name}\``, reason])),
    "",
  ].join("\n");
}
