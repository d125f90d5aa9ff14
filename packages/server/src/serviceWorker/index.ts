export { answerRequests } from "./answerRequests.ts";
export { type ForwardOptions, forwardRequests } from "./forwardRequests.ts";
export { offerWorker } from "./offerWorker.ts";
