import { type Bench, type Contender, inFolder, type Sample } from "../harness/bench.ts";
import type { Place } from "../harness/processes.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { hasAlertmanager, startAlertmanager } from "./alertmanager.ts";
import type { BenchedServer } from "./server.ts";
import { digestConfig, startTocsin } from "./tocsin.ts";

interface Surroundings {
  folder: string;
  port: number;
}

export type Measure = (server: BenchedServer, surroundings: Surroundings) => Promise<Sample>;

/** Runs with new servers, each with a folder and a stand-in, which are removed afterwards. */
export function withServers<T>(
  bench: Bench,
  kind: StandInKind,
  startServers: (surroundings: Surroundings) => Promise<BenchedServer>[],
  measure: (servers: BenchedServer[], surroundings: Surroundings) => Promise<T>,
): Promise<T> {
  return inFolder(bench, async (folder) => {
    const port = await bench.driver.call("openStandIn", kind);
    const servers: BenchedServer[] = [];
    try {
      for (const starting of startServers({ folder, port })) servers.push(await starting);
      return await measure(servers, { folder, port });
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      await bench.driver.call("closeStandIn");
    }
  });
}

export const withServer =
  (
    bench: Bench,
    kind: StandInKind,
    startServer: (surroundings: Surroundings) => Promise<BenchedServer>,
    measure: Measure,
  ) =>
  (): Promise<Sample> =>
    withServers(
      bench,
      kind,
      (place) => [startServer(place)],
      ([server], place) => measure(server as BenchedServer, place),
    );

export interface TocsinSettings {
  kind: StandInKind;
  /** Default: `server`. */
  place?: Place;
  /** The configuration for a stand-in at this port. Default: digests to a chat. */
  configOf?: (port: number) => Record<string, unknown>;
}

export function tocsins(bench: Bench, settings: TocsinSettings, measure: Measure): Contender[] {
  const { kind, place = "server", configOf = () => digestConfig } = settings;
  return bench.checkouts.map(({ name, folder: checkout }) => ({
    name,
    run: withServer(
      bench,
      kind,
      ({ folder, port }) => startTocsin({ place, checkout, folder, config: configOf(port), standInPort: port }),
      measure,
    ),
  }));
}

export function alertmanagers(
  bench: Bench,
  { kind, place = "server", isGrouped }: { kind: "webhook" | "telegram"; place?: Place; isGrouped?: boolean },
  measure: Measure,
): Contender[] {
  if (!hasAlertmanager) return [];
  const launch = ({ folder, port }: Surroundings) =>
    startAlertmanager({ place, folder, receiver: { kind, port }, isGrouped });
  return [{ name: "Alertmanager", run: withServer(bench, kind, launch, measure) }];
}
