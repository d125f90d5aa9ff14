import type { Pooling } from "@centella/llm";
import { type Command, command } from "../command.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { choice, flag, number, repeated } from "../options.ts";
import { linesOfInput } from "../stdinLines.ts";
import { UsageError } from "../usageError.ts";

/** `centella embed FILE [TEXT…]`: vectors of texts. */
export const embed: Command = command({
  name: "embed",
  aliases: ["embedding"],
  arguments: "FILE [TEXT…]",
  summary: "print a vector for each text",
  details: "Without TEXT, each line of stdin is a text. Prints one JSON array of numbers per line.",
  options: {
    prompt: repeated("TEXT", "a text, like the argument TEXT", (given) => given, { short: "p" }),
    pooling: choice<Pooling>(["mean", "cls", "last"], "how token states become one vector (default: as the file says, else mean)"),
    dimensions: number("N", "keep the first N elements of each vector, for models that were trained for it (default: all)", {
      min: 1,
      integer: true,
    }),
    "no-normalize": flag("do not scale the vectors to length 1"),
    json: flag("print one JSON object"),
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file, ...rest] = withFile(values, positionals);
    if (file === undefined) throw new UsageError("embed: expected a FILE, got none");
    const texts = [...(values.prompt ?? []), ...rest];
    const inputs = texts.length > 0 ? texts : await linesOfInput("embed", "texts", "after FILE");
    await withModel(file, values, context, async ({ model, name }) => {
      const { signal, output } = context;
      const { pooling, dimensions } = values;
      const vectors = await model.embed(inputs, { signal, pooling, dimensions, normalize: values["no-normalize"] !== true });
      if (values.json) output.print(JSON.stringify({ model: name, vectors: vectors.map((vector) => [...vector]) }));
      else for (const vector of vectors) output.print(JSON.stringify([...vector]));
    });
  },
});
