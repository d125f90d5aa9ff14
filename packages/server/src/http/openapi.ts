import { openaiForm } from "../openai/form.ts";
import { version } from "../version.ts";
import type { FieldTable, Shape } from "./fields.ts";
import { json, type Route, route } from "./route.ts";

/** What the server does with a field. */
type Effect = "used" | "accepted without effect" | "refused";

/** Describes these routes as OpenAPI 3.1, from the schemas that check their requests. */
export function openapiRoute(routes: () => readonly Route[]): Route {
  return route({
    api: openaiForm,
    method: "GET",
    paths: ["/openapi.json"],
    summary: "This description.",
    async handle() {
      const { toJSONSchema } = await import("./jsonSchema.ts");
      const schemaOf = (each: Route): object | undefined => {
        if (each.schema === undefined) return undefined;
        const { $schema: _, ...schema } = toJSONSchema(each.schema, { unrepresentable: "any", io: "input" });
        return { ...schema, properties: withEffects(schema.properties ?? {}, each.fields!) };
      };
      const paths: Record<string, Record<string, object>> = {};
      for (const each of routes())
        for (const path of each.paths)
          paths[path] = { ...paths[path], [each.method.toLowerCase()]: operationOf(each, path, schemaOf(each)) };
      return json({ openapi: "3.1.0", info: { title: "Centella", version }, paths });
    },
  });
}

function operationOf({ summary, isPublic }: Route, path: string, schema: object | undefined): object {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(isPublic && { security: [] }),
    ...(schema !== undefined && { requestBody: { required: true, content: { "application/json": { schema } } } }),
    responses: { default: { description: "JSON, or a stream of events" } },
  };
}

/** Schemas of fields that say what the server does with them. */
function withEffects(properties: Readonly<Record<string, object | boolean>>, { ignored = {}, refused = {} }: FieldTable<Shape>): object {
  const effectOf = (name: string): Effect =>
    Object.hasOwn(ignored, name) ? "accepted without effect" : Object.hasOwn(refused, name) ? "refused" : "used";
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const reason = refused[name];
      return [
        name,
        { ...(typeof schema === "object" && schema), "x-effect": effectOf(name), ...(reason !== undefined && { description: reason }) },
      ];
    }),
  );
}
