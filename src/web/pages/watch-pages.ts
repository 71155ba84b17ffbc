import type { Hono } from "hono";
import type { WatchView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { sentence } from "../../ground/text/plain-text.ts";
import { gapsPanel } from "../../panels/gaps.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { doorPanel, refusedListPanel, refusedPanel } from "../../panels/refused.ts";
import {
  actsOf,
  aside,
  emptyOf,
  groupOf,
  noteDone,
  noteFailed,
  noteWarning,
  paragraph,
  say,
} from "../../panels/sections.ts";
import { tryPanel } from "../../panels/setup.ts";
import { shapesPanel } from "../../panels/shapes.ts";
import { silencePanel } from "../../panels/silence.ts";
import { type KnownSource, sourcesPanel } from "../../panels/sources.ts";
import { watchesPanel } from "../../panels/watches.ts";
import { asReceived } from "../body-text.ts";
import { readField, readForm } from "../form.ts";
import { readMute } from "../read-mute.ts";
import { frameOf, type PageDeps, type WebContext, type WebEnv } from "../web-env.ts";
import { addPanelPage, answerPanel } from "./panel-page.tsx";

export function addWatchPages(app: Hono<WebEnv>, deps: PageDeps): void {
  addSetupPage(app, deps);
  addGapsPage(app, deps);
  addSilencePage(app, deps);
  addPanelPage(app, deps, "/shapes", async () => [
    paragraph`The fields in your senders' alerts. If a field that Tocsin or a route uses disappears or changes its type,
      you get one notice; alerts are still sent. To say which field is the title, the severity and so on, use
      ${{ code: "mapping:" }} in ${{ code: "tocsin.yaml" }}.`,
    ...shapesPanel(await deps.operations.shapes()),
  ]);
  addRefusedPages(app, deps);
}

/** `GET /setup` masks the hook's secret. `POST /setup`, a button, shows it on the same page. No link ever shows it. */
function addSetupPage(app: Hono<WebEnv>, deps: PageDeps): void {
  async function read(c: WebContext, isRevealed = false): Promise<Panel> {
    // This page is needed most when the store does not answer. Then it shows the error in place of the status.
    const status = await deps.operations.status().catch(asAppError);
    const show = (url: Secret) => (isRevealed ? url.reveal() : url.reveal().replace(/(?<![^/])[^/]+$/, "…"));
    const known = status instanceof AppError ? [] : status.sources;
    const sources = (deps.sourceHooks?.() ?? []).map(({ name, url }): KnownSource => {
      return { name, address: show(url), view: known.find((source) => source.name === name) };
    });
    // Only known words are taken from the address, so no link can put words into our mouth.
    const done = (["put-back", "unchanged"] as const).find((one) => one === c.req.query("done"));
    const address = show(deps.hookUrl());
    return [
      status instanceof AppError ? noteFailed`${status.message}` : watchesPanel(status, done),
      hookPanel(address, isRevealed),
      sourcesPanel(sources),
      tryPanel(address, { isRevealed }),
    ];
  }
  addPanelPage(app, deps, "/setup", (c) => read(c));
  app.post("/setup", async (c) => {
    deps.log.info("hook.address_shown");
    return answerPanel(c, { frame: frameOf(c, deps), at: "/setup", panel: await read(c, true) });
  });
  app.post("/setup/put-back", async (c) => {
    deps.log.info("account.put_back_asked");
    const source = readField(await readForm(c), "source");
    const result = await deps.operations.putBackOutputs(source || undefined);
    return c.redirect(`/setup?done=${result}#watches-title`, 303);
  });
}

function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function hookPanel(address: string, isRevealed: boolean): Section {
  return groupOf({ title: "Where alerts are sent to", id: "hook-title" }, [
    paragraph`${{ code: "tocsin setup" }} registers this address with the alerting service and can undo it. For
      other senders, enter it as their webhook address.`,
    { kind: "block", text: address, blockId: "hook", canCopy: isRevealed },
    actsOf(isRevealed ? { label: "Hide", link: "/setup" } : { label: "Show the secret part", post: "/setup" }),
    aside`Anyone who knows it can send alerts. It cannot be used to read anything.`,
  ]);
}

/** How long a browser waits for a look. A longer look continues. */
const mostWaitMs = 8_000;

/** `GET /gaps`: missing alerts, as the last look found. `POST /gaps` looks now. */
function addGapsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations, clock } = deps;
  addPanelPage(app, deps, "/gaps", async (c) => {
    const watches = operations.watches().filter(({ name }) => accountOf(name) !== undefined);
    const all = watches.flatMap(({ name }) => accountOf(name) ?? []);
    // Without a named source the first watched account is shown, which may be a source's.
    const source = c.req.query("source") ?? all[0] ?? "";
    const watch = watches.find(({ name }) => accountOf(name) === source);
    const report = await operations.gaps(source || undefined);
    const isBlind = watch?.verdict === "unknown" || watch?.verdict === "idle";
    return [
      c.req.query("done") === "looking" &&
        noteDone`The look takes longer than usual. Open this page again in a minute.`,
      paragraph`Alerts that should have arrived and did not: the alerting service's records of a metric cross a
        threshold, and no alert of it is in the log. You get a notice when more are missing than chance explains, and
        one when alerts come again.`,
      all.length > 1 &&
        actsOf(
          ...all.map((one) => ({
            label: one === "" ? "The account of ALERTING_URL" : one,
            link: gapsPageOf(one),
            isCurrent: one === source,
          })),
        ),
      watch && actsOf({ label: "Look now", post: "/gaps", fields: { source } }),
      report && watch && isBlind && noteWarning`${`${sentence(watch.summary)}.`}`,
      ...(report === undefined ? [nothingSeen(source, watch)] : gapsPanel(report)),
    ];
  });

  app.post("/gaps", async (c) => {
    const source = readField(await readForm(c), "source");
    const waited = new AbortController();
    const look = operations.checkGaps({}, source || undefined).then(() => "looked");
    // The page shows the later result.
    look.catch(() => {});
    const done = await Promise.race([look, clock.sleep(mostWaitMs, waited.signal).then(() => "looking")]).finally(() =>
      waited.abort(),
    );
    return c.redirect(`${gapsPageOf(source)}${source === "" ? "?" : "&"}done=${done}`, 303);
  });
}

