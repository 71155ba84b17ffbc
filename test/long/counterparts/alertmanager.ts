import { createServer, type Server } from "node:http";
import { pause } from "../../relays/scope.ts";
import { findLastingPort } from "../../support/lasting-port.ts";
import { adminToken } from "../../support/relay-process.ts";
import { type Result, toDesk, type World } from "./world.ts";

const targets = ["one", "two", "three"];

/**
 * Prometheus scrapes the relay and three targets that end and come back; Alertmanager sends what it finds here, again and again as
 * its groups notify. People hear of each outage once when it begins and once when it ends.
 */
export async function tryAlertmanager(world: World): Promise<Result[]> {
  const { scope, folder, write } = world;
  const desk = await world.startDesk();
  const relay = await world.startRelay("relay", toDesk(desk), {});
  const [prometheusPort, alertmanagerPort] = [await findLastingPort(), await findLastingPort()];
  const ports = [await findLastingPort(), await findLastingPort(), await findLastingPort()];
  const servers = new Map<number, Server>();
  const up = (port: number) =>
    servers.set(port, createServer((_request, response) => response.end("x 1\n")).listen(port, "127.0.0.1"));
  const down = (port: number) => {
    servers.get(port)?.closeAllConnections();
    servers.get(port)?.close();
  };
  for (const port of ports) up(port);
  scope.atEnd(() => ports.forEach(down));

  const scrapes = targets.map(
    (name, index) => `      - { targets: ["127.0.0.1:${ports[index]}"], labels: { service: ${name} } }`,
  );
  write(
    "rules.yml",
    `groups:\n  - name: targets\n    rules:\n      - { alert: TargetDown, expr: 'up{job="targets"} == 0', labels: { severity: warning }, annotations: { summary: "{{ $labels.service }} is down" } }\n`,
  );
  write("token", adminToken);
  write(
    "prometheus.yml",
    `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yml]
alerting: { alertmanagers: [{ static_configs: [{ targets: ["127.0.0.1:${alertmanagerPort}"] }] }] }
scrape_configs:
  - job_name: targets
    static_configs:
${scrapes.join("\n")}
  - job_name: tocsin
    scrape_interval: 10s
    scrape_timeout: 10s
    authorization: { credentials_file: token }
    static_configs: [{ targets: ["${new URL(relay.url).host}"] }]
`,
  );
  write(
    "alertmanager.yml",
    `route: { receiver: tocsin, group_by: [alertname], group_wait: 1s, group_interval: 5s, repeat_interval: 20s }
receivers: [{ name: tocsin, webhook_configs: [{ url: "${relay.hookUrl}", send_resolved: true }] }]
`,
  );
  const listen = (port: number) => `--web.listen-address=127.0.0.1:${port}`;
  const alertmanager = ["--config.file=alertmanager.yml", `--storage.path=${folder}/alertmanager`];
  const alone = ["--cluster.listen-address=", listen(alertmanagerPort)];
  world.startProgram("alertmanager", "prometheus-alertmanager", [...alertmanager, ...alone]);
  const prometheus = ["--config.file=prometheus.yml", `--storage.tsdb.path=${folder}/prometheus`];
  const quick = ["--rules.alert.resend-delay=2s", listen(prometheusPort)];
  world.startProgram("prometheus", "prometheus", [...prometheus, ...quick]);
  await pause(8_000);
  // One ends while the group still has others, so the group notifies of it again.
  for (const port of ports) {
    down(port);
    await pause(8_000);
  }
  for (const port of ports) {
    up(port);
    await pause(12_000);
  }
  await pause(60_000);

  const { data } = await relay.getJson<{ data: { alerts: { total: number } } }>("/api/status");
  const count = (isEnd: boolean, name: string) =>
    desk.texts.filter((text) => text.startsWith("✅ Over") === isEnd && text.includes(`${name} is down`)).length;
  const faults: string[] = [];
  for (const name of targets) {
    if (count(false, name) === 0) faults.push(`the begin of ${name} was not told`);
    if (count(true, name) !== 1) faults.push(`the end of ${name} was told ${count(true, name)} times`);
  }
  const query = `http://127.0.0.1:${prometheusPort}/api/v1/query?query=min_over_time(up{job="tocsin"}[2m])`;
  const scraped = (await (await fetch(query)).json()) as { data: { result: { value: [number, string] }[] } };
  if (scraped.data.result[0]?.value[1] !== "1") faults.push("a scrape of the relay failed");
  faults.push(...desk.notices.map((text) => `notice: ${text.slice(0, 100)}`));
  const { total } = data.alerts;
  const ids = new Set(desk.ids);
  const [counterpart, tried] = ["Prometheus, Alertmanager", "three targets end and come back; groups notify again"];
  const counts = { sent: total, accepted: total, arrived: ids.size, doubled: desk.ids.length - ids.size };
  return [{ counterpart, tried, ...counts, faults }];
}
