/**
 * A relay on graphile-worker: a POST becomes a job, committed before the answer, which posts the body on. Set for
 * throughput, by its manual.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Logger, run } from "graphile-worker";
import { Agent, request } from "undici";

const { DATABASE_URL: connectionString = "", SINKS = "" } = process.env;
const sinks = SINKS.split(",");
const concurrency = 24;
const agent = new Agent({ connections: concurrency, pipelining: 1 });

const runner = await run({
  preset: {
    worker: {
      connectionString,
      concurrentJobs: concurrency,
      maxPoolSize: 12,
      localQueue: { size: 200 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
  logger: new Logger(() => () => {}),
  noHandleSignals: true,
  taskList: {
    async relay(payload) {
      const { sink, alert } = payload as { sink: string; alert: unknown };
      const { statusCode, body } = await request(sink, {
        dispatcher: agent,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(alert),
      });
      await body.dump();
      if (statusCode >= 300) throw new Error(`answered ${statusCode}`);
    },
  },
});

let next = 0;
const server = createServer((incoming, answer) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", async () => {
    try {
      const alert: unknown = JSON.parse(Buffer.concat(chunks).toString());
      next += 1;
      const job = await runner.addJob("relay", { sink: sinks[next % sinks.length], alert });
      const text = JSON.stringify({ data: { id: job.id, duplicate: false } });
      answer.writeHead(202, { "content-type": "application/json", "content-length": text.length }).end(text);
    } catch (error) {
      answer.writeHead(503).end(String(error));
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.once("SIGTERM", () => {
  server.closeAllConnections();
  server.close();
  void runner.stop().finally(() => process.exit());
});
