import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateModel } from "../model/generate.ts";
import { measureLoad } from "../models/loadProcess.ts";
import { exactly, type Figure } from "./budget.ts";

/** Peak memory of loading a model relative to the size of its file, as the system counts it. */
export function memoryFigure(backend: string): Figure {
  return {
    name: `${backend} peak memory of loading a Q8_0 model over its file`,
    unit: "×",
    backend,
    async measure() {
      const folder = mkdtempSync(join(tmpdir(), "centella-memory-"));
      try {
        const file = join(folder, "model.gguf");
        await generateModel({ shape: "smollm2-135m", type: "Q8_0", out: file, seed: 1 });
        const { peakBytes, startBytes } = await measureLoad(backend, file, 1);
        return exactly((peakBytes - startBytes) / statSync(file).size);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}
