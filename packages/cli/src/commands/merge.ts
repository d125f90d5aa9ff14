import { contentOf, mergedContent, writeGguf } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { openModel } from "../modelFile.ts";
import { flag } from "../options.ts";
import { ProgressBar } from "../progress.ts";

/** `centella merge FIRST OUT`: joins the parts of a split file. */
export const merge: Command = command({
  name: "merge",
  arguments: "FIRST OUT",
  summary: "merge the parts of a split GGUF file, given the first",
  options: { json: flag("print one JSON object") },
  async run(values, positionals, context) {
    const { signal, output } = context;
    const [path, out] = requireArguments("merge", ["FIRST", "OUT"], positionals);
    await using file = await openModel(path, context);
    const bar = new ProgressBar(`writing ${out}`, output);
    const content = mergedContent(contentOf(file));
    const onProgress = (done: number, total: number): void => bar.update(done, total);
    const bytes = await writeGguf(out, content, { signal, onProgress }).finally(() => bar.end());
    output.print(values.json ? JSON.stringify({ file: out, bytes, parts: file.parts, tensors: file.tensors.length }) : out);
  },
});
