import { formatInspect, inspect as inspectFile } from "@centella/gguf";
import { architectureStatus, refusedArchitectures } from "@centella/llm";
import { type Command, command, requireArguments } from "../command.ts";
import { formatMemory, memoryTable } from "../memoryTable.ts";
import { fileOptions, openHeader, withFile } from "../modelFile.ts";
import { flag, number } from "../options.ts";

/** How well a model family is tested. */
const families = {
  verified: "verified: logits compared with llama.cpp's",
  unverified: "unverified: logits not compared with another implementation",
  draft: "verified as a draft: logits compared with llama.cpp's; name it with --draft, beside the model that it is for",
  unknown: "unknown: models of this architecture cannot be loaded",
};

/** `centella inspect FILE`: the header of a GGUF file and the memory that the model needs, without reading its weights. */
export const inspect: Command = command({
  name: "inspect",
  aliases: ["show"],
  arguments: "FILE",
  summary: "print metadata, tensors and memory use of a GGUF file",
  details: "Reads only the header, also from a URL.",
  options: {
    ...fileOptions,
    context: number("TOKENS", "context length of the memory estimate (default: 4096 and the trained length)", {
      min: 1,
      integer: true,
      short: "c",
      aliases: ["--ctx-size"],
    }),
    json: flag("print one JSON object"),
  },
  async run(values, positionals, context) {
    const [path] = requireArguments("inspect", ["FILE"], withFile(values, positionals));
    await using file = await openHeader(path, context);
    const report = inspectFile(file);
    const memory = memoryTable(file, values.context);
    const name = report.architecture ?? "";
    const status = architectureStatus(name) ?? "unknown";
    const reason = (await refusedArchitectures()).get(name);
    // A reason why the memory is unknown is text for people; JSON has null.
    if (values.json)
      context.output.print(JSON.stringify({ ...report, family: status, memory: typeof memory === "string" ? null : memory }, null, 2));
    else
      context.output.print(
        `${formatInspect(report)}\nfamily        ${families[status]}${reason === undefined ? "" : `: ${reason}`}\n${formatMemory(memory)}`,
      );
  },
});
