export { startThreads } from "./threads/startThreads.ts";
