import { writeFile } from "node:fs/promises";
import { loadModel } from "@centella/llm";
import { openRuntime } from "../backends.ts";
import type { Command } from "../command.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { type OptionSpec, parseOptions, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const ids: OptionSpec<readonly number[]> = {
  value: "1,2,3",
  help: "token ids, in order; no BOS is added",
  parse(given, name) {
    const parsed = given.split(",").map(Number);
    if (given.trim() === "" || !parsed.every((id) => Number.isSafeInteger(id) && id >= 0)) {
      throw new UsageError(`--${name}: expected token ids separated by commas, got ${given}`);
    }
    return parsed;
  },
};

const options = { ids, out: text("OUT.f32", "file for the logits: row-major little-endian f32, a row per id"), ...modelOptions };

/** `centella logits FILE --ids … --out …`: logits of every position, for comparing with other engines. */
export const logits: Command = {
  usage: "logits FILE --ids 1,2,3 --out OUT.f32",
  summary: "write the logits of every position",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, ...rest] = positionals;
    if (path === undefined || rest.length > 0) throw new UsageError(`logits: expected one FILE, got ${positionals.length}`);
    if (values.ids === undefined) throw new UsageError("logits: expected --ids, got none");
    if (values.out === undefined) throw new UsageError("logits: expected --out, got none");
    const file = await modelPath(path, signal, { isQuiet: false });
    const runtime = await openRuntime(values);
    try {
      const model = await loadModel(file, { runtime, signal, ...loadOptions(values) });
      const rows = await model.logits(values.ids, { signal });
      await writeFile(values.out, rows);
      console.error(
        `centella: ${values.ids.length} × ${rows.length / values.ids.length} logits in ${values.out}, computed on ${model.info.backend}`,
      );
    } finally {
      await runtime.dispose();
    }
  },
};
