import { basename } from "node:path";
import { measureLoad } from "../models/loadProcess.ts";
import { type Contestant, type Row, Skip } from "../runner/subject.ts";
import type { Suite } from "./suite.ts";

/** Time until a model is loaded and has computed one token, and peak memory. Each subject has its own process. */
export const load: Suite = {
  name: "load",
  summary: "load time and peak memory of models",
  rows({ modelCompetitors, models }) {
    return models.flatMap((file) => {
      const row = (
        id: string,
        metric: "ms" | "MiB",
        value: (measured: { readonly seconds: number; readonly peakBytes: number }) => number,
      ): Row => ({
        id: `${basename(file, ".gguf")} ${id}`,
        metric,
        bound: "none",
        work: {},
        data: "-",
        isLarge: false,
        isCold: true,
        contestants: modelCompetitors.map(
          ({ name, side, threads, isElsewhere }): Contestant => ({
            name,
            side,
            threads,
            async prepare() {
              if (isElsewhere === true) throw new Skip("computes in a browser's processes, whose start and memory are another matter");
              return {
                sample: async () => value(await measureLoad(name, file, threads ?? 1)),
                result: async () => undefined,
                dispose: () => undefined,
              };
            },
          }),
        ),
        verify: () => undefined,
      });
      return [row("load + 1 token", "ms", ({ seconds }) => seconds), row("peak memory", "MiB", ({ peakBytes }) => peakBytes)];
    });
  },
};
