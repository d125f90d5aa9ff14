import type { HubFile, HubRepository } from "@centella/gguf/search";
import { type Command, command, requireArguments } from "../command.ts";
import { flag, number } from "../options.ts";
import { formatSize } from "../progress.ts";

/** `centella search QUERY`: searches Hugging Face for GGUF models. */
export const search: Command = command({
  name: "search",
  arguments: "QUERY",
  summary: "search Hugging Face for GGUF models: sizes, quantisations, licences",
  details: "Prints the most downloaded repositories first, and for each model what run, chat and pull take.",
  options: {
    limit: number("N", "most repositories to list (default: 10)", { min: 1, max: 100, integer: true }),
    json: flag("print one JSON object"),
  },
  async run({ limit, json }, positionals, { signal, output }) {
    const [query] = requireArguments("search", ["QUERY"], positionals);
    // Few commands search.
    const { searchHub } = await import("@centella/gguf/search");
    const repositories = await searchHub(query, { signal, ...(limit !== undefined && { limit }) });
    if (json) output.print(JSON.stringify({ repositories }));
    else if (repositories.length === 0) output.print(`no GGUF models for '${query}'`);
    else for (const repository of repositories) output.print(described(repository));
    if (repositories.some(({ isGated }) => isGated))
      output.note("gated models: accept their terms on the hub, and set HF_TOKEN to a token of your account");
  },
});

function described({ name, license = "no licence given", isGated, downloads, files }: HubRepository): string {
  const facts = [name, license, ...(isGated ? ["gated"] : []), `${downloads.toLocaleString("en")} downloads`];
  return [facts.join(" · "), ...files.map(fileLine)].join("\n");
}

function fileLine({ source, bytes, quantization = "", parts }: HubFile): string {
  const size = bytes === undefined ? "?" : formatSize(bytes);
  return `  ${size.padStart(8)}  ${quantization.padEnd(8)}  ${source}${parts === 1 ? "" : `  (${parts} files)`}`;
}