/** `gaps` → "" (the account of the environment), `gaps:desk` → "desk". Undefined for other watches. */
function accountOf(watch: string): string | undefined {
  if (watch === "gaps") return "";
  return watch.startsWith("gaps:") ? watch.slice("gaps:".length) : undefined;
}

function gapsPageOf(source: string): string {
  return source === "" ? "/gaps" : `/gaps?source=${encodeURIComponent(source)}`;
}

function nothingSeen(source: string, watch: WatchView | undefined): Section {
  if (watch === undefined && source !== "") {
    return emptyOf(
      say`Nobody looks for missing alerts of ${source}`,
      say`Only a source that has an account of the service in the configuration is looked at.`,
    );
  }
  if (watch === undefined) {
    return emptyOf(
      "Nobody looks for missing alerts",
      say`Set ${{ code: "ALERTING_URL" }} and ${{ code: "ALERTING_API_KEY" }}, leave ${{ code: "watch.gaps" }} on,
        and restart Tocsin.`,
    );
  }
  if (watch.lookedAt !== undefined) return emptyOf(sentence(watch.summary));
  return emptyOf(
    "Not looked yet",
    say`The first look is five minutes after a start: a sender may still repeat what it could not deliver.`,
  );
}

function addSilencePage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;
  addPanelPage(app, deps, "/silence", (c) => {
    const watches = operations.silence();
    return [
      c.req.query("done") === "muted" && noteDone`Muted. It ends by itself, or on the page Mutes.`,
      watches.length === 0
        ? emptyOf(
            "No notice when alerts stop arriving",
            say`Write ${{ code: "silence: auto" }} into ${{ code: "tocsin.yaml" }}: Tocsin learns
              from the last six weeks how long it is usually quiet at each hour of the week, and sends one notice when
              it lasts too long. A time, e.g. ${{ code: "silence: 6h" }}, needs nothing to be learned.`,
          )
        : aside`One notice when no alert arrives that should have, and one when they arrive again. Tests, Tocsin's own
          notices, refused requests and repeats do not count; nor does time in which Tocsin did not run.`,
      ...silencePanel(watches, operations.canary()),
    ];
  });

  app.post("/silence/mute", async (c) => {
    const form = await readForm(c);
    const name = readField(form, "watch");
    const view = operations.silence().find(({ watch }) => watch === name);
    if (view === undefined) {
      throw new AppError("not_found", "There is no such watch of silence.", { hint: "Open the page again." });
    }
    const match = { alertKey: { equals: view.alertKey } };
    const reason = readField(form, "reason") || "the silence is meant";
    await operations.addMute(readMute(deps, { match, for: readField(form, "for"), reason }, "page"));
    return c.redirect("/silence?done=muted", 303);
  });
}

const refusedOfPage = 100;

/** `GET /refused`: newest first. `GET /refused/:id`: one request, with the button that relays it anyway. */
function addRefusedPages(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;
  addPanelPage(app, deps, "/refused", async (c) => {
    const source = c.req.query("source") || undefined;
    const list = await operations.listRefused({ limit: refusedOfPage, source, before: c.req.query("before") });
    const sources = operations.sources().filter(({ name }) => source === undefined || name === source);
    const door = source === undefined ? operations.doorRefusals() : [];
    const only =
      source !== undefined && say` Only those of ${source}: ${{ link: "/refused", text: { words: "all of them" } }}.`;
    const older = new URLSearchParams({ ...(source && { source }), before: list.at(-1)?.id ?? "" });
    return [
      paragraph`Requests that failed the check of a source. They were not sent to anybody. Up to 200 per source are kept.${only}`,
      ...refusedListPanel(list, sources),
      list.length === refusedOfPage && actsOf({ label: "Older", link: `/refused?${older}` }),
      door.length > 0 && doorPanel(door),
    ];
  });

  app.get("/refused/:id", async (c) => {
    const frame = frameOf(c, deps);
    const refused = await operations.findRefused(c.req.param("id"));
    const received = asReceived(refused, `GET /api/refused/${refused.id}`);
    const panel: Panel = [...refusedPanel(refused), groupOf({ title: say`As received` }, received)];
    return answerPanel(c, { frame, at: "/refused", title: "Why was this refused?", panel });
  });

  app.post("/refused/:id/release", async (c) => {
    const [first, ...others] = (await operations.releaseRefused(c.req.param("id"))).ids;
    if (first === undefined) throw new AppError("not_found", "Nothing was released.");
    return c.redirect(others.length === 0 ? `/alerts/${first}` : "/", 303);
  });
}
