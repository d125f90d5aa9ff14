import { check, either, elementAt, entryOf, listOf, object, string } from "@centella/quant/checks";
import { consumersOf, versions } from "../compiler/passes/graph.ts";
import { simplify } from "../compiler/passes/simplify.ts";
import { ArgumentError } from "../errors.ts";
import { programGraph } from "../kinds.ts";
import { type Node, type Output, type Persistent, type ProgramGraph, specOf, type ValueInfo, valueAt } from "../program/programGraph.ts";
import { byteLength, maxSpec } from "../spec.ts";

/**
 * The backend that stores each persistent, by the persistent's name. A persistent that no call writes may be stored on several
 * backends, each with a copy: small weights that all layers share.
 */
export type Placement = Readonly<Record<string, string | readonly string[]>>;

/** A value that one part of a program computes and a later part reads. */
export interface Cut {
  /** Its name among the outputs of the one and the inputs of the other. */
  readonly name: string;
  readonly value: number;
  /** Index of the part that computes it. */
  readonly from: number;
  /** Bytes that move in a run, with symbolic dims at their maxima. */
  readonly bytes: number;
}

/** What one backend computes before another one continues. */
export interface Part {
  /** The backend's name. */
  readonly device: string;
  /** The first part on a device declares all persistents stored there, a later part only those that it uses. */
  readonly program: ProgramGraph;
  readonly cuts: readonly Cut[];
}

/**
 * Cuts a program where the device changes. Parts run in order. Pure. A call is computed
 * - on the device of the persistent that it writes;
 * - else on the device of the largest persistent that it reads, among those that are stored on one device only;
 * - else where the last of its inputs is computed;
 * - else where its result is needed first.
 * @throws {ArgumentError} for a placement of something that is no persistent of the program, or without a device
 */
export function splitByPlacement(recorded: ProgramGraph, placement: Placement, defaultDevice: string): readonly Part[] {
  check("placement", "program", recorded, programGraph);
  checkPlacement(placement);
  const unknown = Object.keys(placement).find((name) => !recorded.persistents.has(name));
  if (unknown !== undefined) throw new ArgumentError("placement", "names of persistents of the program", unknown, "check the spelling");
  const program = simplify(recorded);
  const devices = new Map(
    [...program.persistents.keys()].map((name) => {
      const given = (Object.hasOwn(placement, name) ? placement[name] : undefined) ?? defaultDevice;
      return [name, typeof given === "string" ? [given] : [...new Set(given)]] as const;
    }),
  );
  for (const { op, inputs } of program.nodes) {
    const target = op.writes === undefined ? undefined : inputs[op.writes];
    const written = target === undefined ? undefined : valueAt(program, target).persistent;
    if (written === undefined) continue;
    const all = entryOf(devices, written);
    if (all.length > 1) throw new ArgumentError("placement", `one device for ${written}, which ${op.name} writes`, all.join(", "));
  }
  const unplaced = [...devices].find(([, all]) => all.length === 0);
  if (unplaced !== undefined) throw new ArgumentError("placement", `a device for ${unplaced[0]}`, "none");
  return new Splitter(program, devices, defaultDevice).parts();
}

const devicesKind = either(string, listOf("names of backends", string));

/** @throws {ArgumentError} unless every device is a backend's name or a list of names */
function checkPlacement(placement: Placement): void {
  check("placement", "placement", placement, object, "pass { persistent: backend }");
  for (const name in placement) check("placement", name, placement[name], devicesKind);
}

/** Names of all backends in a placement. @throws {ArgumentError} if it is malformed */
export function devicesIn(placement: Placement): readonly string[] {
  checkPlacement(placement);
  return [...new Set(Object.values(placement).flat())];
}

/** One thing to schedule: a call, a persistent that is read across devices, or an output of the program. */
interface Item {
  readonly device: string;
  /** Positions of items that come before it. */
  readonly after: readonly number[];
}

class Splitter {
  readonly #program: ProgramGraph;
  /** Devices of persistents, by name. */
  readonly #placed: ReadonlyMap<string, readonly string[]>;
  readonly #defaultDevice: string;
  /** The persistent's version of each value that is stored in a persistent's memory. */
  readonly #version: ReadonlyMap<number, number>;
  readonly #devices: readonly string[];

  constructor(program: ProgramGraph, placed: ReadonlyMap<string, readonly string[]>, defaultDevice: string) {
    this.#program = program;
    this.#placed = placed;
    this.#defaultDevice = defaultDevice;
    this.#version = versions(program);
    this.#devices = this.#devicesOfNodes();
  }

