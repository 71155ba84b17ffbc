// In the place of the thread that makes PNG: does what the "picture" says.
import { parentPort, threadId } from "node:worker_threads";

parentPort.on("message", ({ svg }) => {
  if (svg === "hang") for (;;);
  if (svg === "die") process.exit(1);
  parentPort.postMessage({ png: new TextEncoder().encode(svg === "thread" ? String(threadId) : svg) });
});
