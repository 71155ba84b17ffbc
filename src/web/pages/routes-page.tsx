import type { Context, Hono } from "hono";
import type { DestinationView, RoutesView, RouteView, TriedAlert } from "../../contract/operations.ts";
import { isTriedNext } from "../../contract/panels/destinations.ts";
import { AppError } from "../../core/errors.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { describeMatchers } from "../../matching/describe-match.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant, Since } from "./instants.tsx";
import { CodeBlock, HeadRow, Layout, Problem, statusOf } from "./layout.tsx";

/**
 * `GET /routes`: what each route takes, and how often it did; `POST /routes`: what would become of a body, alert by
 * alert. Nothing of it is stored or sent.
 */
export function addRoutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/routes", async (c) => {
    const shown = { routes: await operations.routes(), sources: sourceNames(), typed: { body: "", source: "" } };
    return c.render(<RoutesPage frame={frameOf(c, deps)} {...shown} />);
  });

  app.post("/routes", async (c: Context<WebEnv>) => {
    const form = await readForm(c);
    const typed = { body: readField(form, "body"), source: readField(form, "source") };
    const shown = { routes: await operations.routes(), sources: sourceNames(), typed };
    try {
      // As the hook would read it without a content type: JSON, a form or text is told by the body itself.
      const body = Buffer.from(typed.body.replaceAll("\r\n", "\n"));
      const tried = await operations.tryBody(body, undefined, typed.source === "" ? undefined : typed.source);
      const destinations = await operations.destinations();
      return c.render(<RoutesPage frame={frameOf(c, deps)} {...shown} tried={{ ...tried, destinations }} />);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return c.render(<RoutesPage frame={frameOf(c, deps)} {...shown} problem={error} />, statusOf(error));
    }
  });

  function sourceNames(): string[] {
    return operations.sources().map(({ name }) => name);
  }
}

interface RoutesPageProps {
  frame: Frame;
  routes: RoutesView;
  sources: string[];
  typed: { body: string; source: string };
  tried?: { alerts: TriedAlert[]; total: number; destinations: DestinationView[] };
  problem?: AppError;
}

