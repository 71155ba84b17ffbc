/**
 * A relay on graphile-worker: a POST becomes a job, committed before the answer, which posts the body on. Set for
 * throughput, by its manual.
 */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { Logger, run } from "graphile-worker";
import { Agent, request } from "undici";

const { DATABASE_URL: connectionString = "", SINK: sink = "", PORT } = process.env;
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
    async relay(alert) {
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

const server = createServer(async (incoming, answer) => {
  try {
    const job = await runner.addJob("relay", await json(incoming));
    const text = JSON.stringify({ data: { id: job.id, duplicate: false } });
    answer.writeHead(202, { "content-type": "application/json", "content-length": text.length }).end(text);
  } catch (error) {
    answer.writeHead(503).end(String(error));
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log("ready"));
