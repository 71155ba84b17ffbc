import { join, resolve } from "node:path";
import type { Bench, Contender, Sample, Scenario } from "../harness/bench.ts";
import { type FloodOptions, flood } from "../harness/loads.ts";
import { moveTo } from "../harness/processes.ts";
import type { Target } from "../harness/requests.ts";
import { launchWorker } from "../servers/peers.ts";
import { countWritten, startBenchedPostgres } from "../servers/postgres.ts";
import { type BenchedServer, type Server, type Surroundings, withServers } from "../servers/server.ts";
import { sharedConfig, tocsinIn } from "../servers/tocsin.ts";

/** Each is a lane of its own, so several relays can share them. */
const sinks = 6;
/** Enough alerts under way that no relay waits for the load. */
const underWay = 500;
/** The time before a relay's code is compiled is not measured. Three relays share the same alerts. */
const warmUpAlertsEach = 6_000;

const tocsinOn = (checkout: string, databaseUrl?: string) =>
  tocsinIn(checkout, (port) => sharedConfig(port, sinks), { databaseUrl });

async function measure(targets: Target[], postgres: number, countMore?: FloodOptions["countMore"]): Promise<Sample> {
  const load = { targets, connections: 48, beside: [postgres] };
  const warmUp = { warmUpMs: 6_000, warmUpAlerts: warmUpAlertsEach * targets.length };
  const relayed = await flood({ ...load, ...warmUp, window: underWay, ms: 4_000, countMore });
  const { rate = Number.NaN, cpu = Number.NaN }: Sample = await flood({ ...load, warmUpMs: 500, ms: 2_000 });
  return { ...relayed, loadBusy: 0, accepted: rate, acceptedCpu: cpu };
}

type Postgres = Awaited<ReturnType<typeof startBenchedPostgres>>;

/** Runs this number of relays, each with a folder of its own, on a new database. */
function createContender(
  { withDatabase, pid }: Postgres,
  name: string,
  count: number,
  launchOn: (databaseUrl: string) => Server["launch"],
  isOnPostgres = true,
): Contender {
  const launchAll =
    (url: string) =>
    ({ folder, port }: Surroundings) =>
      Array.from({ length: count }, (_, index) =>
        launchOn(url)("anywhere", { folder: join(folder, String(index)), port }),
      );
  const measureAll = (url: string) => (servers: BenchedServer[]) => {
    const targets = servers.map(({ target }) => target);
    return measure(targets, pid, isOnPostgres ? () => countWritten(url) : undefined);
  };
  return { name, run: () => withDatabase((url) => withServers("webhook", launchAll(url), measureAll(url))) };
}

/** Several relays on one PostgreSQL, compared with one on SQLite and with a queue on the same server. */
export const relays: Scenario = {
  name: "relays",
  what: "alerts accepted, and relayed, by one to three relays on one PostgreSQL, all on all cores",
  async run(bench) {
    // PostgreSQL begins on the cores of this process.
    moveTo("anywhere");
    // A folder of `inFolder` would be closed to the user of PostgreSQL.
    const postgres = await startBenchedPostgres(resolve("."));
    try {
      for (const count of [1, 2, 3]) await compareWith(bench, postgres, count);
    } finally {
      await postgres.end();
      moveTo("beside");
    }
  },
};

function compareWith({ checkouts, compare }: Bench, postgres: Postgres, count: number): Promise<void> {
  const [own, ...others] = checkouts.map(({ name, folder }) =>
    createContender(postgres, name, count, (url) => tocsinOn(folder, url)),
  );
  const peers = [
    createContender(postgres, "one on SQLite", 1, () => tocsinOn("."), false),
    createContender(postgres, "graphile-worker", count, launchWorker),
  ];
  return compare({
    title: count === 1 ? "1 relay" : `${count} relays`,
    contenders: [...(own ? [own] : []), ...peers, ...others],
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
