import { type OpRecorder, UnsupportedError, type Value } from "@centella/core";
import { ModelError } from "../errors.ts";
import type { ModelConfig } from "../models/config.ts";

/** What a model keeps of all tokens on the device, for what drafts its next tokens. */
export interface KeptStates<Builder> {
  /** Elements of a token's state. 0: no states are kept. */
  readonly width: number;
  /** What is kept is made of the inputs of layers. Default: states, those that the output layer reads. */
  readonly joined?: JoinedInputs<Builder>;
}

/** What is kept of the inputs of layers. */
export interface JoinedInputs<Builder> {
  /** Indices of the layers. The number of layers stands for what the last one returns. */
  readonly layers: readonly number[];
  /** The draft's layers, if the model writes their keys and values. */
  readonly cached?: Pick<ModelConfig, "layers" | "hasCache" | "headsOf">;
  /** Records how the layers' inputs `[T, d]` become states that are kept, or keys and values. */
  keep(m: Builder, inputs: readonly Value[]): void;
}

/** The recorder of the model: its config, its program, and the slots `[T]` of the run's tokens. */
interface StateKeeper {
  readonly config: ModelConfig;
  readonly program: OpRecorder;
  readonly slots: Value;
}

/** Records what a model keeps of all tokens for its drafts: states `[slots, 1, width]`, or what the draft makes of the inputs of layers. */
export class KeptStateTable<Builder extends StateKeeper> {
  readonly #builder: Builder;
  readonly #keeps: KeptStates<Builder> | undefined;
  /** The newest version of the states. */
  #states: Value | undefined;
  readonly #inputs = new Map<number, Value>();

  /** @param states the states before the run; undefined if `keeps` has none */
  constructor(builder: Builder, keeps: KeptStates<Builder> | undefined, states: Value | undefined) {
    this.#builder = builder;
    this.#keeps = keeps;
    this.#states = states;
  }

  /** Whether the last layer computes all rows, because their states are kept. */
  get hasLast(): boolean {
    return this.#keeps !== undefined && (this.#keeps.joined?.layers.includes(this.#builder.config.layers) ?? true);
  }

  /** Notes what a layer gets, `[T, d]`, and returns it. The number of layers stands for what the last one returns. */
  noteInput(layer: number, x: Value): Value {
    const { joined } = this.#keeps ?? {};
    if (joined === undefined || !joined.layers.includes(layer)) return x;
    this.#inputs.set(layer, x);
    const inputs = joined.layers.map((index) => this.#inputs.get(index)).filter((input) => input !== undefined);
    if (inputs.length === joined.layers.length) joined.keep(this.#builder, inputs);
    return x;
  }

  /** @throws {UnsupportedError} if states are to be kept that the family does not note */
  requireInputs(): void {
    const missing = this.#keeps?.joined?.layers.filter((layer) => !this.#inputs.has(layer)) ?? [];
    if (missing.length > 0)
      throw new UnsupportedError(
        "draft",
        `models of ${this.#builder.config.architecture} do not keep the states that this file drafts by, only those of other architectures do`,
      );
  }

  /** Kept states of the tokens `[T, width]`: of the model, or of what drafts for the tokens that it has drafted. */
  read(): Value {
    const { program, slots } = this.#builder;
    if (this.#states === undefined) throw new ModelError("model: expected kept states, got none; this is a bug, please report it");
    const [rows, , width] = this.#states.spec.shape.map(Number) as [number, number, number];
    return program.embedding(program.reshape(this.#states, { shape: [rows, width] }), slots);
  }

  /** Keeps the states `[T, d]` that the output layer reads, if the model keeps those. */
  writeLast(states: Value): void {
    if (this.#keeps?.joined === undefined) this.write(states, this.#builder.slots);
  }

  /** Keeps states `[n, …]` of `width` elements each in slots `[n]`. */
  write(states: Value, slots: Value): void {
    if (this.#states === undefined || this.#keeps === undefined) return;
    const { program } = this.#builder;
    const { width } = this.#keeps;
    const [rows = 1] = states.spec.shape;
    const flat = program.reshape(states, { shape: [rows, width] });
    const middle = Math.ceil(width / 2);
    const half = (start: number, end: number): Value =>
      program.reshape(program.slice(flat, { axis: 1, start, end }), { shape: [rows, 1, end - start] });
    this.#states = program.kvWrite(this.#states, half(0, middle), half(middle, width), slots);
  }
}
