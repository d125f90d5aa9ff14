import { wasm } from "@centella/backend-wasm";
import type { Figure } from "./budget.ts";
import { callFigure } from "./calls.ts";
import { gpuMemoryFigure } from "./gpuMemory.ts";
import { growthFigure, passesFigure } from "./growth.ts";
import { memoryFigure } from "./memory.ts";
import { providerFigures } from "./provider.ts";
import { replayFigure } from "./replays.ts";
import { sizeFigures } from "./sizes.ts";
import { speedFigures } from "./speed.ts";
import { transferFigures } from "./transfers.ts";

/** Figures with a bar in `budgets.json`. Timed figures come first, before the rest of the run heats the machine. */
export function allFigures(): readonly Figure[] {
  const open = () => wasm({ threads: 1 }).open();
  return [
    ...speedFigures("wasm", open),
    growthFigure("wasm", open),
    passesFigure(),
    callFigure(wasm({ threads: 1 })),
    ...providerFigures(),
    memoryFigure("wasm"),
    gpuMemoryFigure(),
    ...transferFigures(),
    replayFigure(),
    ...sizeFigures(),
  ];
}
