import { expect, it } from "vitest";
import type { Outcome } from "../../src/core/delivery.ts";
import type { DeliverySettings } from "../../src/core/delivery-settings.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Illustrate } from "../../src/core/ports/illustration.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { writeTime } from "../support/test-clock.ts";
import * as fixtures from "./engine-fixture.ts";

type Step = fixtures.Step;
export type Scene = [what: string, steps: Step[]];

/** What the next calls of a destination, and its next probes, are answered. */
export const next = (name: string, ...outcomes: Outcome[]) => onChannel(name, ({ script }) => script.push(...outcomes));
export const probes = (name: string, ...all: Outcome[]) => onChannel(name, ({ probes }) => probes.push(...all));
export const everyProbe = (name: string, outcome: Outcome) =>
  onChannel(name, (channel) => {
    channel.everyProbe = outcome;
  });
/** All its calls are answered so from now on; without an outcome they succeed again. */
export const always = (name: string, outcome?: Outcome) =>
  onChannel(name, (channel) => {
    channel.always = outcome && (() => outcome);
  });
export const onChannel =
  (name: string, act: (channel: fixtures.ScriptedChannel) => unknown): Step =>
  (fixture) =>
    void act(fixtures.channelOf(fixture, name));
export const pause =
  (name: string, by?: string): Step =>
  ({ engine }) =>
    engine.setPause(name, by);
export const tryNow =
  (name: string): Step =>
  ({ engine }) =>
    engine.tryNow(name);
export const many =
  (count: number, options: fixtures.DraftOptions = {}, facts = {}): Step =>
  async ({ acceptMany }) =>
    void (await acceptMany(count, facts, options));
/** The store refuses these, or nothing any more. */
export const fails =
  (...names: Parameters<fixtures.EngineFixture["failing"]["add"]>[0][]): Step =>
  ({ failing }) => {
    failing.clear();
    for (const name of names) failing.add(name);
  };
/** From now on alerts are routed as the relay does it: lanes may claim them at once. */
export const claims: Step = (fixture) => {
  fixture.routesByEngine = true;
};

/** From its next start on the engine's store does this so; at once where it differs from the real one already. */
export const doing =
  <K extends keyof Store>(name: K, act: (real: Store[K], scene: fixtures.EngineFixture) => Store[K]): Step =>
  (scene) => {
    if (scene.seen === scene.store) scene.seen = { ...scene.store };
    scene.seen[name] = act(scene.store[name], scene);
  };
/** The next time it does it, perhaps seconds later, and the answer is lost. */
export const losesAnswer = (name: "recordRouting" | "claimRun" | "claimDeliveries", lateMs = 0): Step =>
  doing(name, (real, { seen, clock }) => async (...asked: never[]) => {
    const ask = real as (...asked: never[]) => Promise<unknown>;
    Object.assign(seen, { [name]: real });
    if (lateMs === 0) await ask(...asked);
    else void clock.sleep(lateMs).then(() => ask(...asked));
    throw new AppError("store_unavailable", "The database was lost while it stored a change.");
  });
/** How the deliveries of the newest alerts are. */
export const states: Step = async ({ store }) =>
  (await store.listAlerts({ limit: 2 })).flatMap(({ deliveries }) => deliveries.map(({ state }) => state));

/** Equal lines once, with how many they are. */
function count(lines: string[]): string[] {
  const times = new Map<string, number>();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return [...times].map(([line, many]) => (many === 1 ? line : `${line} (${many} times)`));
}

const join = (...words: unknown[]) => words.filter(Boolean).join(" ");
const shorten = (text: string) => (text.length > 500 ? `${text.slice(0, 380)} … ${text.slice(-100)}` : text);

/**
 * What came of the steps, for a person to read: each call with its time, which delivery it is of, and what became of it, by
 * destination; what functions answered; how each alert stands in the end with its attempts; and what ails a destination.
 */
