import type { Hono } from "hono";
import type { AppError } from "../../core/errors.ts";
import type { Panel } from "../../panels/panel.ts";
import { type Frame, frameOf, type PageDeps, type WebContext, type WebEnv } from "../web-env.ts";
import { Layout, Problem, statusOf } from "./layout.tsx";
import { PanelView } from "./panel.tsx";
import type { PagePath } from "./rooms.tsx";

interface PanelPageProps {
  frame: Frame;
  /** Absent: the page is in no room. */
  at?: PagePath;
  title?: string;
  problem?: AppError;
  panel: Panel;
}

function PanelPage({ frame, at, title, problem, panel }: PanelPageProps) {
  return (
    <Layout frame={frame} at={at} title={title}>
      {at === undefined && <h1 dir="auto">{title}</h1>}
      <Problem error={problem} />
      <PanelView panel={panel} frame={frame} />
    </Layout>
  );
}

export function answerPanel(c: WebContext, page: PanelPageProps): Response | Promise<Response> {
  return c.render(<PanelPage {...page} />, statusOf(page.problem));
}

/** Serves a panel that is read anew for each request. */
export function addPanelPage(
  app: Hono<WebEnv>,
  deps: PageDeps,
  at: PagePath,
  read: (c: WebContext) => Panel | Promise<Panel>,
): void {
  app.get(at, async (c) => answerPanel(c, { frame: frameOf(c, deps), at, panel: await read(c) }));
}
