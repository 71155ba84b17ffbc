import { threadId, workerData } from "node:worker_threads";
import { serveReading } from "../../dist/intake/thread/protocol.js";
import { translateRequest } from "../../dist/intake/translate.js";

let hasStood = false;

serveReading({ translate });

function translate({ body, contentType }) {
  const text = Buffer.from(body).toString();
  if (text.includes("please hang")) for (;;);
  if (text.includes("please sleep")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (text.includes("please stand still")) standStill();
  if (text.includes("please throw")) throw new Error("the reader has a bug");
  if (text.includes("please crash")) process.exit(1);
  if (text.includes("please vanish")) {
    // As if the answer were too large to be sent.
    Atomics.store(new Int32Array(workerData.progress), 0, -1);
    process.exit(1);
  }
  if (text.includes("please kill")) process.kill(process.pid, "SIGKILL");
  if (text.includes("please eat")) for (const eaten = []; ; ) eaten.push(new Array(10_000).fill(0.5));
  return translateRequest(text === "which thread" ? Buffer.from(`thread ${threadId}`) : body, contentType);
}

/** The whole process is stopped, and reads this body further when somebody continues it. Once: a webhook reads it again. */
function standStill() {
  if (hasStood) return;
  hasStood = true;
  // Both times so long that the other thread surely looks at what is being read.
  work(400);
  process.kill(process.pid, "SIGSTOP");
  work(300);
}

function work(ms) {
  const before = process.cpuUsage();
  const usedMs = ({ user, system }) => (user + system) / 1_000;
  while (usedMs(process.cpuUsage(before)) < ms);
}
