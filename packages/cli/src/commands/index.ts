import type { Command } from "../command.ts";
import { batch } from "./batch.ts";
import { bench } from "./bench.ts";
import { chat } from "./chat.ts";
import { completion } from "./completion.ts";
import { embed } from "./embed.ts";
import { gpu } from "./gpu.ts";
import { grammar } from "./grammar.ts";
import { inspect } from "./inspect.ts";
import { logits } from "./logits.ts";
import { merge } from "./merge.ts";
import { models } from "./models.ts";
import { perplexity } from "./perplexity.ts";
import { ps } from "./ps.ts";
import { pull } from "./pull.ts";
import { quantize } from "./quantize.ts";
import { rerank } from "./rerank.ts";
import { rm } from "./rm.ts";
import { run } from "./run.ts";
import { serve } from "./serve.ts";
import { split } from "./split.ts";
import { tokenize } from "./tokenize.ts";
import { version } from "./version.ts";

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  run,
  chat,
  serve,
  batch,
  embed,
  rerank,
  bench,
  inspect,
  pull,
  models,
  rm,
  split,
  merge,
  quantize,
  tokenize,
  logits,
  perplexity,
  grammar,
  gpu,
  ps,
  version,
  completion(() => commands),
];
