import type { Hono } from "hono";
import type { DoorRefusalView, SourceView } from "../../contract/operations.ts";
import { doorPanel, refusedListPanel, refusedPanel } from "../../contract/panels/refused.ts";
import { AppError } from "../../core/errors.ts";
import type { RefusedDetail, RefusedSummary } from "../../core/ports/refused.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { showBody } from "../body-text.ts";
import type { WebEnv } from "../web-env.ts";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { CodeBlock, Layout } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

const pageSize = 100;

/**
 * `GET /refused`: requests whose sender did not pass the check of their source, newest first; `GET /refused/:id`: one as
 * it came, with the button that relays it anyway.
 */
export function addRefusedPages(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  app.get("/refused", async (c) => {
    const source = c.req.query("source") || undefined;
    const list = await operations.listRefused({ limit: pageSize, source, before: c.req.query("before") });
    const sources = operations.sources().filter(({ name }) => source === undefined || name === source);
    const door = source === undefined ? operations.doorRefusals() : [];
    return c.render(<RefusedList frame={frameOf(c, deps)} {...{ list, source, sources, door }} />);
  });

  app.get("/refused/:id", async (c) => {
    const refused = await operations.findRefused(c.req.param("id"));
    return c.render(<RefusedPage frame={frameOf(c, deps)} refused={refused} />);
  });

  app.post("/refused/:id/release", async (c) => {
    const [first, ...others] = (await operations.releaseRefused(c.req.param("id"))).ids;
    if (first === undefined) throw new AppError("not_found", "Nothing was released.");
    return c.redirect(others.length === 0 ? `/alerts/${first}` : "/", 303);
  });
}

interface RefusedListProps {
  frame: Frame;
  list: RefusedSummary[];
  /** Only its own are listed. */
  source?: string;
  /** Those that may have refused something. */
  sources: SourceView[];
  /** What was turned away before it was anybody's. */
  door: DoorRefusalView[];
}

function RefusedList({ frame, list, source, sources, door }: RefusedListProps) {
  const last = list.length === pageSize ? list.at(-1) : undefined;
  const filter = source === undefined ? "" : `source=${encodeURIComponent(source)}&`;
  return (
    <Layout frame={frame} at="/refused">
      <p>
        Requests that failed the check of a source. They were not sent to anybody. Up to 200 per source are kept.
        {source !== undefined && (
          <>
            {" "}
            Only those of <bdi>{source}</bdi>: <a href="/refused">all of them</a>.
          </>
        )}
      </p>
      <PanelView panel={refusedListPanel(list, sources)} frame={frame} />
      {last !== undefined && (
        <nav class="pager" aria-label="Pages">
          <a href={`/refused?${filter}before=${last.id}`} rel="next">
            Older
          </a>
        </nav>
      )}
      {door.length > 0 && <PanelView panel={doorPanel(door)} frame={frame} />}
    </Layout>
  );
}

function RefusedPage({ frame, refused }: { frame: Frame; refused: RefusedDetail }) {
  const { headers } = refused;
  const body = showBody(refused.body);
  return (
    <Layout frame={frame} at="/refused" title="Why was this refused?">
      <PanelView panel={refusedPanel(refused)} frame={frame} />
      <h2>Body</h2>
      {body.form === "empty" ? (
        <p class="soft">The body was empty.</p>
      ) : (
        <CodeBlock id="body" text={body.text} isBytes={body.form === "bytes"} />
      )}
      {body.isCut && <p class="soft">This is the beginning; GET /api/refused/{refused.id} has all of it.</p>}
      <details>
        <summary>{countOf(headers.length, "header")}</summary>
        <dl class="facts headers">
          {headers.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </>
          ))}
        </dl>
      </details>
    </Layout>
  );
}
