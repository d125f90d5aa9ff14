import { asValue } from "@centella/gpu-kernels";
import type { Extent, F32 } from "../../ptx/types.ts";
import { type Finish, input, type KernelCall, type NamedArguments, output, type Scope, type Source } from "./kernel.ts";

/** Arguments that {@link sourceOf} takes. */
export function sourceArgs({ source }: KernelCall): NamedArguments {
  return source === undefined ? { x: input(0) } : { ...source.args, ...(source.kept && { kept: source.kept }) };
}

/** Arguments that {@link storeResult} takes. */
export function resultArgs({ finish }: KernelCall): NamedArguments {
  return { y: output, ...finish?.args };
}

/** The name of a kernel that has the given calls around it. */
export function surroundedName(name: string, ...around: readonly (Source | Finish | undefined)[]): string {
  return around.every((calls) => calls === undefined) ? name : `${name}_fused`;
}

/** An op's first input: `first` gives an element, `again` one that the same thread has had before. */
export function sourceOf(
  { k, pointer, ...scope }: Scope,
  { source }: KernelCall,
): { first(index: Extent): F32; again(index: Extent): F32 } {
  if (source === undefined) {
    const from = pointer("x", "f32");
    const load = (index: Extent): F32 => k.load("f32", k.at("f32", from, index));
    return { first: load, again: load };
  }
  const kept = source.kept && pointer("kept", "f32");
  return {
    first(index) {
      const value = source.apply({ k, pointer, ...scope }, asValue(k, index));
      if (kept !== undefined) k.store("f32", k.at("f32", kept, index), value);
      return value;
    },
    again: (index) => k.load("f32", k.at("f32", kept!, index)),
  };
}

/** Writes an element of an op's result. */
export function storeResult(scope: Scope, { finish }: KernelCall, index: Extent, value: F32): void {
  const { k, pointer } = scope;
  const finished = finish === undefined ? value : finish.apply(scope, asValue(k, index), value);
  k.store("f32", k.at("f32", pointer("y", "f32"), index), finished);
}
