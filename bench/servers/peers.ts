import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputOf } from "../harness/processes.ts";
import { launch, type Server } from "./server.ts";
import { botToken, rootUrl, sinkUrl } from "./tocsin.ts";

const alertmanager = "prometheus-alertmanager";

/**
 * Alertmanager at its quickest: it holds alerts in memory, so a crash loses accepted alerts of up to 15 minutes. None
 * where it is not installed.
 * @param isGrouped all alerts in one message, the usual setting, so it has little to send. Otherwise one message each
 */
export function alertmanagers(kind: "webhook" | "telegram", isGrouped: boolean): Server[] {
  if (outputOf("which", alertmanager) === "") return [];
  const unresolved = { send_resolved: false };
  const chat = { bot_token: botToken, chat_id: -1001, ...unresolved };
  const receiversOf = (port: number) => ({
    webhook: { webhook_configs: [{ url: sinkUrl(port), ...unresolved }] },
    telegram: { telegram_configs: [{ api_url: rootUrl(port), ...chat }] },
  });
  const once = isGrouped ? { group_by: ["alertname"], group_wait: "30s" } : { group_by: ["..."], group_wait: "0s" };
  const route = { receiver: "desk", group_interval: "5m", repeat_interval: "24h", ...once };
  return [
    {
      name: "Alertmanager",
      launch(place, { folder, port }) {
        const configPath = join(folder, "alertmanager.yml");
        writeFileSync(configPath, JSON.stringify({ route, receivers: [{ name: "desk", ...receiversOf(port)[kind] }] }));
        const command = (own: number) => [
          alertmanager,
          `--config.file=${configPath}`,
          `--storage.path=${join(folder, "alertmanager")}`,
          `--web.listen-address=127.0.0.1:${own}`,
          "--cluster.listen-address=",
          "--log.level=error",
        ];
        return launch({ place, command, hook: "/api/v2/alerts", dialect: "alertmanager", readyPath: "/-/ready" });
      },
    },
  ];
}

const ownProgram = (file: URL) => () => [process.execPath, "--import", "tsx", fileURLToPath(file)];
const honoCommand = ownProgram(new URL("hono-process.ts", import.meta.url));
const workerCommand = ownProgram(new URL("graphile-worker-process.ts", import.meta.url));

/** The bare server, see `hono-process.ts`. */
export const hono: Server = {
  name: "Hono",
  launch: (place) => launch({ place, command: honoCommand, hook: "/hooks/bench" }),
};

/** See `graphile-worker-process.ts`. The first process creates the schema. */
export const launchWorker =
  (databaseUrl: string): Server["launch"] =>
  (place, { port }) => {
    const env = { DATABASE_URL: databaseUrl, SINK: sinkUrl(port) };
    return launch({ place, command: workerCommand, env, hook: "/hooks/bench" });
  };

/**
 * The lowest cost of a durable relay with SQLite: one route, one webhook, no pages, two commits an alert.
 * @param file the program, see `--floor`
 */
export const floorIn = (file: string): Server => ({
  name: "the floor",
  launch(place, { folder, port }) {
    const env = { MODE: "thread", STEPS: "2", DB: join(folder, "floor.db"), SINK: sinkUrl(port) };
    return launch({ place, command: () => [process.execPath, file], env, hook: "/", countsIn: folder });
  },
});

const answer202 = (port: number) =>
  `require("http").createServer((q, r) => { q.resume(); r.writeHead(202).end() }).listen(${port}, "127.0.0.1")`;

/** The runtime alone. */
export const bareNode: Server = {
  name: "bare Node",
  launch: (place) => launch({ place, command: (port) => [process.execPath, "-e", answer202(port)], hook: "/" }),
};
