import { pull as download } from "@centella/gguf";
import { type Command, command, requireArguments } from "../command.ts";
import { fileName, fileOptions, pathOf, withFile } from "../modelFile.ts";
import { flag } from "../options.ts";
import { ProgressBar } from "../progress.ts";

/** `centella pull MODEL`: downloads a model, or continues an interrupted download. */
export const pull: Command = command({
  name: "pull",
  arguments: "MODEL",
  summary: "download a model: hf:owner/repo:Q4_K_M, hf:owner/repo/file.gguf or a URL",
  options: {
    "hf-repo": fileOptions["hf-repo"],
    refresh: flag("ask the server even if the model is stored"),
    json: flag("print one JSON object"),
  },
  async run(values, positionals, { signal, output }) {
    const [source] = requireArguments("pull", ["MODEL"], withFile(values, positionals));
    const bar = new ProgressBar(`downloading ${fileName(source)}`, output);
    const pulled = await download(source, {
      signal,
      refresh: values.refresh === true,
      onProgress: ({ done, total }) => bar.update(done, total),
    }).finally(() => bar.end());
    if (values.json) output.print(JSON.stringify({ ...pulled, path: pathOf(pulled) }));
    else {
      output.print(pathOf(pulled));
      if (pulled.files.some(({ isVerified }) => !isVerified))
        output.warn("centella: the server gave no SHA-256, so only length and header were checked");
    }
  },
});
