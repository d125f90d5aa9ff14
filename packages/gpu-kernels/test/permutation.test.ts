import type { Dim } from "@centella/core";
import { resolveDim } from "@centella/core/backend";
import { expect, test } from "vitest";
import { permutationOf } from "../src/shared/permutation.ts";

const T = { name: "T", max: 5 };

test.each<readonly [string, readonly Dim[], readonly number[], ReturnType<typeof permutationOf>]>([
  ["of two axes", [3, 4], [1, 0], { axes: [[3], [4]], order: [1, 0] }],
  ["of no axis", [], [], { axes: [], order: [] }],
  ["that keeps the order is one axis", [2, 3, 4], [0, 1, 2], { axes: [[2, 3, 4]], order: [0] }],
  [
    "joins neighbours that stay so",
    [2, 3, 4, 5],
    [2, 3, 0, 1],
    {
      axes: [
        [2, 3],
        [4, 5],
      ],
      order: [1, 0],
    },
  ],
  ["joins no neighbours that change places", [2, 3, 4], [2, 1, 0], { axes: [[2], [3], [4]], order: [2, 1, 0] }],
  ["of heads joins neither batches nor elements", [2, 3, 4, 5], [0, 2, 1, 3], { axes: [[2], [3], [4], [5]], order: [0, 2, 1, 3] }],
  ["without axes of one place", [1, 2, 1, 3], [3, 2, 1, 0], { axes: [[2], [3]], order: [1, 0] }],
  ["joins axes with one place between them", [2, 1, 3, 4], [3, 0, 1, 2], { axes: [[2, 3], [4]], order: [1, 0] }],
  ["of places alone is none", [1, 1], [1, 0], { axes: [], order: [] }],
  ["with a symbolic axis", [T, 2, 3], [1, 2, 0], { axes: [[T], [2, 3]], order: [1, 0] }],
])("a transpose %s", (_name, shape, order, expected) => {
  expect(permutationOf(shape, order)).toEqual(expected);
});

/** All orders of `count` axes. */
function orders(count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((order) => Array.from({ length: count }, (_, place) => order.toSpliced(place, 0, count - 1)));
}

/** Index of the element in the input for each element of a transpose, in order. */
function sources(shape: readonly number[], order: readonly number[]): readonly number[] {
  const stride = (axis: number): number => shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  return order.reduce<readonly number[]>(
    (starts, axis) => starts.flatMap((start) => Array.from({ length: shape[axis]! }, (_, i) => start + i * stride(axis))),
    [0],
  );
}

test.each(orders(4))("elements come from the same places, with axes in the order %i, %i, %i, %i", (...order) => {
  for (const shape of [
    [2, 3, 4, 5],
    [2, 1, 3, 2],
    [1, 3, 2, 1],
  ]) {
    const joined = permutationOf(shape, order);
    const sizes = joined.axes.map((axes) => axes.reduce<number>((size, dim) => size * resolveDim(dim, {}), 1));
    expect(sources(sizes, joined.order)).toEqual(sources(shape, order));
    // No two axes could be one.
    expect(joined.order.some((axis, i) => joined.order[i + 1] === axis + 1)).toBe(false);
  }
});
