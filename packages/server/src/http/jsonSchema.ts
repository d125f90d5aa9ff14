// Loaded on demand. Importing the library by its name there would load all of it.
export { toJSONSchema } from "zod/v4/core";
