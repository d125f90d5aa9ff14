import { text as readAll } from "node:stream/consumers";
import { loadModel } from "@centella/llm";
import { openRuntime } from "../backends.ts";
import type { Command } from "../command.ts";
import { modelPath } from "../modelFile.ts";
import { loadOptions, modelOptions } from "../modelOptions.ts";
import { choice, flag, parseOptions } from "../options.ts";
import { UsageError } from "../usageError.ts";

const options = {
  pooling: choice(["mean", "cls", "last"], "which states make the vector (default: as the file says, else mean)"),
  "no-normalize": flag("leave the vectors as long as they are"),
  ...modelOptions,
};

/** `centella embed FILE [TEXT…]`: vectors of texts. */
export const embed: Command = {
  usage: "embed FILE [TEXT…]",
  summary: "print a vector for each text",
  details: "Without a TEXT, each line of stdin is one. Prints one JSON array of numbers a line.",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [given, ...texts] = positionals;
    if (given === undefined) throw new UsageError("embed: expected a FILE, got none");
    if (texts.length === 0 && process.stdin.isTTY)
      throw new UsageError("embed: expected texts, got none; give them behind FILE or on stdin");
    const loading = loadOptions(values);
    const inputs = texts.length > 0 ? texts : (await readAll(process.stdin)).split(/\r?\n/).filter((line) => line !== "");
    const path = await modelPath(given, signal, { isQuiet: false });
    const runtime = await openRuntime(values);
    try {
      const model = await loadModel(path, { runtime, signal, ...loading });
      const vectors = await model.embed(inputs, { signal, pooling: values.pooling, normalize: values["no-normalize"] !== true });
      for (const vector of vectors) console.log(JSON.stringify([...vector]));
    } finally {
      await runtime.dispose();
    }
  },
};
