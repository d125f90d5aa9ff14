import type { ParamsOf, TensorSpec } from "@centella/core";
import { elementAt, type FusedCall, type FusedParams, lastOf, ops } from "@centella/core/backend";
import type { U32 } from "./emitter.ts";
import { asValue, divide, timesPlus, unflatten } from "./extent.ts";
import type { GpuArgument, GpuArguments, GpuScope, GpuStep } from "./kernel.ts";
import { type CacheRows, cacheRowsOf, writeUnit } from "./kernels/kvWrite.ts";
import { angleArgs, type Rotation, rotatedElement, rotateUnit, rotationOf, unitsOf } from "./kernels/rope.ts";
import { dimAt } from "./rows/rows.ts";

type Inputs = readonly (TensorSpec | undefined)[];

/** The lanes of a token that do one kind of work: `units` for each of `heads` heads. */
interface Part {
  readonly heads: number;
  readonly units: number;
  work(scope: GpuScope, place: { readonly token: U32; readonly head: U32; readonly unit: U32 }): void;
}

/** Whether a group writes keys and values to a cache. */
export function isCacheWrite({ body }: FusedParams): boolean {
  return lastOf(body).op.name === ops.kvWrite.name;
}

/** The reason why a group that writes to a cache has no kernel; undefined if it has one. */
export function cacheWriteUnsupported(inputs: Inputs, params: FusedParams): string | undefined {
  const { body, extraOutputs = [] } = params;
  if (body.slice(0, -1).some(({ op }) => op.name !== ops.rope.name)) return "calls other than rope before a kvWrite";
  const { write, keys, queries } = callsOf(inputs, params);
  const [, , values = inputs.length] = write.inputs;
  if (keys === undefined || values >= inputs.length) return "a kvWrite of other tensors than rotated keys and values";
  if (body.length > 3 || extraOutputs.length !== body.length - 2) return "several ropes before a kvWrite";
  if (queries === undefined) return undefined;
  if (body[elementAt(extraOutputs, 0)] !== queries) return "rotated keys as a result";
  if (typeof dimAt(queries.output, 1) !== "number") return "a symbolic number of heads";
  const [, ...angles] = queries.inputs;
  const hasSameAngles = angles.join() === keys.inputs.slice(1).join() && formulaOf(keys) === formulaOf(queries);
  return hasSameAngles ? undefined : "ropes by different angles";
}

/** A write to a cache, taken apart. Places are those of the group's inputs. */
export interface CacheWrite {
  readonly cache: TensorSpec;
  readonly rows: CacheRows;
  /** How keys and queries are turned, and the arguments that angles are computed from. */
  readonly rotation: Rotation;
  readonly angles: GpuArguments;
  readonly keys: number;
  readonly values: number;
  readonly slots: GpuArgument;
  readonly queries: { readonly place: number; readonly call: FusedCall } | undefined;
}

/** Takes a supported group apart. */
export function cacheWriteOf(inputs: Inputs, params: FusedParams): CacheWrite {
  const { write, keys, queries } = callsOf(inputs, params);
  if (keys === undefined) throw new TypeError("fused: expected a rope before a kvWrite, got none; this is a bug, please report it");
  const [, , values = -1, slots] = write.inputs;
  const [x = -1, positions, factors] = keys.inputs;
  const rotation = rotationOf(keys.output, ropeParams(keys), factors !== undefined);
  const factorArgument = factors === undefined ? undefined : argumentOf(inputs, factors);
  return {
    cache: write.output,
    rows: cacheRowsOf(write.output, keys.output, specOf(inputs, values)),
    rotation,
    angles: angleArgs(rotation, ropeParams(keys), argumentOf(inputs, positions), factorArgument),
    keys: x,
    values,
    slots: argumentOf(inputs, slots),
    queries: queries && { place: queries.inputs[0] ?? -1, call: queries },
  };
}

/** A lane per unit of the cache's rows and, after these, per unit of the queries. */
export function cacheWriteStep(inputs: Inputs, params: FusedParams): GpuStep {
  const { cache, rows, rotation, angles, keys, values, slots, queries } = cacheWriteOf(inputs, params);
  const written: Part = {
    heads: rows.heads as number,
    units: rows.units,
    work(scope, place) {
      const { token } = place;
      writeUnit(scope, rows, place, (row, d) => rotatedElement(scope, rotation, { x: "k", token, row, d }));
    },
  };
  const rotated = queries && queriesPart(queries.call, rotation.hasFactors);
  return {
    kind: "each",
    name: "",
    args: {
      cache: { kind: "output", dtype: cache.dtype },
      ...{ k: argumentOf(inputs, keys), v: argumentOf(inputs, values), slots },
      ...angles,
      ...(queries && { x: argumentOf(inputs, queries.place), y: { kind: "extraOutput", index: 0, dtype: "f32" } }),
    },
    shape: [dimAt(specOf(inputs, keys), 0), lanesOf(written) + lanesOf(rotated)],
    body: (scope, index) => partsBody(scope, index, written, rotated),
  };
}

function argumentOf(inputs: Inputs, place = -1): GpuArgument {
  return { kind: "input", index: place, dtype: specOf(inputs, place).dtype };
}

function queriesPart(call: FusedCall, hasFactors: boolean): Part {
  const rotation = rotationOf(call.output, ropeParams(call), hasFactors);
  const heads = dimAt(call.output, 1) as number;
  return {
    heads,
    units: unitsOf(rotation),
    work(scope, { token, head, unit }) {
      rotateUnit(scope, rotation, { token, row: timesPlus(scope.k, token, scope.whole(heads), head), unit });
    },
  };
}

function partsBody(scope: GpuScope, index: U32, first: Part, second: Part | undefined): void {
  const { k } = scope;
  const [token, lane] = unflatten(k, index, [1, scope.whole(lanesOf(first) + lanesOf(second))]);
  const work = ({ units, work: workAt }: Part, at: U32): void => {
    const [head, unit] = divide(k, at, scope.whole(units));
    workAt(scope, { token: asValue(k, token), head: asValue(k, head), unit: asValue(k, unit) });
  };
  const at = asValue(k, lane);
  const boundary = scope.whole(lanesOf(first));
  if (second === undefined) work(first, at);
  else
    k.if(
      k.compare("lt", at, boundary),
      () => work(first, at),
      () => work(second, k.sub(at, boundary)),
    );
}

function lanesOf(part: Part | undefined): number {
  return part === undefined ? 0 : part.heads * part.units;
}

/** The `rope` of the written keys and, if there is another one, the `rope` of queries. */
function callsOf(
  inputs: Inputs,
  { body }: FusedParams,
): { readonly write: FusedCall; readonly keys: FusedCall | undefined; readonly queries: FusedCall | undefined } {
  const write = lastOf(body);
  const [, place = 0] = write.inputs;
  const keys = body[place - inputs.length];
  return { write, keys, queries: body.find((call) => call !== keys && call !== write) };
}

function ropeParams({ params }: FusedCall): ParamsOf<"rope"> {
  return params as ParamsOf<"rope">;
}

/** What angles depend on besides positions and factors. */
function formulaOf(call: FusedCall): string {
  const { base, scale, ropeType } = ropeParams(call);
  const { dims } = rotationOf(call.output, ropeParams(call), false);
  return [dims, base, scale, ropeType].join();
}

function specOf(inputs: Inputs, place = -1): TensorSpec {
  const spec = inputs[place];
  if (spec === undefined) throw new RangeError(`fused: expected input ${place} of a group, got none; this is a bug, please report it`);
  return spec;
}
