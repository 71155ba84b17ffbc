import { chownSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { pause, until } from "../../relays/scope.ts";
import { findLastingPort } from "../../support/lasting-port.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { judge, type Result, sendAlerts, toDesk, type World, watchProbes } from "./world.ts";

/** pgbouncer between a relay and its PostgreSQL, in transaction mode, paused and restarted; every probe is answered within a second. */
export async function tryPooler(world: World): Promise<Result[]> {
  const { scope, folder, write } = world;
  const database = await startPostgresServer();
  scope.atEnd(database.end);
  const port = await findLastingPort();
  const target = new URL(database.url);
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${target.port} user=postgres`,
    "[pgbouncer]",
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    "auth_type = any\nadmin_users = postgres\npool_mode = transaction",
    "default_pool_size = 4\nignore_startup_parameters = extra_float_digits",
  ];
  const path = write("pgbouncer.ini", `${settings.join("\n")}\n`);
  const [, , uid, gid] = (readFileSync("/etc/passwd", "utf8").match(/^nobody:.*$/m)?.[0] ?? "").split(":").map(Number);
  chownSync(path, uid ?? 65_534, gid ?? 65_534);
  const startPooler = () => world.startProgram("pgbouncer", "pgbouncer", [path], { uid, gid });
  startPooler();
  await pause(1_000);
  const desk = await world.startDesk();
  const address = `postgres://postgres@127.0.0.1:${port}`;
  const env = {
    DATABASE_URL: `${address}/postgres`,
    DATABASE_LISTEN_URL: database.url,
    SPOOL_DIR: join(folder, "spool"),
  };
  const relay = await world.startRelay("relay", toDesk(desk), env);

  const slow: string[] = [];
  const watching = new AbortController();
  const paths = ["/readyz?alerts", "/metrics"];
  const watched = watchProbes([relay], paths, watching.signal, (what) => slow.push(what));
  const sender = sendAlerts(scope, relay.hookUrl, 100);
  await pause(4_000);
  const admin = new pg.Client(`${address}/pgbouncer`);
  await admin.connect();
  // It answers when all that was under way has ended.
  await admin.query("PAUSE");
  await pause(15_000);
  await admin.query("RESUME");
  await pause(4_000);
  await admin.query("RECONNECT");
  await pause(4_000);
  await admin.end();
  const sent = await sender.end();
  await until(() => sent.accepted.every((id) => desk.ids.includes(id)), 60_000);
  watching.abort();
  await watched;
  const counts = judge(sent, desk.ids);
  return [
    { counterpart: "pgbouncer", tried: "PAUSE for 15 s, RECONNECT", ...counts, faults: [...counts.faults, ...slow] },
  ];
}
