import { named } from "@centella/quant/checks";
import { generateModel } from "../model/generate.ts";
import { shapes } from "../model/shapes.ts";
import { type FileType, fileTypes } from "../model/tensors.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

const shapeNames = Object.keys(shapes);
const typeNames = Object.keys(fileTypes) as readonly FileType[];

const help = `Usage: pnpm bench model --shape SHAPE --type TYPE --out FILE [--seed N] [--layers N]

Writes a GGUF file with random weights in the shape of a known model, for measuring speed.

  --shape SHAPE  one of ${shapeNames.join(", ")}
  --type TYPE    one of ${typeNames.join(", ")}: the mix of types that llama.cpp gives such files
  --out FILE     where to
  --seed N       of the random numbers (default: 1)
  --layers N     fewer layers than the model has`;

/** `pnpm bench model …` */
export async function modelCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    shape: { type: "string" },
    type: { type: "string" },
    out: { type: "string" },
    seed: { type: "string" },
    layers: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const { shape, type, out, seed = "1", layers } = values;
  if (shape === undefined || type === undefined || out === undefined) throw new UsageError("model: expected --shape, --type and --out");
  pick("--shape", [shape], shapeNames);
  const found = typeNames.find((name) => name === type);
  if (found === undefined) throw new UsageError(`--type: expected one of ${typeNames.join(", ")}, got ${type}`);
  const most = named(shapes, shape).layers;
  let shown = -1;
  const bytes = await generateModel({
    shape,
    type: found,
    out,
    seed: wholeNumber("--seed", seed, 0, 2 ** 32 - 1),
    ...(layers === undefined ? {} : { layers: wholeNumber("--layers", layers, 1, most) }),
    onProgress(done, total) {
      const percent = Math.floor((100 * done) / total);
      if (!process.stderr.isTTY || percent === shown) return;
      shown = percent;
      process.stderr.write(`\r\x1b[K${out} ${percent} %${percent === 100 ? "\n" : ""}`);
    },
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === undefined ? error : new UsageError(`--out: cannot write ${out}: ${error.message}`);
  });
  console.log(`${out}: ${bytes} bytes`);
  return 0;
}
