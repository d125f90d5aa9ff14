import { contentOf, mergedContent, writeGguf } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { writeFile } from "../fileSink.ts";
import { openModel } from "../modelFile.ts";
import { flag } from "../options.ts";
import { ProgressBar } from "../progress.ts";

/** `centella merge FIRST OUT`: one file of the parts of a split one. */
export const merge: Command = command({
  name: "merge",
  arguments: "FIRST OUT",
  summary: "merge the parts of a split GGUF file, given the first",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, { signal, output }) {
    const [path, out] = requireArguments("merge", ["FIRST", "OUT"], positionals);
    await using file = await openModel(path, signal, output);
    const bar = new ProgressBar(`writing ${out}`, output);
    let bytes = 0;
    await writeFile(out, async (sink) => {
      bytes = await writeGguf(sink, mergedContent(contentOf(file)), { signal, onProgress: (done, total) => bar.update(done, total) });
    }).finally(() => bar.end());
    output.print(values.json ? JSON.stringify({ file: out, bytes, parts: file.parts, tensors: file.tensors.length }) : out);
  },
});
