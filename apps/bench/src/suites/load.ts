import { basename } from "node:path";
import { measureLoad } from "../models/loadProcess.ts";
import type { Contestant, Row } from "../runner/subject.ts";
import type { Suite } from "./suite.ts";

/** Time until a model is loaded and has computed one token, and the process's peak memory: each in a process of its own. */
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
        contestants: modelCompetitors.map(
          ({ name, side, threads }): Contestant => ({
            name,
            side,
            threads,
            prepare: async () => ({
              sample: async () => value(await measureLoad(name, file)),
              result: async () => undefined,
              dispose: () => undefined,
            }),
          }),
        ),
        verify: () => undefined,
      });
      return [row("load + 1 token", "ms", ({ seconds }) => seconds), row("peak memory", "MiB", ({ peakBytes }) => peakBytes)];
    });
  },
};
