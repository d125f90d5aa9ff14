/** A function that the user has written for the model. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: string;
  /** JavaScript that declares `run`. */
  readonly code: string;
}

export const examples: readonly ToolDefinition[] = [
  {
    name: "roll_dice",
    description: "Rolls dice and returns their sum.",
    schema: JSON.stringify(
      {
        type: "object",
        properties: { count: { type: "integer", minimum: 1, maximum: 9 }, sides: { enum: [4, 6, 8, 12, 20] } },
        required: ["count", "sides"],
        additionalProperties: false,
      },
      null,
      2,
    ),
    code: `function run({ count, sides }) {
  const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
  return { rolls, sum: rolls.reduce((a, b) => a + b, 0) };
}`,
  },
];
