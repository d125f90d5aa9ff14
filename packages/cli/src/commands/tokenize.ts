import { text as readAll } from "node:stream/consumers";
import { createTokenizer } from "@centella/llm";
import { type Command, command, requireArguments } from "../command.ts";
import { fileOptions, openHeader, withFile } from "../modelFile.ts";
import { flag, text } from "../options.ts";
import { UsageError } from "../usageError.ts";

/** `centella tokenize FILE [TEXT]`: the token ids that the file's tokenizer gives. */
export const tokenize: Command = command({
  name: "tokenize",
  arguments: "FILE [TEXT]",
  summary: "print the token ids of a text",
  details: "Without TEXT, the text is read from stdin.",
  options: {
    ...fileOptions,
    prompt: text("TEXT", "the text, like the argument TEXT", { short: "p" }),
    "no-special": flag("add no BOS or EOS, and take special tokens in the text as plain text", { aliases: ["--no-bos"] }),
    json: flag("print one JSON object: ids and their pieces"),
  },
  async run(values, positionals, context) {
    const given = [...withFile(values, positionals), ...(values.prompt === undefined ? [] : [values.prompt])];
    if (given.length < 2 && process.stdin.isTTY === true)
      throw new UsageError("tokenize: expected FILE and TEXT, got fewer arguments; give TEXT after FILE or on stdin");
    const [path] = requireArguments("tokenize", ["FILE"], given.slice(0, 1));
    if (given.length > 2) throw new UsageError(`tokenize: expected FILE and TEXT, got ${given.length} arguments; quote a text with spaces`);
    await using file = await openHeader(path, context);
    const tokenizer = createTokenizer(file.metadata);
    const special = values["no-special"] !== true;
    const ids = [...tokenizer.encode(given[1] ?? (await readAll(process.stdin)), { addSpecial: special, parseSpecial: special })];
    if (values.json) context.output.print(JSON.stringify({ ids, pieces: ids.map((id) => tokenizer.decode([id])) }));
    else context.output.print(ids.join(" "));
  },
});