function RoutesPage({ frame, routes, sources, typed, tried, problem }: RoutesPageProps) {
  return (
    <Layout frame={frame} at="/routes">
      {tried && (
        <section aria-labelledby="tried-title" id="tried">
          <h2 id="tried-title">What would become of it</h2>
          <p class="soft">
            Nothing of it was stored or sent. {tried.total > 1 && `The body holds ${tried.total} alerts.`}
            {tried.total > tried.alerts.length && ` These are the first ${tried.alerts.length}.`}
          </p>
          {tried.alerts.map((alert) => (
            <Tried alert={alert} destinations={tried.destinations} now={frame.now} />
          ))}
        </section>
      )}
      <p class="soft">
        Checked from top to bottom; the first match wins unless it has <code>continue</code>. Edit them in the
        configuration.
        {routes.since !== undefined && (
          <>
            {" Counts "}
            <Since at={routes.since} now={frame.now} />.
          </>
        )}
      </p>
      {routes.routes.length === 0 ? (
        <div class="empty">
          <h2>No route is configured</h2>
          <p>
            Alerts are stored and go nowhere. Name destinations and routes in the configuration, then restart Tocsin.
          </p>
        </div>
      ) : (
        <table class="alerts routes">
          <HeadRow names={["Route", "Matches", "To", "24 h", "7 d", "Last match"]} />
          <tbody>
            {routes.routes.map((route) => (
              <RouteRow route={route} now={frame.now} />
            ))}
          </tbody>
        </table>
      )}
      <section aria-labelledby="try-title">
        <h2 id="try-title">Try a body</h2>
        <p>What a sender posts, as it is. It is read, routed and written out as if it arrived now, and goes nowhere.</p>
        <Problem error={problem} />
        <Form frame={frame} action="/routes" class="stack">
          <label>
            <span>Body</span>
            <textarea
              name="body"
              rows={8}
              required
              spellcheck={false}
              placeholder='{"title":"USDC TVL below 25 M","severity":"critical"}'
            >
              {typed.body}
            </textarea>
          </label>
          {sources.length > 0 && (
            <label>
              <span>Comes by the hook of</span>
              <select name="source">
                <option value="">the account</option>
                {sources.map((name) => (
                  <option value={name} selected={name === typed.source}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
          <p>
            <button type="submit" class="primary">
              Try it
            </button>
          </p>
        </Form>
        <p class="soft">
          <code>tocsin explain FILE</code> says the same in the terminal.
        </p>
      </section>
    </Layout>
  );
}

function RouteRow({ route, now }: { route: RouteView; now: number }) {
  const { name, matchers, to, fallback, isDefault, definedAt, day, week, last } = route;
  return (
    <tr>
      <td class="what">
        <b dir="auto">{name}</b>
        {isDefault && <span class="origin">default</span>}
        {route.continue && <span class="origin">goes on</span>}
        <span class="about">
          <code>{definedAt}</code>
        </span>
      </td>
      <td>
        {isDefault && matchers.length === 0 ? "what no other route took" : <code>{describeMatchers(matchers)}</code>}
      </td>
      <td>
        {to.length === 0 ? "nobody: dropped on purpose" : <bdi>{to.join(", ")}</bdi>}
        {fallback && (
          <span class="soft">
            {" "}
            or {fallback.to} after {formatDuration(fallback.afterMs)}
          </span>
        )}
      </td>
      <td class="number">
        {day.toLocaleString("en-US")} <span class="unit-narrow">in 24 h</span>
      </td>
      <td class="number">
        {week.toLocaleString("en-US")} <span class="unit-narrow">in 7 d</span>
      </td>
      <td>
        {last === undefined ? (
          <Chip tone="off">never matched</Chip>
        ) : (
          <a href={`/alerts/${last.id}`}>
            <Instant at={last.at} now={now} show="relative" />
          </a>
        )}
      </td>
    </tr>
  );
}

function Tried({ alert, destinations, now }: { alert: TriedAlert; destinations: DestinationView[]; now: number }) {
  const { facts, unreadable, decisions, deliveries } = alert;
  const known = shownFacts.flatMap((name) => (facts[name] === undefined ? [] : [[name, String(facts[name])] as const]));
  return (
    <article class="tried">
      <h3 dir="auto">{facts.title}</h3>
      {unreadable !== undefined && <p>It could not be read ({unreadable}), and would be sent as received.</p>}
      <dl class="facts">
        {known.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </>
        ))}
        {facts.fields.slice(0, mostFields).map(({ name, value }) => (
          <>
            <dt dir="auto">{name}</dt>
            <dd dir="auto">{value}</dd>
          </>
        ))}
      </dl>
      {facts.fields.length > mostFields && (
        <p class="soft">
          and {(facts.fields.length - mostFields + (facts.unlistedFields ?? 0)).toLocaleString("en")} more fields
        </p>
      )}
      <ul class="decided">
        {decisions.map(({ route, destination, result, reason }) => (
          <li>
            <b dir="auto">{route}</b>
            {destination !== undefined && (
              <>
                {" → "}
                <bdi>{destination}</bdi>
              </>
            )}
            {`: ${result.replaceAll("_", " ")}`} <span class="soft">{reason}</span>
          </li>
        ))}
      </ul>
      {deliveries.length === 0 && <p>It goes to nobody.</p>}
      {deliveries.map(({ destination, channel, state, reason, dueAt, texts }) => (
        <details>
          <summary>
            <bdi>{destination}</bdi> ({channel}) {state === "queued" ? "gets this message" : `: ${state}`}
            {state === "queued" && obstacleAt(destinations.find(({ name }) => name === destination))}
          </summary>
          {state !== "queued" && <p>{reason}</p>}
          {dueAt !== undefined && (
            <p>
              Sent <Instant at={dueAt} now={now} isComing />.
            </p>
          )}
          {texts.map((text) => (
            <CodeBlock text={text} />
          ))}
        </details>
      ))}
    </article>
  );
}

/** Routes and mutes let it through, and it would not arrive now all the same. */
function obstacleAt(destination: DestinationView | undefined): string | undefined {
  if (destination === undefined) return undefined;
  const { health, paused } = destination;
  if (paused !== undefined) return ", once somebody resumes it: it is paused";
  if (health === "down") return ", once it answers: it is down";
  if (isTriedNext(destination)) return `, if it takes messages again: it is ${health === "dead" ? "dead" : "refused"}`;
  if (health === "dead") return ", but is dead: it would wait for an hour at most";
  return health === "paused" ? ", once it takes messages again: it is refused" : undefined;
}

const mostFields = 30;
const shownFacts = [
  "severity",
  "status",
  "token",
  "chain",
  "metric",
  "value",
  "previousValue",
  "threshold",
  "unit",
  "source",
  "alertKey",
] as const;
