import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../workshop/stand-in.ts";
import { hasCommand, type Place, start } from "../harness/processes.ts";
import { type BenchedServer, serverOf } from "./server.ts";

const command = "prometheus-alertmanager";
export const hasAlertmanager = hasCommand(command);
export const installHint = `sudo apt-get install --no-install-recommends ${command}`;

/** Alertmanager at its quickest: it holds alerts in memory, so a crash loses accepted alerts of up to 15 minutes. */
export async function startAlertmanager(options: AlertmanagerOptions): Promise<BenchedServer> {
  const server = await launchAlertmanager(options);
  for (let tries = 0; ; tries += 1) {
    const isReady = await fetch(`${server.origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return server;
    const { exitCode, signalCode } = server.process;
    if (exitCode !== null || signalCode !== null || tries > 1_000) throw new Error("Alertmanager did not start");
    await sleep(10);
  }
}

interface AlertmanagerOptions {
  place: Place;
  folder: string;
  receiver: { kind: "webhook" | "telegram"; port: number };
  /** All alerts in one message, the usual setting, so it has little to send. Default: one message for each alert. */
  isGrouped?: boolean;
}

/** Does not wait until the server is ready. */
export async function launchAlertmanager(options: AlertmanagerOptions): Promise<BenchedServer> {
  const { place, folder, receiver, isGrouped = false } = options;
  const root = `http://127.0.0.1:${receiver.port}`;
  const receivers = {
    webhook: { webhook_configs: [{ url: `${root}/sink`, send_resolved: false }] },
    telegram: {
      telegram_configs: [
        { bot_token: "7:bench-token-bench-token", chat_id: -1001, api_url: root, send_resolved: false },
      ],
    },
  };
  const config = {
    route: {
      receiver: "desk",
      group_by: [isGrouped ? "alertname" : "..."],
      group_wait: isGrouped ? "30s" : "0s",
      group_interval: "5m",
      repeat_interval: "24h",
    },
    receivers: [{ name: "desk", ...receivers[receiver.kind] }],
  };
  const configPath = join(folder, "alertmanager.yml");
  writeFileSync(configPath, JSON.stringify(config));
  const port = await freePort();
  const child = start(
    [
      command,
      `--config.file=${configPath}`,
      `--storage.path=${join(folder, "alertmanager")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--cluster.listen-address=",
      "--log.level=error",
    ],
    { place },
  );
  child.stdout?.resume();
  return serverOf(child, `http://127.0.0.1:${port}`, "/api/v2/alerts", { dialect: "alertmanager" });
}
