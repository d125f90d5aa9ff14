import { elementAt } from "@centella/core/backend";
import { estimateMemory, GgufError, type GgufFile, type TensorInfo } from "@centella/gguf";
import { factories } from "./backends.ts";
import { formatSize } from "./progress.ts";

/** Bytes that a model takes on one backend. */
export interface BackendMemory {
  readonly backend: string;
  readonly contextLength: number;
  readonly weightBytes: number;
  readonly cacheBytes: number;
  readonly totalBytes: number;
}

/** `loadModel` takes no more without being asked to. */
const usualContext = 4096;

/**
 * Memory by backend and context length from the header alone, with one sequence in an f16 cache. Without `context`: the length that is
 * taken by default, and that of training. The reason in words where a file tells too little.
 */
export function memoryTable(file: GgufFile, context: number | undefined): readonly BackendMemory[] | string {
  try {
    const trained = estimateMemory(file).contextLength;
    const contexts = context === undefined ? [...new Set([Math.min(usualContext, trained), trained])] : [context];
    return factories.flatMap(({ name, weightBytes }) => {
      const ofTensor = ({ type, shape, bytes }: TensorInfo): number =>
        isWeight(type) ? (weightBytes?.({ dtype: type, shape }) ?? bytes) : bytes;
      return contexts.map((contextLength) => {
        const { sequences: _, ...estimate } = estimateMemory(file, { contextLength, weightBytes: ofTensor });
        return { backend: name, ...estimate };
      });
    });
  } catch (error) {
    if (!(error instanceof GgufError)) throw error;
    return error.message.replace(/^gguf: /, "");
  }
}

/** Integers and f64 are no weights of any model. */
function isWeight(type: TensorInfo["type"]): type is Exclude<TensorInfo["type"], "f64" | "i8" | "i16" | "i32" | "i64"> {
  return !["f64", "i8", "i16", "i32", "i64"].includes(type);
}

/** For a terminal: a line for each backend, a column for each context length. */
export function formatMemory(table: readonly BackendMemory[] | string): string {
  if (typeof table === "string") return `memory\n  not known: ${table}`;
  const contexts = [...new Set(table.map(({ contextLength }) => contextLength))];
  const rows = [...new Set(table.map(({ backend }) => backend))].map((backend) => {
    const cells = table.filter((one) => one.backend === backend);
    const totals = cells.map(({ totalBytes }) => formatSize(totalBytes).padStart(14));
    return `  ${backend.padEnd(10)} ${formatSize(elementAt(cells, 0).weightBytes).padStart(10)}${totals.join("")}`;
  });
  const heads = contexts.map((tokens) => `${tokens.toLocaleString("en-US")} tokens`.padStart(14));
  return ["memory: weights, and with an f16 cache", `  ${"".padEnd(10)} ${"weights".padStart(10)}${heads.join("")}`, ...rows].join("\n");
}
