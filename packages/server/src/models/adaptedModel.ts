import type { AdapterScales } from "@centella/llm";
import type { RequestOrigin } from "../events.ts";
import type { Lease, ModelEntry } from "./modelEntry.ts";

/** A model under a name of its own that applies one of the LoRA adapters of its base. Both are one engine. */
export class AdaptedModel implements Pick<ModelEntry, "name" | "created" | "state" | "current" | "slots" | "use" | "keepFor" | "unload"> {
  readonly name: string;
  readonly base: ModelEntry;
  /** Name of the adapter in the engine. */
  readonly adapter: string;
  /** Scale of the adapter. */
  scale: number;

  constructor(base: ModelEntry, adapter: string, scale: number) {
    this.name = adaptedName(base.name, adapter);
    this.base = base;
    this.adapter = adapter;
    this.scale = scale;
  }

  get created(): number {
    return this.base.created;
  }

  get state(): ModelEntry["state"] {
    return this.base.state;
  }

  get current(): ModelEntry["current"] {
    return this.base.current;
  }

  get slots(): ModelEntry["slots"] {
    return this.base.slots;
  }

  get adapters(): AdapterScales {
    return { [this.adapter]: this.scale };
  }

  /** @throws as `ModelEntry.use` */
  async use(origin?: RequestOrigin): Promise<Lease> {
    return { ...(await this.base.use(origin)), name: this.name, adapters: this.adapters };
  }

  keepFor(idleMs: number | undefined): void {
    this.base.keepFor(idleMs);
  }

  unload(): Promise<boolean> {
    return this.base.unload();
  }
}

/** Name of a model with an adapter. */
export function adaptedName(base: string, adapter: string): string {
  return `${base}:${adapter}`;
}
