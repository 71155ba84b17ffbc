import type { Hono } from "hono";
import { gapsPanel } from "../../contract/panels/gaps.ts";
import { type Panel, say, sentence } from "../../contract/panels/panel.ts";
import type { GapReport } from "../../core/gaps.ts";
import type { WatchView } from "../../core/ports/watch.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Layout, Notice } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

/** How long a browser waits for a look; longer ones end by themselves. */
const mostWaitMs = 8_000;

/** `GET /gaps`: alerts that should have arrived and did not, as the last look found. */
export function addGapsPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations, clock } = deps;
  app.get("/gaps", async (c) => {
    const watches = operations.watches().filter(({ name }) => accountOf(name) !== undefined);
    // Who has an account for a source alone means that one.
    const source = c.req.query("source") ?? (watches[0] && accountOf(watches[0].name)) ?? "";
    return c.render(
      <GapsPage
        frame={frameOf(c, deps)}
        source={source}
        others={watches.flatMap(({ name }) => accountOf(name) ?? [])}
        report={await operations.gaps(source || undefined)}
        watch={watches.find(({ name }) => accountOf(name) === source)}
        isLooking={c.req.query("done") === "looking"}
      />,
    );
  });

  app.post("/gaps", async (c) => {
    const source = readField(await readForm(c), "source");
    const waited = new AbortController();
    const look = operations.checkGaps({}, source || undefined).then(() => "looked");
    // What becomes of it later stands on the page.
    look.catch(() => {});
    const done = await Promise.race([look, clock.sleep(mostWaitMs, waited.signal).then(() => "looking")]).finally(() =>
      waited.abort(),
    );
    return c.redirect(`${gapsPageOf(source)}${source === "" ? "?" : "&"}done=${done}`, 303);
  });
}

/** `gaps` → "" (the account of the environment), `gaps:desk` → "desk"; undefined: the watch looks at something else. */
function accountOf(watch: string): string | undefined {
  if (watch === "gaps") return "";
  return watch.startsWith("gaps:") ? watch.slice("gaps:".length) : undefined;
}

function gapsPageOf(source: string): string {
  return source === "" ? "/gaps" : `/gaps?source=${encodeURIComponent(source)}`;
}

interface GapsPageProps {
  frame: Frame;
  /** Whose account it is; empty: that of the environment. */
  source: string;
  /** All accounts that are looked at, the same way. */
  others: string[];
  report?: GapReport;
  /** Absent: nobody looks. */
  watch?: WatchView;
  isLooking: boolean;
}

function GapsPage({ frame, source, others, report, watch, isLooking }: GapsPageProps) {
  const isBlind = watch?.verdict === "unknown" || watch?.verdict === "idle";
  const panel: Panel = [
    watch !== undefined && {
      kind: "acts",
      acts: [{ label: "Look now", post: "/gaps", fields: { source } }],
    },
    ...(report === undefined
      ? [nothingSeen(source, watch)]
      : [
          isBlind && ({ kind: "note", note: "warning", text: `${sentence(watch.summary)}.` } as const),
          ...gapsPanel(report),
        ]),
  ];
  return (
    <Layout frame={frame} at="/gaps">
      {isLooking && <Notice kind="done">The look takes longer than usual. Open this page again in a minute.</Notice>}
      <p>
        Alerts that should have arrived and did not: the alerting service's records of a metric cross a threshold, and
        no alert of it is in the log. You get a notice when more are missing than chance explains, and one when alerts
        come again.
      </p>
      {others.length > 1 && <Accounts all={others} shown={source} />}
      <PanelView panel={panel} frame={frame} />
    </Layout>
  );
}

function nothingSeen(source: string, watch: WatchView | undefined): Panel[number] {
  if (watch === undefined && source !== "") {
    return {
      kind: "empty",
      empty: say`Nobody looks for missing alerts of ${source}`,
      text: say`Only a source that has an account of the service in the configuration is looked at.`,
    };
  }
  if (watch === undefined) {
    return {
      kind: "empty",
      empty: "Nobody looks for missing alerts",
      text: say`Set ${{ code: "ALERTING_URL" }} and ${{ code: "ALERTING_API_KEY" }}, leave ${{ code: "watch.gaps" }} on, and restart Tocsin.`,
    };
  }
  if (watch.lookedAt !== undefined) return { kind: "empty", empty: sentence(watch.summary) };
  return {
    kind: "empty",
    empty: "Not looked yet",
    text: say`The first look is five minutes after a start: a sender may still repeat what it could not deliver.`,
  };
}

function Accounts({ all, shown }: { all: string[]; shown: string }) {
  return (
    <nav aria-label="Accounts" class="answers-row">
      {all.map((source) => (
        <a href={gapsPageOf(source)} aria-current={source === shown ? "true" : undefined}>
          {source === "" ? "The account of ALERTING_URL" : source}
        </a>
      ))}
    </nav>
  );
}
