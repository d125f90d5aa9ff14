export { answerRequests } from "./answerRequests.ts";
export { type ForwardOptions, forwardRequests } from "./forwardRequests.ts";
export { type MessageTarget, offerWorker } from "./offerWorker.ts";
