import type { Hono } from "hono";
import type { DestinationView, Explanation, RoutesView, RouteView } from "../../contract/operations.ts";
import type { AppError } from "../../core/errors.ts";
import { compileHours } from "../../core/hours.ts";
import { describeHours } from "../../core/rules.ts";
import { dayMs } from "../../ground/time/spans.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { describeMatchers } from "../../matching/describe-match.ts";
import { type TypedRules, tallyPanel, tryFilePanel } from "../../panels/backtest.ts";
import { explanationPanel, type TypedBody, tryBodyPanel } from "../../panels/explanation.ts";
import { muteAllAct } from "../../panels/mutes.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { actsOf, aside, emptyOf, groupOf, paragraph, say, tableOf } from "../../panels/sections.ts";
import { orProblem, readField, readForm } from "../form.ts";
import { frameOf, type PageDeps, type WebEnv } from "../web-env.ts";
import { addPanelPage, answerPanel } from "./panel-page.tsx";

/** `POST /routes` tries a body, or another file on stored alerts. A try stores and sends nothing. */
export function addRoutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations, tryFile } = deps;

  const read = async (typed: Typed, tried: Panel = []): Promise<Panel> => [
    ...tried,
    ...routesPanel(await operations.routes(), deps.clock.now()),
    actsOf(muteAllAct()),
    tryBodyPanel(
      operations.sources().map(({ name }) => name),
      typed,
    ),
    tryFile && tryFilePanel(typed),
  ];

  addPanelPage(app, deps, "/routes", () => read({ body: "", source: "", file: "", days: "7" }));

  app.post("/routes", async (c) => {
    const frame = frameOf(c, deps);
    const form = await readForm(c);
    const field = (name: keyof Typed) => readField(form, name);
    const typed = { body: field("body"), source: field("source"), file: field("file"), days: field("days") || "7" };
    const answer = async (tried?: Panel, problem?: AppError) =>
      answerPanel(c, { frame, at: "/routes", problem, panel: await read(typed, tried) });
    return orProblem(
      async () => answer(await (typed.file !== "" && tryFile ? compare(typed, tryFile) : tryBody(typed))),
      (problem) => answer(undefined, problem),
    );
  });

  async function tryBody({ body, source }: Typed): Promise<Panel> {
    // Read as the hook would read it without a content type: as JSON, a form or text.
    const bytes = Buffer.from(body.replaceAll("\r\n", "\n"));
    const tried = await operations.tryBody(bytes, undefined, source || undefined);
    return [triedPanel(tried, await operations.destinations())];
  }

  async function compare({ file, days }: Typed, tryIt: NonNullable<PageDeps["tryFile"]>): Promise<Panel> {
    const toAt = deps.clock.now();
    const fromAt = toAt - Math.min(Math.max(Number(days) || 7, 1), 30) * dayMs;
    const panel = tallyPanel(await tryIt(file, fromAt), { fromAt, toAt, file: "this file" });
    return [groupOf({ title: "What this file would have done", id: "tried-file-title" }, panel)];
  }
}

function routesPanel({ routes, since }: RoutesView, now: number): Panel {
  const counts = since !== undefined && say` Counts ${{ since }}.`;
  return [
    aside`Checked from top to bottom; the first match wins unless it has ${{ code: "continue" }}. Edit them in the configuration.${counts}`,
    routes.length === 0
      ? emptyOf(
          "No route is configured",
          say`Alerts are stored and go nowhere. Name destinations and routes in the configuration, then restart Tocsin.`,
        )
      : routesTable(routes, now),
  ];
}

const routesTable = (routes: readonly RouteView[], now: number) =>
  tableOf(
    routes,
    {
      route: ({ name, isDefault, isDisabled = false, definedAt, continue: goesOn }) => [
        say`${{ bold: name }}${isDefault && say` default`}${goesOn && say` continues`} ${{ code: definedAt }}`,
        isDisabled && { chip: "disabled", tone: "off" },
      ],
      matches: ({ matchers, isDefault, activeHours }) => [
        isDefault && matchers.length === 0 ? say`what no other route took` : { code: describeMatchers(matchers) },
        activeHours &&
          say` ${describeHours(activeHours, activeHours.timeZone)}: ${
            compileHours(activeHours, activeHours.timeZone)(now) ? "active now" : "not active now"
          }`,
      ],
      to: ({ to, fallback, silent }) => [
        to.length === 0 ? say`nobody: dropped on purpose` : to.join(", "),
        fallback && say` or ${fallback.to} after ${formatDuration(fallback.afterMs)}`,
        silent && say`; no sound for ${silent.join(", ")}`,
      ],
      "24 h": ({ day }) => day,
      "7 d": ({ week }) => week,
      "last match": ({ last }) =>
        last === undefined
          ? { chip: "never matched", tone: "off" }
          : { link: `/alerts/${last.id}`, text: { age: last.at } },
    },
    { keep: [] },
  );

type Typed = TypedBody & TypedRules;

function triedPanel(
  { alerts, total }: { alerts: Explanation[]; total: number },
  destinations: DestinationView[],
): Section {
  const several = total > 1 && say` The body holds ${total} alerts.`;
  const first = total > alerts.length && say` These are the first ${alerts.length}.`;
  return groupOf({ title: "What would become of it", id: "tried-title" }, [
    aside`Nothing of it was stored or sent.${several}${first}`,
    ...alerts.map((alert) => triedAlert(alert, destinations)),
  ]);
}

function triedAlert(alert: Explanation, destinations: DestinationView[]): Section {
  const { facts, unreadable } = alert;
  return groupOf({ title: facts.title }, [
    unreadable !== undefined && paragraph`It could not be read (${unreadable}), and would be sent as received.`,
    ...explanationPanel(alert, { destinations }),
  ]);
}
