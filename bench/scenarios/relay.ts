import { type Bench, type Contender, type Sample, type Scenario, windowOf } from "../harness/bench.ts";
import { memoryOf } from "../harness/processes.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { hasAlertmanager, startAlertmanager } from "../servers/alertmanager.ts";
import { type BenchedServer, relayConfig, startTocsin } from "../servers/tocsin.ts";
import { withServer } from "../servers/with-server.ts";

/** Tocsin and, where it can, Alertmanager, each sending a message an alert to a stand-in of this kind. */
export function relayContenders(
  bench: Bench,
  kind: StandInKind,
  measure: (server: BenchedServer) => Promise<Sample>,
): Contender[] {
  const tocsins = bench.checkouts.map(({ name, folder: checkout }) => ({
    name,
    run: withServer(
      bench,
      kind,
      ({ folder, port }) =>
        startTocsin({ place: "server", checkout, folder, config: relayConfig(kind, port), standInPort: port }),
      measure,
    ),
  }));
  if (kind === "mail" || !hasAlertmanager) return tocsins;
  const run = withServer(
    bench,
    kind,
    ({ folder, port }) => startAlertmanager({ place: "server", folder, receiver: { kind, port } }),
    measure,
  );
  return [...tocsins, { name: "Alertmanager", run }];
}

const names: Record<StandInKind, string> = { webhook: "a webhook", telegram: "a Telegram chat", mail: "a mailbox" };
const aims: Record<StandInKind, string> = { webhook: "ratio ≥ 1.0", telegram: "ratio ≥ 3.0", mail: "" };

/** One message an alert, without a pace: what the way from the hook to the chat can bear. */
export function createRelayScenario(kind: StandInKind): Scenario {
  return {
    name: `relay-${kind}`,
    what: `alerts in to messages out, one message each, to ${names[kind]}`,
    run: (bench) =>
      bench.compare({
        title: `relay to ${names[kind]}, one message each`,
        contenders: relayContenders(bench, kind, async ({ target }) => {
          const sample = await bench.driver.call("relayAlerts", { target, window: 500, ...windowOf(bench, 3, 2) });
          const { messages, connections } = await bench.driver.call("standInCounts");
          return { ...sample, memory: memoryOf(target.pid).most, perConnection: messages / connections };
        }),
        figures: [
          { of: "rate", label: "alerts/s", aim: aims[kind], before: kind === "mail" ? undefined : "90 to 100" },
          { of: "cpu", label: "CPU an alert", unit: "µs", before: kind === "mail" ? undefined : "8,000 to 9,000 µs" },
          { of: "memory", label: "memory at most", unit: "MB" },
          { of: "perConnection", label: "messages a connection" },
        ],
      }),
  };
}
