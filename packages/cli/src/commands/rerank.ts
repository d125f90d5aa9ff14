import { type Command, command } from "../command.ts";
import { withModel } from "../loading.ts";
import { withFile } from "../modelFile.ts";
import { modelOptions } from "../modelOptions.ts";
import { flag, number } from "../options.ts";
import { linesOfInput } from "../stdinLines.ts";
import { UsageError } from "../usageError.ts";

/** `centella rerank FILE QUERY [DOCUMENT…]`: documents by how well they answer a query. */
export const rerank: Command = command({
  name: "rerank",
  aliases: ["reranking"],
  arguments: "FILE QUERY [DOCUMENT…]",
  summary: "sort documents by how well they answer a query",
  details:
    "Without DOCUMENT, each line of stdin is one. Prints the best document first, each on a line with its score, its number from 0 and its text, separated by tabs.",
  options: {
    "top-n": number("N", "print the best N documents (default: all)", { min: 1, integer: true }),
    json: flag("print one JSON object"),
    ...modelOptions,
  },
  async run(values, positionals, context) {
    const [file, query, ...given] = withFile(values, positionals);
    if (file === undefined || query === undefined)
      throw new UsageError("rerank: expected a FILE and a QUERY, got only one of them or none");
    const documents = given.length > 0 ? given : await linesOfInput("rerank", "documents", "after QUERY");
    await withModel(file, values, context, async ({ model, name }) => {
      const { signal, output } = context;
      const { results, usage } = await model.rerank(query, documents, { topN: values["top-n"], signal });
      const ranked = results.map(({ index, score }) => ({ index, score, document: documents[index] }));
      if (values.json) output.print(JSON.stringify({ model: name, results: ranked, usage }));
      else for (const { index, score, document } of ranked) output.print(`${score}\t${index}\t${document}`);
    });
  },
});
