import type { ShapePlaceView, ShapesView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { MappableFact } from "../core/mapping.ts";
import { createPoll } from "../core/poll.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import { fieldMatchers, type Route } from "../core/rules.ts";
import type { SeenShape } from "../core/shape.ts";
import { cut } from "../ground/text/graphemes.ts";
import { factsBehind, parseFieldPath, writeFieldPath } from "../matching/path.ts";
import type { LostPlace, PlaceRecord } from "./missing-places.ts";
import {
  createShapeCatalogue,
  type Drift,
  maxNewWords,
  type NewWord,
  type SavedCatalogue,
  type ShapeCatalogue,
  type ShapeRecord,
} from "./shape-catalogue.ts";

export interface ShapeWatchDeps {
  store: WatchStore;
  /** Saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** The next alert of this shape is to say what it is made of. */
  askForShape(id: string): void;
  /** What they read is told when it is gone. */
  routes: Route[];
  /** Says where facts are looked for; what was read from each place counts no longer when it has changed. */
  readBy: string;
  /** Leads to the page. */
  publicUrl: string;
  clock: Clock;
  log: Log;
}

/** Notices the shapes of what comes in, and tells people when one loses what is read from it. */
export interface ShapeWatch {
  /** The alerts of one request. Never throws, and waits for nothing. */
  note(alerts: readonly SeenShape[], receivedAt: number, hook?: string): void;
  view(): ShapesView;
  /** Sends and saves until `stop` is aborted, and saves once more then. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

/** Counts of this long may be lost with the process; what was told is not. */
const saveEveryMs = 60_000;
const lookEveryMs = 2_000;
const stateName = "shapes";
/** Notices that wait for a store that is away. */
const maxPending = 50;

interface SavedState {
  catalogue: SavedCatalogue;
  readBy: string;
  /** Written and not sent yet. */
  pending: AlertFacts[];
}

/** Reads what an earlier run has saved; without it, or with what cannot be read, it begins anew. */
export async function openShapeWatch(deps: ShapeWatchDeps): Promise<ShapeWatch> {
  const { store, clock, log, publicUrl } = deps;
  const readers = listReaders(deps.routes);
  const options = { isReadByRoutes: (path: string) => readers.ofPath(path).length > 0, askFor: deps.askForShape };
  let catalogue = createShapeCatalogue(options);
  let pending: AlertFacts[] = [];
  try {
    const saved = (await store.loadWatchState(stateName)) as SavedState | undefined;
    if (saved !== undefined) {
      const isReadAnew = saved.readBy !== deps.readBy;
      catalogue = createShapeCatalogue({ ...options, saved: saved.catalogue, isReadAnew });
      pending = [...saved.pending];
    }
  } catch (error) {
    // No alert waits for it.
    log.error("shapes.not_loaded", { error: String(error).slice(0, 300) });
  }
  let savedAt = clock.now();
  let isDirty = false;

  const state = (waiting: AlertFacts[]): WatchState => {
    const content: SavedState = { catalogue: catalogue.save(), readBy: deps.readBy, pending: waiting };
    return { name: stateName, state: content };
  };

  async function save(): Promise<void> {
    isDirty = false;
    savedAt = clock.now();
    try {
      await store.saveWatchState(state(pending));
    } catch (error) {
      isDirty = true;
      throw error;
    }
  }

  async function look(): Promise<void> {
    for (let next = pending[0]; next !== undefined; next = pending[0]) {
      const rest = pending.slice(1);
      await deps.notify(next, state(rest));
      // Others may have come meanwhile.
      pending = pending.slice(1);
    }
    if (isDirty && Math.abs(clock.now() - savedAt) >= saveEveryMs) await save();
  }

  const poll = createPoll({
    look,
    everyMs: lookEveryMs,
    clock,
    onFailed: (error) => log.error("shapes.failed", { error: String(error).slice(0, 300) }),
  });

  function tell(news: Drift | NewWord): void {
    const isWord = "word" in news;
    const what = isWord ? [news.path] : news.lost.slice(0, 20).map(({ path }) => path);
    log.warn(isWord ? "shape.severity_unknown" : "shape.changed", { kind: news.kind.number, paths: what });
    const link = `${publicUrl}/shapes`;
    const facts = isWord ? writeWordNotice(news, readers, link) : writeShapeNotice(news, readers, link);
    if (pending.length < maxPending) pending = [...pending, facts];
    poll.wake();
  }

  return {
    note(alerts, receivedAt, hook) {
      try {
        isDirty = true;
        for (const news of catalogue.note(alerts, receivedAt, hook)) tell(news);
      } catch (error) {
        log.error("shapes.failed", { error: String(error).slice(0, 300) });
      }
    },
    view: () => viewShapes(catalogue, readers),
    async run(stop) {
      await poll.run(stop);
      if (isDirty) await save().catch((error) => log.error("shapes.unsaved", { error: String(error).slice(0, 300) }));
    },
  };
}

/** Which routes look at a path of the payload, and at a fact. By their names, in their order. */
interface Readers {
  ofPath(path: string): string[];
  ofFact(fact: MappableFact): string[];
}

function listReaders(routes: Route[]): Readers {
  const ofFact = new Map<string, Set<string>>();
  const ofPath = new Map<string, Set<string>>();
  const add = (map: Map<string, Set<string>>, key: string, route: string) =>
    map.set(key, (map.get(key) ?? new Set()).add(route));
  for (const { name, matchers } of routes) {
    for (const { field } of fieldMatchers(matchers)) {
      const parsed = parseFieldPath(field);
      if (!parsed.ok) continue;
      if (parsed.path.kind === "fact") {
        for (const fact of factsBehind(parsed.path.fact)) add(ofFact, fact, name);
        continue;
      }
      // Of a list the first element stands for all. A short list of texts has one place.
      const steps = parsed.path.steps.map((step) =>
        step.kind === "key" ? step : ({ kind: "index", index: 0 } as const),
      );
      add(ofPath, writeFieldPath({ kind: "payload", steps }), name);
      const last = steps.at(-1);
      if (last?.kind === "index") add(ofPath, writeFieldPath({ kind: "payload", steps: steps.slice(0, -1) }), name);
    }
  }
  return {
    ofPath: (path) => [...(ofPath.get(path) ?? [])],
    ofFact: (fact) => [...(ofFact.get(fact) ?? [])],
  };
}

const mostListed = 12;

/** Alerts are sent as before, so it is a matter for the morning: without a sound. */
function noticeOf(alertKey: string, link: string) {
  return {
    severity: "info" as const,
    status: "firing" as const,
    format: "empty" as const,
    alertKey: `tocsin:shape:${alertKey}`,
    source: "Tocsin",
    link,
    fields: [],
    notes: [],
  };
}

function alertsOf({ title, source }: Drift["kind"]): string {
  return source === undefined ? `alerts like “${cut(title, 80)}”` : `alerts of ${cut(source, 80)}`;
}

/** Which routes no longer take them, and what to write. The word is the only value of a body that a notice has. */
function writeWordNotice({ kind, path, word, isLast }: NewWord, readers: Readers, link: string): AlertFacts {
  const routes = readers.ofFact("severity");
  const place = kind.hook === undefined ? "mapping:" : `sources.${kind.hook}.mapping:`;
  const last = isLast ? ` These alerts have had ${maxNewWords} such words: no further one is reported.` : "";
  return {
    ...noticeOf(`${kind.number}:word:${word}`, link),
    title: `The severity “${word}” is not known, in ${alertsOf(kind)}`,
    text: [
      `${nameOf(path)} says “${word}”, so the severity of these alerts is unknown. They are sent where routes take them without one.`,
      routes.length === 0 ? "" : `Routes that ask for a severity: ${listNames(routes)}.`,
      `Say what it means in tocsin.yaml under ${place} severities: { ${JSON.stringify(word)}: critical }, and try it with tocsin explain.${last}`,
    ]
      .filter(Boolean)
      .join("\n"),
  };
}

/** What is gone, what it breaks, and what to do. Paths and titles only: no value of a body. */
function writeShapeNotice({ kind, lost, had, since }: Drift, readers: Readers, link: string): AlertFacts {
  const what = alertsOf(kind);
  const [first] = lost;
  const title =
    lost.length === 1 && first !== undefined
      ? `${nameOf(first.path)} ${headOf(first)} in ${what}`
      : `${lost.length} fields have changed in ${what}`;
  const lines = lost.slice(0, mostListed).map((place) => describeLost(place, readers));
  const more = lost.length > mostListed ? [`And ${lost.length - mostListed} more, see the page.`] : [];
  return {
    ...noticeOf(`${kind.number}:${first?.path.slice(0, 120)}`, link),
    title,
    text: [
      ...lines,
      ...more,
      `It was in ${had.toLocaleString("en")} requests before, and in none of the last ${since.toLocaleString("en")}. Alerts are sent as before.`,
      "If the sender has changed for good, write under mapping: where the fact is now, and try it with tocsin explain.",
    ].join("\n"),
  };
}

function nameOf(path: string): string {
  return cut(path, 120);
}

function headOf({ retyped, renamed, type }: LostPlace): string {
  if (retyped !== undefined) return `is ${article(retyped.as)} now, no ${type}`;
  return renamed === undefined ? "is gone" : `is gone, perhaps renamed to ${nameOf(renamed)}`;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** "payload.level is gone. Read from it: severity (not found now). Routes that ask for it: critical." */
function describeLost(place: LostPlace, readers: Readers): string {
  const { path, facts, now } = place;
  const given = facts.map((fact) => {
    const source = now[fact];
    if (source === undefined) return `${fact} (not found now)`;
    return source === path ? `${fact} (still read from it)` : `${fact} (read from ${nameOf(source)} now)`;
  });
  const routes = [...new Set([...readers.ofPath(path), ...facts.flatMap(readers.ofFact)])];
  return [
    `${nameOf(path)} ${headOf(place)}.`,
    given.length === 0 ? "" : `Read from it: ${given.join(", ")}.`,
    routes.length === 0
      ? ""
      : `${routes.length === 1 ? "Route that asks" : "Routes that ask"} for it: ${listNames(routes)}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function listNames(names: string[]): string {
  return names.length <= 10 ? names.join(", ") : `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`;
}

/** Kinds that were seen last come first. */
function viewShapes(catalogue: ShapeCatalogue, readers: Readers): ShapesView {
  const kinds = [...catalogue.kinds()].sort((a, b) => b.lastAt - a.lastAt);
  return {
    kinds: kinds.map(({ number, title, source = null, count, firstAt, lastAt, shapes, places }) => ({
      number,
      title,
      source,
      alerts: count,
      shapes: shapes.size,
      firstAt,
      lastAt,
      places: viewPlaces([...places.values()], [...shapes.values()], readers),
    })),
    unfollowed: { ...catalogue.unfollowed },
  };
}

function viewPlaces(places: PlaceRecord[], shapes: ShapeRecord[], readers: Readers): ShapePlaceView[] {
  const seen = new Map(places.map((place) => [place, { alerts: place.kept, lastAt: place.lastAt }]));
  for (const shape of shapes) {
    for (const place of shape.places) {
      const of = seen.get(place);
      if (of === undefined) continue;
      of.alerts += shape.count;
      of.lastAt = Math.max(of.lastAt, shape.lastAt);
    }
  }
  return [...seen].map(([{ path, type, example, firstAt, facts, isGone }, { alerts, lastAt }]) => ({
    path,
    type,
    example,
    alerts,
    firstAt,
    lastAt,
    facts: [...facts],
    routes: [...new Set([...readers.ofPath(path), ...facts.flatMap(readers.ofFact)])],
    isGone,
  }));
}
