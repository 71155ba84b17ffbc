import { join } from "node:path";
import pg from "pg";
import { pause, until } from "../../relays/scope.ts";
import { createFailingProxy } from "../../support/failing-proxy.ts";
import { findLastingPort } from "../../support/lasting-port.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { webhookSecret } from "../../support/relay-process.ts";
import { createSelfSignedCertificate } from "../../support/self-signed-certificate.ts";
import { judge, type Result, readExample, sendAlerts, toDesk, type World, watchProbes } from "./world.ts";

/** Checks in other forms that HAProxy's documents show, each with a backend of its own. */
const otherChecks = {
  http10: "option httpchk GET /readyz?alerts",
  head: "option httpchk HEAD /readyz?alerts",
  bare: "option httpchk",
};

/**
 * HAProxy and nginx by the files of `deploy/`, in front of two relays on one PostgreSQL that is in order, hangs, has a locked table
 * or is gone, with a page opened in the middle; then a relay is stopped and started again. No relay may be out while its hook
 * answers 202, by any of HAProxy's forms of a check.
 */
export async function tryBalancers(world: World): Promise<Result[]> {
  const { scope, folder, write } = world;
  const database = await startPostgresServer();
  scope.atEnd(database.end);
  const way = await createFailingProxy(database.url, scope.atEnd);
  const desk = await world.startDesk();
  const ports = [await findLastingPort(), await findLastingPort()];
  const start = (index: number) =>
    world.startRelay(`relay-${index + 1}`, toDesk(desk), {
      PORT: String(ports[index]),
      DATABASE_URL: way.url,
      RELAY_NAME: `relay-${index + 1}`,
      SPOOL_DIR: join(folder, `relay-${index + 1}`, "spool"),
    });
  const relays = [await start(0), await start(1)];

  const [haproxyPort, statsPort] = [await findLastingPort(), await findLastingPort()];
  const nginxPort = await findLastingPort();
  const { key, cert } = createSelfSignedCertificate(Date.now());
  write("both.pem", `${cert}${key}`);
  const servers = ports.map(
    (port, index) => `\tserver relay-${index + 1} 127.0.0.1:${port} check inter 1s fall 2 rise 1`,
  );
  const backends = Object.entries(otherChecks).map(
    ([name, check]) => `backend ${name}\n\ttimeout check 2s\n\t${check}\n${servers.join("\n")}\n`,
  );
  const haproxy = readExample("haproxy.cfg", [
    [
      "bind :443 ssl crt /etc/haproxy/alerts.example.com.pem",
      `bind 127.0.0.1:${haproxyPort} ssl crt ${folder}/both.pem`,
    ],
    ["127.0.0.1:8081", `127.0.0.1:${ports[0]}`],
    ["127.0.0.1:8082", `127.0.0.1:${ports[1]}`],
    ["\tlog /dev/log local0\n", ""],
  ]);
  const stats = `listen stats\n\tbind 127.0.0.1:${statsPort}\n\tstats enable\n\tstats uri /\n`;
  write("haproxy.cfg", `${haproxy}\n${backends.join("\n")}\n${stats}`);
  world.startProgram("haproxy", "haproxy", ["-db", "-f", "haproxy.cfg"]);
  const site = readExample("nginx.conf", [
    ["/etc/letsencrypt/live/alerts.example.com/fullchain.pem", `${folder}/both.pem`],
    ["/etc/letsencrypt/live/alerts.example.com/privkey.pem", `${folder}/both.pem`],
    ["\tlisten [::]:443 ssl http2;\n", ""],
    ["listen 443", `listen 127.0.0.1:${nginxPort}`],
    [/\tserver 127\.0\.0\.1:8080 (.*)\n/g, ports.map((port) => `\tserver 127.0.0.1:${port} $1\n`).join("")],
  ]);
  write(
    "nginx.conf",
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}\nhttp { access_log off;\n${site}}\n`,
  );
  world.startProgram("nginx", "nginx", ["-e", "stderr", "-c", join(folder, "nginx.conf")]);
  await pause(3_000);

  const out = new Set<string>();
  let phase = "all well";
  const watching = new AbortController();
  const watched = Promise.all([
    watchOut(`http://127.0.0.1:${statsPort}/;csv`, watching.signal, (what, why) => {
      // Silence is judged by `watchProbes`, which knows when it is the machine that is slow.
      if (!why.includes("TOUT")) out.add(`${what} (${why}): ${phase}`);
      else console.log(`${what} for a moment, as the machine was slow: ${phase}`);
    }),
    watchProbes(relays, ["/readyz?alerts"], watching.signal, (what) => out.add(`${what}: ${phase}`)),
  ]);
  // Certificates of its own.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  const senders = [haproxyPort, nginxPort].map((port) =>
    sendAlerts(scope, `https://127.0.0.1:${port}/hooks/${webhookSecret}`, 100),
  );
  await pause(5_000);
  for (const page of ["no page opened", "a page opened"]) {
    phase = `database hangs, ${page}`;
    way.hang();
    await pause(12_000);
    way.goOn();
    await pause(4_000);
    phase = `table locked, ${page}`;
    const locker = new pg.Client(database.url);
    await locker.connect();
    await locker.query("BEGIN; LOCK TABLE alerts");
    await pause(12_000);
    await locker.end();
    await pause(4_000);
    phase = `database gone, ${page}`;
    await database.stop("SIGQUIT");
    await pause(10_000);
    await database.start();
    await until(() => relays.every(({ log }) => log().includes("store.back")), 20_000);
    if (page === "no page opened") for (const { api } of relays) await (await api("/api/status")).text();
  }
  watching.abort();
  await watched;
  const [first] = relays;
  await first?.stop();
  await pause(3_000);
  relays[0] = await start(0);
  await pause(4_000);
  const sent = await Promise.all(senders.map(({ end }) => end()));
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  const accepted = new Set(sent.flatMap((one) => one.accepted));
  await until(() => accepted.size === new Set(desk.ids).size, 60_000);
  const tried = "hangs, locked table, gone, with and without a page; a relay stopped";
  const rows = ["HAProxy", "nginx"].map((counterpart, index) => {
    const own = sent[index] ?? { sent: 0, accepted: [], refused: {} };
    const ids = desk.ids.filter((id) => own.accepted.includes(id));
    return { counterpart, tried, ...judge(own, ids) };
  });
  rows[0]?.faults.push(...out);
  return rows;
}

/** Looks twice a second at HAProxy's table, and names each server that it has taken out. */
async function watchOut(url: string, stop: AbortSignal, onOut: (what: string, why: string) => void): Promise<void> {
  while (!stop.aborted) {
    for (const line of (await fetch(url).then((answer) => answer.text(), String)).split("\n").slice(1)) {
      const [backend = "", server = "", ...rest] = line.split(",");
      if (server.startsWith("relay-") && rest[15]?.startsWith("DOWN"))
        onOut(`${server} out in ${backend}`, rest[34] ?? "");
    }
    await pause(500);
  }
}
