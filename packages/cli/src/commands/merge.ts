import { contentOf, mergedContent, writeGguf } from "@centella/gguf";
import type { Command } from "../command.ts";
import { writeFile } from "../fileSink.ts";
import { openModel } from "../modelFile.ts";
import { flag, parseOptions } from "../options.ts";
import { ProgressBar } from "../progress.ts";
import { UsageError } from "../usageError.ts";

const options = { json: flag("print one JSON object") };

/** `centella merge FIRST OUT`: one file of the parts of a split one. */
export const merge: Command = {
  usage: "merge FIRST OUT",
  summary: "merge the parts of a split GGUF file, given the first",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, out, ...rest] = positionals;
    if (path === undefined || out === undefined || rest.length > 0)
      throw new UsageError(`merge: expected FIRST and OUT, got ${positionals.length} arguments`);
    await using file = await openModel(path, signal);
    const bar = new ProgressBar(out, { isQuiet: values.json === true });
    let bytes = 0;
    await writeFile(out, async (sink) => {
      bytes = await writeGguf(sink, mergedContent(contentOf(file)), { signal, onProgress: (done, total) => bar.update(done, total) });
    });
    bar.end();
    console.log(values.json ? JSON.stringify({ file: out, bytes, parts: file.parts, tensors: file.tensors.length }) : out);
  },
};