  parts(): readonly Part[] {
    const { nodes, outputs, values } = this.#program;
    const crossDeviceReads = this.#crossDeviceReads();
    const { partOf, devices } = schedule(this.#items(crossDeviceReads));
    const builders = devices.map((device): PartBuilder => new PartBuilder(this.#program, device));
    const builderOf = (at: number): PartBuilder => elementAt(builders, elementAt(partOf, at));
    for (const [i, { value }] of crossDeviceReads.entries()) builderOf(i).computed.add(value);
    for (const [i, node] of nodes.entries()) builderOf(crossDeviceReads.length + i).add(node);
    for (const [i, output] of outputs.entries()) builderOf(crossDeviceReads.length + nodes.length + i).outputs.push(output);
    this.#declare(builders);
    const producers = new Map(builders.flatMap(({ computed }, part) => [...computed].map((id) => [id, part])));
    const views = new Map(nodes.filter(({ op }) => op.alias === true).map((node) => [node.output, node]));
    for (const builder of builders) {
      const reads = new Set([...builder.nodes.flatMap(({ inputs }) => inputs), ...builder.outputs.map(({ value }) => value)]);
      for (const id of reads) if (id !== undefined) this.#provide(builder, id, { builders, producers, views });
    }
    return builders.map((builder) => builder.part(values));
  }

  /** Persistents whose initial content is also read on devices that do not store them. */
  #crossDeviceReads(): readonly Persistent[] {
    const consumers = consumersOf(this.#program.nodes);
    return [...this.#program.persistents.values()].filter(({ name, value }) =>
      consumers.get(value)?.some((reader) => !entryOf(this.#placed, name).includes(elementAt(this.#devices, reader))),
    );
  }

  /** Persistents read across devices, then the calls in their order, then the outputs. */
  #items(crossDeviceReads: readonly Persistent[]): readonly Item[] {
    const { nodes, outputs } = this.#program;
    const producer = new Map(nodes.map(({ output }, i) => [output, crossDeviceReads.length + i]));
    for (const [i, { value }] of crossDeviceReads.entries()) producer.set(value, i);
    const readers = this.#readersOfVersions(crossDeviceReads.length);
    return [
      ...crossDeviceReads.map(({ name }): Item => ({ device: elementAt(entryOf(this.#placed, name), 0), after: [] })),
      ...nodes.map(({ op, inputs }, i): Item => {
        const made = inputs.flatMap((id) => (id === undefined ? [] : (producer.get(id) ?? [])));
        const target = op.writes === undefined ? undefined : inputs[op.writes];
        const hazards = target === undefined ? [] : (readers.get(entryOf(this.#version, target)) ?? []);
        return { device: elementAt(this.#devices, i), after: [...made, ...hazards.filter((at) => at !== crossDeviceReads.length + i)] };
      }),
      ...outputs.map(({ value }): Item => {
        const at = producer.get(value);
        const device =
          this.#devicesOfValue(value)?.[0] ??
          (at === undefined ? this.#defaultDevice : elementAt(this.#devices, at - crossDeviceReads.length));
        return { device, after: at === undefined ? [] : [at] };
      }),
    ];
  }

  /** Declares all persistents of a device in its first part; a device without work gets a part that only holds them. */
  #declare(builders: PartBuilder[]): void {
    for (const persistent of this.#program.persistents.values()) {
      for (const device of entryOf(this.#placed, persistent.name)) {
        const first = builders.find((builder) => builder.device === device) ?? new PartBuilder(this.#program, device);
        if (!builders.includes(first)) builders.push(first);
        first.begin(persistent, persistent.value);
      }
    }
    if (builders.length === 0) builders.push(new PartBuilder(this.#program, this.#defaultDevice));
  }

  /** Declares a value in a part that reads it. */
  #provide(
    builder: PartBuilder,
    id: number,
    all: {
      readonly builders: readonly PartBuilder[];
      readonly producers: ReadonlyMap<number, number>;
      readonly views: ReadonlyMap<number, Node>;
    },
  ): void {
    const { definition, persistent } = valueAt(this.#program, id);
    if (definition.kind === "input") builder.inputs.set(definition.name, id);
    if (builder.computed.has(id) || definition.kind === "input" || definition.kind === "constant") return;
    if (this.#devicesOfValue(id)?.includes(builder.device)) {
      // The persistent has the content that this part needs when the part begins.
      const view = all.views.get(id);
      if (view === undefined) {
        if (persistent !== undefined) builder.begin(entryOf(this.#program.persistents, persistent), id);
      } else {
        this.#provide(builder, sourceOf(view), all);
        builder.computed.add(id);
        builder.views.push(view);
      }
      return;
    }
    const from = entryOf(all.producers, id);
    builder.cuts.push({ ...elementAt(all.builders, from).addCut(id, builder.device), from });
  }

  #devicesOfNodes(): readonly string[] {
    const { nodes } = this.#program;
    const made = new Map<number, number>();
    const devices: (string | undefined)[] = nodes.map(() => undefined);
    nodes.forEach(({ op, inputs, output }, i) => {
      const used = inputs.filter((id) => id !== undefined);
      const bytes = (id: number): number => byteLength(maxSpec(specOf(this.#program, id)));
      const settled = used.filter((id) => this.#devicesOfValue(id)?.length === 1);
      const decisive = op.writes === undefined ? settled.toSorted((a, b) => bytes(b) - bytes(a))[0] : inputs[op.writes];
      const last = Math.max(-1, ...used.map((id) => made.get(id) ?? -1).filter((at) => devices[at] !== undefined));
      devices[i] = decisive === undefined ? devices[last] : this.#devicesOfValue(decisive)?.[0];
      // A view of a persistent on several devices has no device of its own: each reader makes the view again.
      if (devices[i] !== undefined || !this.#version.has(output)) made.set(output, i);
    });
    const consumers = consumersOf(nodes);
    for (let i = nodes.length - 1; i >= 0; i--) {
      const { output } = elementAt(nodes, i);
      const needed = devices[consumers.get(output)?.[0] ?? -1] ?? this.#defaultDevice;
      const own = this.#devicesOfValue(output);
      devices[i] ??= own === undefined || own.includes(needed) ? needed : elementAt(own, 0);
    }
    return devices as readonly string[];
  }

  /** The devices of a value that is stored in a persistent's memory. */
  #devicesOfValue(id: number): readonly string[] | undefined {
    const version = this.#version.get(id);
    const persistent = version === undefined ? undefined : valueAt(this.#program, version).persistent;
    return persistent === undefined ? undefined : entryOf(this.#placed, persistent);
  }

  /** Positions of the calls that read each version of a persistent. They all precede the call that writes the next version. */
  #readersOfVersions(first: number): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, number[]>();
    this.#program.nodes.forEach(({ inputs }, i) => {
      for (const id of inputs) {
        const version = id === undefined ? undefined : this.#version.get(id);
        if (version === undefined) continue;
        const known = found.get(version);
        if (known === undefined) found.set(version, [first + i]);
        else known.push(first + i);
      }
    });
    return found;
  }
}

/** The value that a view is of. */
function sourceOf({ inputs: [source] }: Node): number {
  if (source === undefined) throw new RangeError("placement: expected a view to have an input, got none; this is a bug, please report it");
  return source;
}

/** Gathers items into parts of one device each. Each part cuts all items that can run, starting from the first that is left. */
function schedule(items: readonly Item[]): { readonly partOf: readonly number[]; readonly devices: readonly string[] } {
  const partOf: number[] = [];
  const devices: string[] = [];
  let left = items.map((_, at) => at);
  while (left.length > 0) {
    const { device } = elementAt(items, elementAt(left, 0));
    const part = devices.push(device) - 1;
    left = left.filter((at) => {
      const item = elementAt(items, at);
      if (item.device !== device || item.after.some((before) => partOf[before] === undefined)) return true;
      partOf[at] = part;
      return false;
    });
  }
  return { partOf, devices };
}

/** A part under construction. */
class PartBuilder {
  readonly device: string;
  readonly nodes: Node[] = [];
  /** Views of persistents: each part that uses one makes it again. */
  readonly views: Node[] = [];
  readonly outputs: Output[] = [];
  readonly inputs = new Map<string, number>();
  readonly cuts: Cut[] = [];
  readonly computed = new Set<number>();
  readonly #program: ProgramGraph;
  readonly #persistents = new Map<string, Persistent>();
  readonly #cutOutputs = new Map<string, Output>();

  constructor(program: ProgramGraph, device: string) {
    this.#program = program;
    this.device = device;
  }

  add(node: Node): void {
    this.nodes.push(node);
    this.computed.add(node.output);
  }

  /** Declares a persistent. `value` is the version that it holds when the part begins. */
  begin(persistent: Persistent, value: number): void {
    this.#persistents.set(persistent.name, { ...persistent, value });
  }

  /** Adds an output for a later part: read back if `reader` is another backend, else left on the device. */
  addCut(value: number, reader: string): Omit<Cut, "from"> {
    const to = reader === this.device ? "device" : "host";
    let name = `%${value} ${to}`;
    const { inputs, outputs } = this.#program;
    while (inputs.has(name) || outputs.some((output) => output.name === name)) name = `%${name}`;
    this.#cutOutputs.set(name, { name, value, to });
    return { name, value, bytes: byteLength(maxSpec(specOf(this.#program, value))) };
  }

  part(values: readonly ValueInfo[]): Part {
    const { dims } = this.#program;
    const patched = [...values];
    const inputs = new Map(this.inputs);
    for (const { name, value } of this.cuts) {
      inputs.set(name, value);
      patched[value] = { ...elementAt(values, value), definition: { kind: "input", name }, persistent: undefined };
    }
    for (const { name, value } of this.#persistents.values()) {
      patched[value] = { ...elementAt(values, value), definition: { kind: "persistent", name } };
    }
    const program = {
      dims,
      values: patched,
      nodes: [...this.views, ...this.nodes],
      inputs,
      persistents: this.#persistents,
      outputs: [...this.outputs, ...this.#cutOutputs.values()],
    };
    return { device: this.device, program, cuts: this.cuts };
  }
}
