import type { Command } from "../command.ts";
import { pathOf, pullWithBar } from "../modelFile.ts";
import { flag, parseOptions } from "../options.ts";
import { UsageError } from "../usageError.ts";

const options = {
  refresh: flag("ask the server even if the model is stored"),
  json: flag("print one JSON object"),
};

/** `centella pull MODEL`: downloads a model, or goes on with a download that broke off. */
export const pull: Command = {
  usage: "pull MODEL",
  summary: "download a model: hf:owner/repo:Q4_K_M, hf:owner/repo/file.gguf or a URL",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [source, ...rest] = positionals;
    if (source === undefined || rest.length > 0) throw new UsageError(`pull: expected one MODEL, got ${positionals.length}`);
    const pulled = await pullWithBar(source, signal, { isQuiet: values.json === true, refresh: values.refresh === true });
    if (values.json) console.log(JSON.stringify({ ...pulled, path: pathOf(pulled) }));
    else {
      console.log(pathOf(pulled));
      if (pulled.files.some(({ isVerified }) => !isVerified))
        console.error("centella: the server gave no SHA-256: length and header alone were checked");
    }
  },
};