async function tellScene(scene: fixtures.EngineFixture, steps: Step[]): Promise<string> {
  const { clock, store, channels } = scene;
  const start = clock.now();
  const said: string[] = [];
  for (const step of steps) {
    const answer = typeof step === "function" ? await step(scene) : await scene.play(step);
    if (typeof step === "function" && answer !== undefined)
      said.push(join(writeTime(clock.now() - start), JSON.stringify(answer)));
  }
  const details = await Promise.all(
    (await store.listAlerts({ limit: 1_000 })).toReversed().map(({ id }) => scene.detail(id)),
  );
  const places = new Map(details.map(({ id }, index) => [id, `<${index + 1}>`]));
  const withoutIds = (text: string) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => places.get(id) ?? "<id>");
  const alerts = details.flatMap(({ facts, deliveries }) => {
    if (deliveries.length === 0) return [facts ? `${facts.title}: to nobody` : "an alert: not routed"];
    return deliveries.map(({ id, destination, recipient, state, reason, dueAt = 0, insteadOf, attempts }) => {
      const isOneOfSeveral = deliveries.filter((one) => one.destination === destination).length > 1;
      const title = facts?.title.replace(/^Alert \d+$/, "an alert");
      const due = dueAt > clock.now() && `until ${writeTime(dueAt - start)}`;
      const why = join(reason, insteadOf && `instead of ${insteadOf}`);
      const tries = attempts.map(({ outcome, reason, detail }) => ` · ${join(outcome, reason, detail)}`).join("");
      const picture = scene.pictures.get(id);
      const joined = picture && ` · picture ${join(...Object.values(picture))}`;
      return `${join(`${title}:`, destination, isOneOfSeveral && recipient, state, due, why && `(${why})`)}${tries}${joined ?? ""}`;
    });
  });
  const calls = Object.entries(channels).map(([name, { calls, did, probed }]) => {
    const [recipients, ids] = [
      calls.map(({ context }) => context.recipient),
      calls.map(({ context }) => context.deliveryId),
    ];
    const deliveries = [...new Set(ids)];
    const lines = calls.map(
      ({ at, text, outcome, link, illustration, context: { recipient, deliveryId, threadKey = "" } }, index) => {
        const to = new Set([...recipients, ...probed.map(({ recipient }) => recipient)]).size > 1 && `to ${recipient}`;
        const became = outcome?.kind !== "sent" && `→ ${outcome ? join(outcome.kind, outcome.reason) : "no answer"}`;
        const key = threadKey.length < 20 && threadKey && `of ${threadKey}`;
        const words = shorten(
          withoutIds(text)
            .split(/\s*\n\s*/)
            .join(" / "),
        );
        const shows = illustration && `with ${join(withoutIds(illustration.alt), illustration.line)}`;
        const goes = link && !link.includes("/alerts/") && `[${link}]`;
        return {
          at,
          line: join(`#${deliveries.indexOf(deliveryId) + 1}`, did[index], key, to, shows, became, `: ${words}`, goes),
        };
      },
    );
    const tries = probed.map(({ at, recipient, outcome }) => {
      const became = outcome.kind === "sent" ? "yes" : join(outcome.kind, outcome.reason);
      return { at, line: `probe of ${recipient}: ${became}` };
    });
    const all = [...lines, ...tries].sort((one, other) => one.at - other.at);
    return [name, all.map(({ at, line }) => join(writeTime(at - start), line))] as const;
  });
  const states = scene.engine.statuses();
  // Several destinations have one account; a destination may have its name.
  const accounts = new Map(states.flatMap(({ account }) => (account ? [[account.name, account]] : [])));
  const health = [...states.map(({ own }) => own), ...accounts.values()].flatMap(({ name, health, reason, paused }) =>
    health === "ok" && !paused ? [] : [join(name, health, reason && `(${reason})`, paused && `paused by ${paused.by}`)],
  );
  const parts = [...calls, ["said", said], ["alerts", count(alerts)], ["health", health]] as const;
  const shown = parts
    .filter(([, lines]) => lines.length > 0)
    .flatMap(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)]);
  return `\n${shown.join("\n")}\n`;
}

/** Compares scenes with these destinations, each by itself, with what a person has read: __snapshots__. */
export const tellScenesOf =
  (destinations: fixtures.Named<string>[], ...more: [change?: (settings: DeliverySettings) => void, Illustrate?]) =>
  (scenes: Scene[]) =>
    it.each(scenes)("%s", async (_what, steps) => {
      expect(await tellScene(await fixtures.startFixture(destinations, ...more), steps)).toMatchSnapshot();
    });
