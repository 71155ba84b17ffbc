import type { Hono } from "hono";
import type { DestinationView, Explanation, RoutesView, RouteView } from "../../contract/operations.ts";
import type { AppError } from "../../core/errors.ts";
import { describeHours } from "../../core/rules.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { describeMatchers } from "../../matching/describe-match.ts";
import { explanationPanel } from "../../panels/explanation.ts";
import { muteAllAct } from "../../panels/mutes.ts";
import { aside, type Panel, paragraph, type Section, say, tableOf } from "../../panels/panel.ts";
import { orProblem, readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { frameOf, type PageDeps } from "./frame.ts";
import { statusOf } from "./layout.tsx";
import { addPanelPage, PanelPage } from "./panel-page.tsx";

/**
 * `GET /routes`: what each route takes, and how often it did; `POST /routes`: what would become of a body, alert by
 * alert. Nothing of it is stored or sent.
 */
export function addRoutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  const read = async (typed: TypedBody, tried: Panel = []): Promise<Panel> => [
    ...tried,
    ...routesPanel(await operations.routes()),
    { kind: "acts", acts: [muteAllAct()] },
    ...tryPanel(
      operations.sources().map(({ name }) => name),
      typed,
    ),
  ];

  addPanelPage(app, deps, "/routes", () => read({ body: "", source: "" }));

  app.post("/routes", async (c) => {
    const frame = frameOf(c, deps);
    const form = await readForm(c);
    const typed = { body: readField(form, "body"), source: readField(form, "source") };
    const answer = (panel: Panel, problem?: AppError) =>
      c.render(<PanelPage frame={frame} at="/routes" problem={problem} panel={panel} />, statusOf(problem));
    // As the hook would read it without a content type: the body itself shows whether it is JSON, a form or text.
    const body = Buffer.from(typed.body.replaceAll("\r\n", "\n"));
    return orProblem(
      async () => {
        const tried = await operations.tryBody(body, undefined, typed.source || undefined);
        return answer(await read(typed, triedPanel(tried, await operations.destinations())));
      },
      async (problem) => answer(await read(typed), problem),
    );
  });
}

function routesPanel({ routes, since }: RoutesView): Panel {
  const counts = since !== undefined && say` Counts ${{ since }}.`;
  return [
    aside`Checked from top to bottom; the first match wins unless it has ${{ code: "continue" }}. Edit them in the configuration.${counts}`,
    routes.length === 0
      ? {
          kind: "empty",
          empty: "No route is configured",
          text: say`Alerts are stored and go nowhere. Name destinations and routes in the configuration, then restart Tocsin.`,
        }
      : routesTable(routes),
  ];
}

const routesTable = (routes: readonly RouteView[]) =>
  tableOf(
    routes,
    {
      route: ({ name, isDefault, isDisabled = false, definedAt, continue: goesOn }) => [
        say`${{ bold: name }}${isDefault && say` default`}${goesOn && say` continues`} ${{ code: definedAt }}`,
        isDisabled && { chip: "disabled", tone: "off" },
      ],
      matches: ({ matchers, isDefault, activeHours }) => [
        isDefault && matchers.length === 0 ? say`what no other route took` : { code: describeMatchers(matchers) },
        activeHours && say` ${describeHours(activeHours, activeHours.timeZone)}`,
      ],
      to: ({ to, fallback }) => [
        to.length === 0 ? say`nobody: dropped on purpose` : to.join(", "),
        fallback && say` or ${fallback.to} after ${formatDuration(fallback.afterMs)}`,
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

/** What a reader has typed, kept for another try. */
interface TypedBody {
  body: string;
  /** Empty: the account. */
  source: string;
}

function tryPanel(sources: readonly string[], typed: TypedBody): Panel {
  const source = {
    name: "source",
    label: "Comes by the hook of",
    value: typed.source,
    options: [["", "the account"] as const, ...sources.map((name) => [name, name] as const)],
  };
  const body = {
    name: "body",
    label: "Body",
    value: typed.body,
    lines: 8,
    placeholder: '{"title":"USDC TVL below 25 M","severity":"critical"}',
  };
  return [
    {
      kind: "group",
      title: "Try a body",
      id: "try-title",
      panel: [
        paragraph`What a sender posts, as it is. It is read, routed and written out as if it arrived now, and goes nowhere.`,
        {
          kind: "acts",
          acts: [
            { label: "Try it", post: "/routes", inputs: sources.length > 0 ? [body, source] : [body], isMain: true },
          ],
        },
        aside`${{ code: "tocsin explain FILE" }} says the same in the terminal.`,
      ],
    },
  ];
}

function triedPanel(
  { alerts, total }: { alerts: Explanation[]; total: number },
  destinations: DestinationView[],
): Panel {
  const several = total > 1 && say` The body holds ${total} alerts.`;
  const first = total > alerts.length && say` These are the first ${alerts.length}.`;
  return [
    {
      kind: "group",
      title: "What would become of it",
      id: "tried-title",
      panel: [
        aside`Nothing of it was stored or sent.${several}${first}`,
        ...alerts.map((alert) => triedAlert(alert, destinations)),
      ],
    },
  ];
}

function triedAlert(alert: Explanation, destinations: DestinationView[]): Section {
  const { facts, unreadable } = alert;
  return {
    kind: "group",
    title: facts.title,
    panel: [
      unreadable !== undefined && paragraph`It could not be read (${unreadable}), and would be sent as received.`,
      ...explanationPanel(alert, { destinations }),
    ],
  };
}
