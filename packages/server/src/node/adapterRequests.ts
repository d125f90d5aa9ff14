import type { ServerEvent } from "../events.ts";
import type { Metric } from "./metric.ts";

/** Requests of LoRA adapters, as vLLM reports them: lists of names as labels, and the time of the last change as the value. */
export class AdapterRequests {
  readonly #metric: Metric;
  /** Requests of each adapter that compute and that wait, by the name of its model, and the model that it adapts. */
  readonly #counts = new Map<string, { readonly base: string; running: number; waiting: number }>();

  constructor(metric: Metric) {
    this.#metric = metric;
  }

  record(event: ServerEvent): void {
    if (event.type === "model" && event.parent !== undefined) this.#counts.set(event.name, { base: event.parent, running: 0, waiting: 0 });
    else if (event.type !== "queued" && event.type !== "dequeued" && event.type !== "released") return;
    else {
      const counts = this.#counts.get(event.model);
      if (counts === undefined) return;
      if (event.type === "queued") counts.waiting++;
      if (event.type === "dequeued") counts.waiting--;
      if (event.type === "dequeued" && event.isAdmitted) counts.running++;
      if (event.type === "released") counts.running--;
    }
    this.#update();
  }

  /** Name of the model that this one adapts, or its own. */
  baseOf(model: string): string {
    return this.#counts.get(model)?.base ?? model;
  }

  #update(): void {
    const names = (kind: "running" | "waiting"): string =>
      [...this.#counts].flatMap(([name, counts]) => (counts[kind] > 0 ? [name] : [])).join(",");
    this.#metric.reset();
    const labels = {
      max_lora: String(this.#counts.size),
      running_lora_adapters: names("running"),
      waiting_lora_adapters: names("waiting"),
    };
    this.#metric.add(labels, Date.now() / 1000);
  }
}
