import { z } from "zod";
import type { ShapesView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import { logFailure } from "../core/log.ts";
import type { MappableFact } from "../core/mapping.ts";
import { ownFacts } from "../core/own-facts.ts";
import { fieldMatchers, type Route } from "../core/rules.ts";
import type { SeenShape } from "../core/shape.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { cut } from "../ground/text/graphemes.ts";
import { factsBehind, parseFieldPath, writeFieldPath } from "../matching/path.ts";
import type { LostPlace } from "./missing-places.ts";
import { type Drift, maxNewWords, type NewWord, type SavedCatalogue, ShapeCatalogue } from "./shape-catalogue.ts";
import { Watch, type WatchDeps } from "./watch.ts";

export interface ShapeWatchDeps extends WatchDeps {
  /** The next alert of this shape is to be described. */
  askForShape(id: string): void;
  /** A loss of the places that they read is reported. */
  routes: Route[];
  /** Where facts are looked for, as text. When it has changed, the saved places no longer count. */
  readBy: string;
}

/** Counts of this time may be lost with the process. Reported news is not. */
const saveEveryMs = 60_000;
const maxPending = 50;

/** A catalogue that cannot be read is ignored. One of another version says so itself. */
const memorySchema = z.custom<{
  catalogue?: SavedCatalogue;
  readBy: string;
  pending: AlertFacts[];
}>((saved) => Array.isArray((saved as { pending?: unknown } | undefined)?.pending));
type Memory = z.infer<typeof memorySchema>;

/** Sends a notice when alerts of a known kind lack places that facts or routes read, or say an unknown severity. */
export class ShapeWatch extends Watch<Memory, ShapesView> {
  readonly name = "shapes";
  readonly schema = memorySchema;
  memory: Memory = { readBy: "", pending: [] };
  readonly everyMs = () => 2_000;
  readonly #readers: Readers;
  #catalogue: ShapeCatalogue;
  #pending: AlertFacts[] = [];
  #savedAt: number;
  #isDirty = false;

  constructor(private readonly deps: ShapeWatchDeps) {
    super(deps);
    this.#readers = listReaders(deps.routes);
    this.#catalogue = this.#openCatalogue();
    this.#savedAt = deps.clock.now();
  }

  #openCatalogue(saved?: SavedCatalogue, readBy?: string): ShapeCatalogue {
    return new ShapeCatalogue({
      isReadByRoutes: (path) => this.#readers.ofPath(path).length > 0,
      askFor: this.deps.askForShape,
      saved,
      isReadAnew: readBy !== this.deps.readBy,
    });
  }

  override async open(): Promise<this> {
    await super.open();
    const { catalogue, readBy, pending } = this.memory;
    try {
      this.#catalogue = this.#openCatalogue(catalogue, readBy);
      this.#pending = pending;
    } catch (error) {
      logFailure(this.deps.log, "shapes.not_loaded")(error);
    }
    return this;
  }

  override async run(stop: AbortSignal): Promise<void> {
    await super.run(stop);
    await this.#save().catch(logFailure(this.deps.log, "shapes.unsaved"));
  }

  /** Notes the alerts of one request. Never throws, and waits for nothing. */
  note(alerts: readonly SeenShape[], receivedAt: number, hook?: string): void {
    this.#isDirty = true;
    try {
      const news = this.#catalogue.note(alerts, receivedAt, hook);
      for (const one of news) this.#write(one);
      if (news.length > 0) this.wake();
    } catch (error) {
      logFailure(this.deps.log, "shapes.failed")(error);
    }
  }

  #write(news: Drift | NewWord): void {
    const isWord = "word" in news;
    const paths = isWord ? [news.path] : news.lost.slice(0, 20).map(({ path }) => path);
    this.deps.log.warn(isWord ? "shape.severity_unknown" : "shape.changed", { kind: news.kind.number, paths });
    const said = isWord ? writeWordNotice(news, this.#readers) : writeShapeNotice(news, this.#readers);
    // Alerts are still sent, so the notice can wait until the morning: it makes no sound.
    const facts = ownFacts({ ...said, link: `${this.deps.publicUrl}/shapes`, severity: "info", status: "firing" });
    if (this.#pending.length < maxPending) this.#pending = [...this.#pending, facts];
  }

  async look(): Promise<void> {
    for (let next = this.#pending[0]; next !== undefined; next = this.#pending[0]) {
      await this.tell(next, this.#toMemory(this.#pending.slice(1)));
      this.#pending = this.#pending.slice(1);
    }
    if (Math.abs(this.deps.clock.now() - this.#savedAt) >= saveEveryMs) await this.#save();
  }

  async #save(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#savedAt = this.deps.clock.now();
    try {
      await this.keep(this.#toMemory(this.#pending));
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
  }

  #toMemory(pending: AlertFacts[]): Memory {
    return { catalogue: this.#catalogue.save(), readBy: this.deps.readBy, pending };
  }

  view(): ShapesView {
    return viewShapes(this.#catalogue, this.#readers);
  }
}

type Readers = ReturnType<typeof listReaders>;

/** The names of the routes that read a path of the payload, or a fact, in their order. */
function listReaders(routes: Route[]) {
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
      // The first element of a list counts for all. A short list of texts has one place.
      const steps = parsed.path.steps.map((step) =>
        step.kind === "key" ? step : ({ kind: "index", index: 0 } as const),
      );
      add(ofPath, writeFieldPath({ kind: "payload", steps }), name);
      const last = steps.at(-1);
      if (last?.kind === "index") add(ofPath, writeFieldPath({ kind: "payload", steps: steps.slice(0, -1) }), name);
    }
  }
  return {
    ofPath: (path: string) => [...(ofPath.get(path) ?? [])],
    ofFact: (fact: MappableFact) => [...(ofFact.get(fact) ?? [])],
  };
}

const mostListed = 12;

type Said = Pick<AlertFacts, "title" | "text"> & { key: string };

function alertsOf({ title, source }: Drift["kind"]): string {
  return source === undefined ? `alerts like “${cut(title, 80)}”` : `alerts of ${cut(source, 80)}`;
}

/** Names the routes that no longer match, and what to write. No other value of a body is in a notice. */
function writeWordNotice({ kind, path, word, isLast }: NewWord, readers: Readers): Said {
  const routes = readers.ofFact("severity");
  const place = kind.hook === undefined ? "mapping:" : `sources.${kind.hook}.mapping:`;
  const last = isLast ? ` These alerts have had ${maxNewWords} such words: no further one is reported.` : "";
  return {
    key: `shape:${kind.number}:word:${word}`,
    title: `The severity “${word}” is not known, in ${alertsOf(kind)}`,
    text: [
      `${nameOf(path)} says “${word}”, so the severity of these alerts is unknown. They are sent where routes take them without one.`,
      routes.length === 0 ? "" : `Routes that ask for a severity: ${listNames(routes)}.`,
      `Say what it means in tocsin.yaml under ${place} severities: { ` +
        `${JSON.stringify(word)}: critical }, and try it with tocsin explain.${last}`,
    ]
      .filter(Boolean)
      .join("\n"),
  };
}

/** Names the lost places, the consequences, and what to do. No value of a body is in it. */
function writeShapeNotice({ kind, lost, had, since }: Drift, readers: Readers): Said {
  const what = alertsOf(kind);
  const [first, ...others] = lost;
  const changed =
    first && others.length === 0 ? `${nameOf(first.path)} ${headOf(first)}` : `${lost.length} fields have changed`;
  const lines = lost.slice(0, mostListed).map((place) => describeLost(place, readers));
  const more = lost.length > mostListed ? [`And ${lost.length - mostListed} more, see the page.`] : [];
  return {
    key: `shape:${kind.number}:${first?.path.slice(0, 120)}`,
    title: `${changed} in ${what}`,
    text: [
      ...lines,
      ...more,
      `It was in ${groupThousands(had)} requests before, and in none ` +
        `of the last ${groupThousands(since)}. Alerts are sent as before.`,
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

/** Writes "payload.level is gone. Read from it: severity (not found now). Routes that ask for it: critical." */
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

function viewShapes(catalogue: ShapeCatalogue, { ofPath, ofFact }: Readers): ShapesView {
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
      places: [...places.values()].map(({ path, type, example, alerts, firstAt, lastAt, facts, isGone }) => {
        const routes = [...new Set([...ofPath(path), ...facts.flatMap(ofFact)])];
        return { path, type, example, alerts, firstAt, lastAt, facts: [...facts], routes, isGone };
      }),
    })),
    unfollowed: { ...catalogue.unfollowed },
  };
}
