import { formatInspect, inspect as inspectFile } from "@centella/gguf";
import { architectureStatus } from "@centella/llm";
import type { Command } from "../command.ts";
import { formatMemory, memoryTable } from "../memoryTable.ts";
import { openModel } from "../modelFile.ts";
import { flag, number, parseOptions } from "../options.ts";
import { UsageError } from "../usageError.ts";

/** What is known of a family, in words. */
const families = {
  verified: "verified: held to llama.cpp's logits",
  unverified: "unverified: its logits were never compared with those of another implementation",
  unknown: "unknown: models of this architecture cannot be loaded",
};

const options = {
  context: number("TOKENS", "context length of the memory estimate (default: 4096, and the trained one)", { min: 1, integer: true }),
  json: flag("print one JSON object"),
};

/** `centella inspect FILE`: header, metadata, tensors of a GGUF file and the memory that it would take, without reading its weights; of a URL only the header is fetched. */
export const inspect: Command = {
  usage: "inspect FILE",
  summary: "print a GGUF file's metadata, tensors and need of memory",
  options,
  async run(args, signal) {
    const { values, positionals } = parseOptions(options, args);
    const [path, ...rest] = positionals;
    if (path === undefined || rest.length > 0) throw new UsageError(`inspect: expected one FILE, got ${positionals.length}`);
    await using file = await openModel(path, signal);
    const report = inspectFile(file);
    const memory = memoryTable(file, values.context);
    const status = architectureStatus(report.architecture ?? "") ?? "unknown";
    // Reasons are for people; a program finds null.
    if (values.json)
      console.log(JSON.stringify({ ...report, family: status, memory: typeof memory === "string" ? null : memory }, null, 2));
    else console.log(`${formatInspect(report)}\nfamily        ${families[status]}\n${formatMemory(memory)}`);
  },
};
