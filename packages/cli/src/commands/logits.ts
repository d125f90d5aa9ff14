import { writeWholeFile } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { flag, type OptionSpec, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

const ids: OptionSpec<readonly number[]> = {
  value: "1,2,3",
  help: "token ids, in order; no BOS is added",
  parse(given, name) {
    const parsed = given.split(",").map(Number);
    if (given.trim() === "" || !parsed.every((id) => Number.isSafeInteger(id) && id >= 0))
      throw new UsageError(`--${name}: expected token ids separated by commas, got ${given}`);
    return parsed;
  },
};

/** `centella logits FILE --ids … --out …`: logits of every position, for comparing with other engines. */
export const logits: Command = command({
  name: "logits",
  arguments: "FILE --ids 1,2,3 --out OUT.f32",
  summary: "write the logits of every position",
  options: {
    ids,
    out: text("OUT.f32", "file for the logits: row-major little-endian f32, a row per id", { short: "o" }),
    json: flag("print one JSON object about the file"),
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file] = requireArguments("logits", ["FILE"], withFile(values, positionals));
    const { ids: given, out } = values;
    if (given === undefined) throw new UsageError("logits: expected --ids, got none");
    if (out === undefined) throw new UsageError("logits: expected --out, got none");
    await withModel(file, values, context, async ({ model }) => {
      const rows = await model.logits(given, { signal: context.signal });
      await writeWholeFile(out, (sink) => sink.write(new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength)), { overwrite: true });
      const [count, width] = [given.length, rows.length / given.length];
      const { backend } = model.info;
      if (values.json) context.output.print(JSON.stringify({ file: out, shape: [count, width], backend }));
      else context.output.warn(`centella: ${count} × ${width} logits in ${out}, computed on ${backend}`);
    });
  },
});
