export { generateOptionNames } from "../generate/generateOptions.ts";
export { abortable } from "./abortable.ts";
export { type EngineLoadOptions, type EngineModel, type LoadSource, loadEngineModel, loadedModel } from "./engineModel.ts";
