import { formatInspect, inspect as inspectFile } from "@centella/gguf";
import { architectureStatus } from "@centella/llm";
import { type Command, command, requireArguments } from "../command.ts";
import { formatMemory, memoryTable } from "../memoryTable.ts";
import { fileOptions, openHeader, withFile } from "../modelFile.ts";
import { flag, number } from "../options.ts";

/** How well a model family is known. */
const families = {
  verified: "verified: held to llama.cpp's logits",
  unverified: "unverified: its logits were never compared with those of another implementation",
  unknown: "unknown: models of this architecture cannot be loaded",
};

/** `centella inspect FILE`: a GGUF file's header and the memory that the model would take, without reading its weights. */
export const inspect: Command = command({
  name: "inspect",
  aliases: ["show"],
  arguments: "FILE",
  summary: "print a GGUF file's metadata, tensors and need of memory",
  details: "Reads the header alone: of a URL, nothing else is downloaded.",
  options: {
    ...fileOptions,
    context: number("TOKENS", "context length of the memory estimate (default: 4096, and the trained one)", {
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
    const status = architectureStatus(report.architecture ?? "") ?? "unknown";
    // The reason for an unknown memory is for people; programs get null.
    if (values.json)
      context.output.print(JSON.stringify({ ...report, family: status, memory: typeof memory === "string" ? null : memory }, null, 2));
    else context.output.print(`${formatInspect(report)}\nfamily        ${families[status]}\n${formatMemory(memory)}`);
  },
});
