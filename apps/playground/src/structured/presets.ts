/** A schema to begin with, and a prompt for it. */
export interface Preset {
  readonly name: string;
  readonly prompt: string;
  readonly schema: object;
}

export const presets: readonly Preset[] = [
  {
    name: "Hero",
    prompt: "Describe the hero of a fairy tale.",
    schema: {
      type: "object",
      properties: {
        name: { type: "string", minLength: 2, maxLength: 20 },
        kind: { enum: ["fox", "owl", "dragon", "princess", "miller"] },
        age: { type: "integer", minimum: 1, maximum: 99 },
        virtues: { type: "array", items: { enum: ["brave", "kind", "clever", "patient"] }, minItems: 1, maxItems: 3 },
      },
      required: ["name", "kind", "age", "virtues"],
      additionalProperties: false,
    },
  },
  {
    name: "Date",
    prompt: "When did the tale happen?",
    schema: {
      type: "object",
      properties: { date: { type: "string", format: "date" }, season: { enum: ["spring", "summer", "autumn", "winter"] } },
      required: ["date", "season"],
      additionalProperties: false,
    },
  },
  {
    name: "Choice",
    prompt: "Does the tale end well?",
    schema: { enum: ["yes", "no", "perhaps"] },
  },
];
