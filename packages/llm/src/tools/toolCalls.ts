/* What chats with tools load, in one file. */
export { findFormat } from "./formats/findFormat.ts";
export { runTools } from "./runTools.ts";
export { toolPrompt } from "./toolPrompt.ts";
export { openTools } from "./turnTools.ts";
