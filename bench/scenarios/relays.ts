import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Bench, Contender, Sample, Scenario } from "../harness/bench.ts";
import { startDriver } from "../harness/drive.ts";
import { withServers } from "../servers/contenders.ts";
import { type BenchedPostgres, startBenchedPostgres } from "../servers/postgres.ts";
import { type BenchedServer, startGraphileWorker } from "../servers/server.ts";
import { quickDesk, sinkUrl, startTocsin } from "../servers/tocsin.ts";

/** Each is a lane of its own, so several relays can share them. */
const sinks = 6;
/** Enough alerts under way that no relay waits for the load. */
const underWay = 500;
const connections = 48;
/** The time before a relay's code is compiled is not measured. Three relays share the same alerts. */
const warmUpMs = 6_000;
const warmUpAlertsEach = 6_000;

interface Place {
  folder: string;
  databaseUrl: string;
  port: number;
}

type StartRelays = (count: number, place: Place) => Promise<BenchedServer>[];

/** Each alert goes to one of the sinks, by its number. */
function sharedConfig(port: number): Record<string, unknown> {
  const names = Array.from({ length: sinks }, (_, index) => `desk${index}`);
  const digits = ["[06]$", "[17]$", "[28]$", "[39]$", "4$", "5$"];
  return {
    destinations: Object.fromEntries(names.map((name) => [name, quickDesk("webhook", port)])),
    routes: names.map((name, index) => ({ name, match: { title: { matches: digits[index] } }, to: [name] })),
  };
}

function tocsins(checkout: Bench["checkouts"][number], isShared: boolean): StartRelays {
  return (count, { folder, databaseUrl, port }) =>
    Array.from({ length: count }, (_, index) => {
      const own = join(folder, String(index));
      mkdirSync(own, { recursive: true });
      return startTocsin({
        place: "anywhere",
        checkout: checkout.folder,
        folder: own,
        config: sharedConfig(port),
        ...(isShared && { databaseUrl }),
      });
    });
}

const workers: StartRelays = (count, { databaseUrl, port }) =>
  Array.from({ length: count }, () => startGraphileWorker("anywhere", databaseUrl, [sinkUrl(port)]));

async function measure(
  bench: Bench,
  postgres: BenchedPostgres,
  count: number,
  startRelays: StartRelays,
  isOnPostgres: boolean,
): Promise<Sample> {
  return postgres.withDatabase((databaseUrl) =>
    withServers(
      bench,
      "webhook",
      (place) => startRelays(count, { ...place, databaseUrl }),
      async (servers) => {
        const load = { targets: servers.map(({ target }) => target), connections, beside: [postgres.pid] };
        const { loadBusy, commits, statements, walBytes, ...relayed } = await bench.driver.call("shareAlerts", {
          ...load,
          ...{ window: underWay, databaseUrl, warmUpMs, ms: 4_000, warmUpAlerts: warmUpAlertsEach * count },
        });
        const { rate, cpu } = await bench.driver.call("shareAlerts", { ...load, warmUpMs: 500, ms: 2_000 });
        const written = isOnPostgres && { commits, statements, walKb: (walBytes ?? 0) / 1_000 };
        return { ...relayed, ...written, accepted: rate, acceptedCpu: cpu };
      },
    ),
  );
}

/** Several relays on one PostgreSQL, compared with one on SQLite and with a queue on the same server. */
export const relays: Scenario = {
  name: "relays",
  what: "alerts accepted, and relayed, by one to three relays on one PostgreSQL, all on all cores",
  async run(given) {
    const bench = { ...given, driver: startDriver("anywhere") };
    const postgres = await startBenchedPostgres(bench.root);
    try {
      for (const count of [1, 2, 3]) {
        const contender = (name: string, start: StartRelays, share = count, isOnPostgres = true): Contender => ({
          name,
          run: () => measure(bench, postgres, share, start, isOnPostgres),
        });
        await bench.compare({
          title: count === 1 ? "1 relay" : `${count} relays`,
          contenders: [
            contender("Tocsin", tocsins(bench.checkouts[0], true)),
            contender("one on SQLite", tocsins(bench.checkouts[0], false), 1, false),
            contender("graphile-worker", workers),
            ...bench.checkouts.slice(1).map((checkout) => contender(checkout.name, tocsins(checkout, true))),
          ],
          limit: 180,
          figures: [
            { of: "rate", label: "relayed, alerts/s", aim: "ratio to graphile-worker ≥ 1.8" },
            { of: "cpu", label: "CPU an alert relayed", unit: "µs" },
            { of: "cpuOfServers", label: "of it in their own processes", unit: "µs" },
            { of: "commits", label: "commits an alert relayed" },
            { of: "statements", label: "statements an alert relayed", aim: "-" },
            { of: "walKb", label: "written ahead an alert relayed", unit: "kB" },
            { of: "accepted", label: "accepted in a flood, alerts/s" },
            { of: "acceptedCpu", label: "CPU an alert accepted", unit: "µs" },
          ],
          ...(count === 3 && {
            note:
              "graphile-worker keeps no log: a job is one row, which is deleted when it is done; a " +
              "relay keeps request, alert, decisions, delivery and attempt, and makes them searchable",
          }),
        });
      }
    } finally {
      await bench.driver.end();
      await postgres.end();
    }
  },
};
