import type { Readiness, WatchView } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { HeartbeatLine, HeartbeatSettings } from "../vendors/heartbeat.ts";
import type { ShownDuty } from "./watch.ts";

export interface HeartbeatDeps {
  settings: Pick<HeartbeatSettings, "everyMs">;
  line: HeartbeatLine;
  /** Ends within seconds, also when the store hangs. */
  readiness(): Promise<Readiness>;
  clock: Clock;
  log: Log;
}

type State = { name: "starting" | "beating" | "silent" | "not_taken"; since: number; reason: string };

const lookEveryMs = 30_000;
/** The time to the next look while the relay is not ready, or after a refused sign. */
const lookAgainMs = 10_000;
/** A shorter trouble is no reason to wake people. */
const failingAfterMs = 30_000;

/** The heartbeat of the configuration, with its connection. */
export async function openHeartbeatWatch(
  { heartbeat: settings }: { heartbeat?: HeartbeatSettings },
  deps: Omit<HeartbeatDeps, "settings" | "line">,
): Promise<ShownDuty | undefined> {
  if (settings === undefined) return undefined;
  const { openHeartbeat } = await import("../vendors/heartbeat.ts");
  return createHeartbeat({ ...deps, settings, line: await openHeartbeat(settings, { now: deps.clock.now }) });
}

/**
 * Sends a sign of life to an outside service, which warns people when it stops. Only a ready relay (`GET /readyz`)
 * sends it.
 *     ready ──▶ alive, again after `everyMs`, and looked at between; not taken: again after some seconds
 *     not ready ──▶ nothing, looked at every few seconds ──for half a minute──▶ failing, once, where the service knows it
 *     stopped in order ──▶ nothing more
 */
export function createHeartbeat({ settings: { everyMs }, line, readiness, clock, log }: HeartbeatDeps): ShownDuty {
  let state: State = { name: "starting", since: clock.now(), reason: "" };
  let lookedAt: number | undefined;
  /** The last turn whose sign was accepted. Absent: the next is due now. */
  let takenAt: number | undefined;
  let hasSaidFailing = false;

  function turnTo(name: State["name"], reason = ""): void {
    const isNew = name !== state.name;
    state = { name, since: isNew ? clock.now() : state.since, reason };
    if (isNew) log[name === "beating" ? "info" : "warn"](`heartbeat.${name}`, { to: line.host, reason });
  }

  async function beSilent(reasons: string[], stop: AbortSignal): Promise<void> {
    turnTo("silent", reasons.join("; "));
    if (!line.knowsFailure || hasSaidFailing || clock.now() - state.since < failingAfterMs) return;
    hasSaidFailing = (await line.send("failing", stop)) === undefined;
  }

  /** Returns the wait until the next turn. */
  async function takeTurn(stop: AbortSignal): Promise<number> {
    const startedAt = clock.now();
    const { ready, reasons } = await readiness();
    if (stop.aborted) return 0;
    lookedAt = clock.now();
    if (!ready) {
      takenAt = undefined;
      await beSilent(reasons, stop);
      return lookAgainMs;
    }
    hasSaidFailing = false;
    const leftMs = waitOf(startedAt);
    if (leftMs > 0) return leftMs;
    const why = await line.send("alive", stop);
    if (stop.aborted) return 0;
    if (why !== undefined) {
      takenAt = undefined;
      turnTo("not_taken", why);
      return Math.min(lookAgainMs, everyMs);
    }
    takenAt = startedAt;
    turnTo("beating");
    return waitOf(clock.now());
  }

  /** 0: the next sign is due, also when the clock was set back. */
  function waitOf(now: number): number {
    const passedMs = takenAt === undefined ? everyMs : now - takenAt;
    return passedMs < 0 ? 0 : Math.min(lookEveryMs, Math.max(0, everyMs - passedMs));
  }

  return {
    async run(stop) {
      while (!stop.aborted) await clock.sleep(await takeTurn(stop), stop);
      await line.close();
    },
    view: () => viewOf(state, line.host, lookedAt),
  };
}

function viewOf({ name, since, reason }: State, host: string, lookedAt?: number): WatchView {
  const view = { name: "heartbeat", lookedAt, troubles: [] };
  const inTrouble = (summary: string, advice = ""): WatchView => {
    return { ...view, verdict: "trouble", summary, troubles: [`Heartbeat: ${summary}.${advice}`] };
  };
  const from = `since ${new Date(since).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  switch (name) {
    case "starting":
      return { ...view, verdict: "unknown", summary: `the first is about to be sent to ${host}` };
    case "beating":
      return { ...view, verdict: "well", summary: `${host} takes it` };
    case "silent":
      return inTrouble(`none is sent to ${host} ${from}, as the relay is not ready: ${reason}`);
    case "not_taken":
      return inTrouble(
        `${host} does not take it ${from}: ${reason}`,
        " Compare the address with the one that the service shows; people there get an alarm that the relay is gone.",
      );
    default:
      return name satisfies never;
  }
}
