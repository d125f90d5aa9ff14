import { createTokenizer } from "@centella/llm";
import type { Command } from "../command.ts";
import { openModel } from "../modelFile.ts";
import { flag, parseOptions } from "../options.ts";
import { UsageError } from "../usageError.ts";

const options = {
  "no-special": flag("add no BOS or EOS, and take special tokens in the text as plain text"),
  json: flag("print one JSON object: ids and their pieces"),
};

/** `centella tokenize FILE TEXT`: the token ids that the file's tokenizer gives. */
export const tokenize: Command = {
  usage: "tokenize FILE TEXT",
  summary: "print the token ids of a text",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, text, ...rest] = positionals;
    if (path === undefined || text === undefined || rest.length > 0) {
      throw new UsageError(`tokenize: expected FILE and TEXT, got ${positionals.length} arguments; quote a text with spaces`);
    }
    await using file = await openModel(path, signal);
    const tokenizer = createTokenizer(file.metadata);
    const special = values["no-special"] !== true;
    const ids = [...tokenizer.encode(text, { addSpecial: special, parseSpecial: special })];
    if (values.json) console.log(JSON.stringify({ ids, pieces: ids.map((id) => tokenizer.decode([id])) }));
    else console.log(ids.join(" "));
  },
};
